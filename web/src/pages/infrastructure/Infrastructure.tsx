import { Page } from '../../ui/Page';

export function Infrastructure() {
  return <Page title="Infrastructure">…</Page>;
}
