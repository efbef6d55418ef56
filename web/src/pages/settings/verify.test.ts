import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../api/client';
import { verifyAll } from './verify';

const check = (more: Partial<Schemas['AuditCheck']>): Schemas['AuditCheck'] => ({
  intact: true, signed: true, entries: 7, head: 'abc', sessions: 2, sessions_intact: 2, sessions_in_progress: 0, sessions_older: 0,
  altered: [], problem: null, problems: [], next: null, ...more,
});

describe('checking the record', () => {
  it('asks until no session is left', async () => {
    const asked: string[] = [];
    const told: number[] = [];
    const answers = [
      check({ next: 'ses_2' }),
      check({ next: 'ses_4', intact: false, altered: ['ses_3'], problems: ['ses_3: receipts'] }),
      check({ sessions: 1 }),
    ];
    const verdict = await verifyAll((path) => {
      asked.push(path);
      return Promise.resolve(answers[asked.length - 1] ?? check({}));
    }, (sessions) => { told.push(sessions); });
    expect(asked).toEqual(['/audit/verify', '/audit/verify?after=ses_2', '/audit/verify?after=ses_4']);
    expect(told).toEqual([2, 4]);
    expect(verdict).toEqual({ intact: false, signed: true, entries: 7, head: 'abc', sessions: 5, altered: ['ses_3'], problems: ['ses_3: receipts'] });
  });

  it('asks once where that is all', async () => {
    const verdict = await verifyAll(() => Promise.resolve(check({})), () => undefined);
    expect([verdict.intact, verdict.sessions]).toEqual([true, 2]);
  });
});
