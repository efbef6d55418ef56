import { useEffect, useState } from 'react';

import { setServerNow } from '../../lib/clock';
import { useOpenApprovals } from '../../ui/frame/overview';
import { cardsToShow } from './lists';

/** The cards of a list: what waits, and what was decided while looking. */
export function useCards() {
  const query = useOpenApprovals();
  const [kept, setKept] = useState<readonly string[]>([]);
  const open = query.data?.approvals ?? [];
  const ids = cardsToShow(kept, open);
  if (ids.join() !== kept.join()) setKept(ids);
  const now = query.data?.now;
  useEffect(() => {
    setServerNow(now);
  }, [now]);
  const waiting = new Set(open.map((each) => each.id));
  return { query, ids, waiting };
}
