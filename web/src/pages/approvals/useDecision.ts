// Deciding: the token lives in this component's memory and nowhere else, nothing is shown before the server said it.

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';

import { api, type Schemas } from '../../api/client';
import { serverNow } from '../../lib/clock';
import { type Approval, type Trouble, trouble } from './words';

interface Opened {
  token: string;
  plan_hash: string;
  expires: number;
}

export type Busy = 'opening' | 'approving' | 'denying' | 'editing';

export interface Decision {
  busy: Busy | undefined;
  failed: Trouble | undefined;
  /** Fetches the permission to decide ahead of the click. */
  prepare: () => void;
  approve: () => void;
  deny: (reason: string) => Promise<boolean>;
  edit: (args: Record<string, unknown>) => Promise<Approval | undefined>;
  forget: () => void;
}

export function useDecision(shown: Approval | undefined): Decision {
  const queries = useQueryClient();
  const [busy, setBusy] = useState<Busy>();
  const [failed, setFailed] = useState<Trouble>();
  const opened = useRef<Promise<Opened> | undefined>(undefined);
  const id = shown?.id;

  // The token goes with the card.
  useEffect(() => () => {
    opened.current = undefined;
  }, [id]);

  const open = async (seen: Approval): Promise<Opened> => {
    const held = await opened.current?.catch(() => undefined);
    if (held && held.expires - serverNow() > 5000) return held;
    const asked = api.send<Schemas['OpenedApproval']>('POST', `/approvals/${seen.id}/open`).then((answer) => ({
      token: answer.token,
      plan_hash: answer.approval.plan_hash,
      expires: Date.parse(answer.expires_at),
    }));
    opened.current = asked;
    return asked;
  };

  const fresh = async (seen: Approval): Promise<Approval | undefined> => {
    try {
      const now = await api.get<Approval>(`/approvals/${seen.id}`);
      queries.setQueryData(['approval', seen.id], now);
      return now;
    } catch {
      return undefined;
    }
  };

  const explain = async (error: unknown, seen: Approval, what: Busy) => {
    opened.current = undefined;
    const now = await fresh(seen);
    setFailed(trouble(error, seen, now, what === 'editing' ? 'editing' : 'deciding'));
  };

  const settled = (answer: Approval) => {
    queries.setQueryData(['approval', answer.id], answer);
    for (const key of ['approvals', 'overview', 'session', 'sessions']) void queries.invalidateQueries({ queryKey: [key] });
  };

  const doing = async <T,>(what: Busy, work: (seen: Approval) => Promise<T>): Promise<T | undefined> => {
    if (!shown || busy === 'approving' || busy === 'denying' || busy === 'editing') return undefined;
    setBusy(what);
    setFailed(undefined);
    try {
      return await work(shown);
    } catch (error) {
      await explain(error, shown, what);
      return undefined;
    } finally {
      setBusy(undefined);
    }
  };

  return {
    busy,
    failed,
    forget: () => {
      setFailed(undefined);
    },
    prepare: () => {
      if (!shown || busy !== undefined || shown.status !== 'pending' || !shown.may_approve) return;
      // What goes wrong here is said when somebody clicks.
      open(shown).catch(() => {
        opened.current = undefined;
      });
    },
    approve: () => {
      void doing('approving', async (seen) => {
        const { token, plan_hash } = await open(seen);
        if (plan_hash !== seen.plan_hash) {
          opened.current = undefined;
          const now = await fresh(seen);
          setFailed({
            title: 'The plan has changed',
            meaning: 'The plan changed while the card was open, so nothing was approved.',
            todo: now ? 'The card now shows the current plan. Read it again, then decide.' : 'Reload the page.',
          });
          return;
        }
        settled(await api.send<Approval>('POST', `/approvals/${seen.id}/approve`, { token, plan_hash } satisfies Schemas['Approve']));
        opened.current = undefined;
      });
    },
    deny: async (reason) => {
      const done = await doing('denying', async (seen) => {
        settled(await api.send<Approval>('POST', `/approvals/${seen.id}/deny`, { reason } satisfies Schemas['Deny']));
        return true;
      });
      return done ?? false;
    },
    edit: (args) =>
      doing('editing', async (seen) => {
        const next = await api.send<Approval>('POST', `/approvals/${seen.id}/edit`, { arguments: args, plan_hash: seen.plan_hash });
        settled(next);
        await fresh(seen);
        return next;
      }),
  };
}
