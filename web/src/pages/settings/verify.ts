// Checks the whole record: the audit log with the first request, then the sessions, some with each request. Pure.

import type { Schemas } from '../../api/client';

type Check = Schemas['AuditCheck'];

export interface Verdict {
  intact: boolean;
  signed: boolean;
  entries: number;
  head: string;
  sessions: number;
  /** The ids of the sessions that were changed. */
  altered: string[];
  problems: string[];
}

/** Asks until nothing is left to check, and says after each request how far it is. */
export async function verifyAll(ask: (path: string) => Promise<Check>, soFar: (sessions: number) => void): Promise<Verdict> {
  let check = await ask('/audit/verify');
  const verdict: Verdict = {
    intact: check.intact, signed: check.signed, entries: check.entries, head: check.head, sessions: check.sessions,
    altered: [...check.altered], problems: [...check.problems],
  };
  while (check.next !== undefined && check.next !== null) {
    soFar(verdict.sessions);
    check = await ask(`/audit/verify?after=${encodeURIComponent(check.next)}`);
    verdict.intact &&= check.intact;
    verdict.sessions += check.sessions;
    verdict.altered.push(...check.altered);
    verdict.problems.push(...check.problems);
  }
  return verdict;
}
