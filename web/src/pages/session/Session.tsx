import { Page } from '../../ui/Page';

export function Session() {
  return <Page title="Session">…</Page>;
}
