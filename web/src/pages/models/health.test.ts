import { expect, it } from 'vitest';

import { healthOf } from './health';

const early = '2026-01-01T00:00:00Z';
const late = '2026-01-01T00:05:00Z';
const failure = (at: string) => ({ at, kind: 'rate_limited' as const, message: 'slow down' });

it.each([
  [{}, { tone: 'plain', words: 'no calls in 30 days', at: undefined }],
  [{ last_success_at: early }, { tone: 'plain', words: 'answers', at: early }],
  [{ last_failure: failure(early) }, { tone: 'failed', words: 'too many requests', at: early }],
  [{ last_success_at: early, last_failure: failure(late) }, { tone: 'failed', words: 'too many requests', at: late }],
  [{ last_success_at: late, last_failure: failure(early) }, { tone: 'plain', words: 'answers', at: late }],
  [{ last_success_at: null, last_failure: null }, { tone: 'plain', words: 'no calls in 30 days', at: undefined }],
])('%j', (model, health) => {
  expect(healthOf(model)).toEqual(health);
});
