import { describe, expect, it } from 'vitest';

import { doingTone, doingWords, eventWords, standingWords } from './words';

const session = (status: string, open_holds = 0) => ({ waiting: false, session: { id: 'ses_1', status: status as 'held', open_holds } });

describe('incidents', () => {
  it('say what is being done', () => {
    expect(doingWords({ waiting: true })).toBe('No session started yet');
    expect(doingWords({ waiting: false })).toBe('No session');
    expect(doingWords(session('held', 1))).toBe('Approval required');
    expect(doingWords(session('held', 2))).toBe('2 approvals required');
    expect(doingWords(session('pending'))).toBe('Queued');
    expect(doingWords(session('in_progress'))).toBe('Being investigated');
    expect(doingWords(session('completed'))).toBe('Session done');
    expect([doingTone(session('held', 1)), doingTone(session('failed')), doingTone(session('completed'))]).toEqual(['waiting', 'failed', 'plain']);
  });

  it('never call a firing alert over', () => {
    expect(standingWords({ status: 'resolved', firing: true })).toBe('resolved, alert still firing');
    expect(standingWords({ status: 'resolved', firing: false })).toBe('resolved');
    expect(standingWords({ status: 'open', firing: true })).toBe('open');
  });

  it('say what happened', () => {
    expect(eventWords({ kind: 'repeated', count: 3 })).toBe('Alert repeated 3 times');
    expect(eventWords({ kind: 'repeated', count: 1 })).toBe('Alert repeated');
    expect(eventWords({ kind: 'acknowledged', count: 1, by: 'ann' })).toBe('Acknowledged by ann');
  });
});
