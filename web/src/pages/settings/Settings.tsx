import { Page } from '../../ui/Page';

export function Settings() {
  return <Page title="Settings">…</Page>;
}
