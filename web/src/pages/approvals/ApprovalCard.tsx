import { Paper } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { Failed, Loading } from '../../ui/States';

/** One approval: the exact plan, why, what it touches, and the decision. `compact` for lists. */
export function ApprovalCard({ id }: { id: string; compact?: boolean }) {
  const approval = useApi<Schemas['Approval']>(['approval', id], `/approvals/${id}`);
  if (approval.isPending) return <Loading what="the approval" />;
  if (approval.isError) return <Failed error={approval.error} retry={() => void approval.refetch()} />;
  return <Paper withBorder p="md">{approval.data.plan.tool}</Paper>;
}
