// When something new waits for a human: the title's badge, a sentence for screen readers, and, for those who asked for it,
// a notification of the desktop.

import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef, useState } from 'react';

import { setTitleBadge } from '../../lib/title';
import { announcement, type Approval } from '../../pages/approvals/words';

/** Those that were not there before. The first look finds nothing new: it is on the page already. */
export function newOnes(known: ReadonlySet<string> | undefined, open: readonly Approval[]): Approval[] {
  return known === undefined ? [] : open.filter((each) => !known.has(each.id));
}

export function mayNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'granted';
}

export function canAskToNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'default' && window.isSecureContext;
}

/** The sentence for screen readers. */
export function useWaiting(open: readonly Approval[] | undefined): string {
  const navigate = useNavigate();
  const known = useRef<Set<string>>(undefined);
  const [said, setSaid] = useState('');
  const tell = useEffectEvent((fresh: readonly Approval[]) => {
    setSaid(fresh.map(announcement).join(' '));
    if (!mayNotify() || document.visibilityState === 'visible') return;
    for (const approval of fresh) {
      const note = new Notification('Approval required', { body: announcement(approval), tag: approval.id, icon: '/favicon.svg' });
      note.onclick = () => {
        window.focus();
        void navigate({ to: '/approvals/$id', params: { id: approval.id } });
        note.close();
      };
    }
  });
  useEffect(() => {
    if (open === undefined) return;
    const fresh = newOnes(known.current, open);
    known.current = new Set([...(known.current ?? []), ...open.map((each) => each.id)]);
    if (fresh.length > 0) tell(fresh);
  }, [open]);
  const count = open?.length ?? 0;
  useEffect(() => {
    setTitleBadge(count);
    return () => {
      setTitleBadge(0);
    };
  }, [count]);
  return said;
}
