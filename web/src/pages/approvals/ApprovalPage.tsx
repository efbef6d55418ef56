import { Page } from '../../ui/Page';

export function ApprovalPage() {
  return <Page title="ApprovalPage">…</Page>;
}
