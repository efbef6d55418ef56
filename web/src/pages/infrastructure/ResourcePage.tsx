import { Page } from '../../ui/Page';

export function ResourcePage() {
  return <Page title="ResourcePage">…</Page>;
}
