import { Page } from '../../ui/Page';

export function Sessions() {
  return <Page title="Sessions">…</Page>;
}
