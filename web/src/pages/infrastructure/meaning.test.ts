import { expect, it } from 'vitest';

import { meaning } from './meaning';

it.each([
  [{ kind: 'read', outcome: 'succeeded' }, 'read', 'read'],
  [{ kind: 'resolve', outcome: 'succeeded' }, 'read', 'looked up'],
  [{ kind: 'read', outcome: 'failed' }, 'failed', 'read failed'],
  [{ kind: 'write', outcome: 'succeeded', verification: 'verified' }, 'verified', 'verified'],
  [{ kind: 'write', outcome: 'succeeded', verification: 'failed' }, 'failed', 'not as expected'],
  [{ kind: 'write', outcome: 'failed', verification: 'verified' }, 'failed', 'write failed'],
  [{ kind: 'write', outcome: 'succeeded' }, 'write', 'written'],
  [{ kind: 'write', outcome: 'interrupted_unknown' }, 'failed', 'outcome unknown'],
  [{ kind: 'write' }, 'write', 'writing'],
  [{ kind: 'write', outcome: 'cancelled' }, 'plain', 'write cancelled'],
] as const)('%j is %s: %s', (call, tone, words) => {
  expect(meaning(call)).toMatchObject({ tone, words });
});
