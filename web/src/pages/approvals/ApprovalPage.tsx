import { Anchor } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';

import { Page } from '../../ui/Page';
import { ApprovalCard } from './ApprovalCard';

export function ApprovalPage() {
  const { id } = useParams({ from: '/frame/approvals/$id' });
  return (
    <Page title="Approval" actions={<Anchor size="sm" renderRoot={(props) => <Link {...props} to="/approvals" />}>All approvals</Anchor>}>
      <div className="cards"><ApprovalCard key={id} id={id} /></div>
    </Page>
  );
}
