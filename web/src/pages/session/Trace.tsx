import { Page } from '../../ui/Page';

export function Trace() {
  return <Page title="Trace">…</Page>;
}
