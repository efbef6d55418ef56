import { Page } from '../../ui/Page';

export function Chat() {
  return <Page title="Chat">…</Page>;
}
