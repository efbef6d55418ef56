import { Page } from '../../ui/Page';

export function Models() {
  return <Page title="Models">…</Page>;
}
