import { Page } from '../../ui/Page';

export function Tools() {
  return <Page title="Tools">…</Page>;
}
