import { Page } from '../../ui/Page';

export function SignIn() {
  return <Page title="SignIn">…</Page>;
}
