// What the frame and the overview know together.

import { useEffect } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { setServerNow } from '../../lib/clock';

export function useOverview() {
  const query = useApi<Schemas['Overview']>(['overview'], '/overview', undefined, { refetchInterval: 30_000 });
  const now = query.data?.now;
  useEffect(() => {
    setServerNow(now);
  }, [now]);
  return query;
}

/** What waits for a human, soonest to expire first. */
export function useOpenApprovals() {
  return useApi<Schemas['ApprovalList']>(['approvals'], '/approvals', { status: 'open', limit: 50 }, { refetchInterval: 30_000 });
}
