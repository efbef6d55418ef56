// How a model is doing, in words, from its last answer and its last failure. Pure.

import type { Schemas } from '../../api/client';
import type { Tone } from '../../theme';

type Model = Schemas['Model'];

const KINDS: Record<Schemas['FailureKind'], string> = {
  rate_limited: 'too many requests',
  quota: 'quota exhausted',
  overloaded: 'overloaded',
  timeout_first_chunk: 'no first token in time',
  timeout_stall: 'stream stalled',
  timeout_call: 'timed out',
  credentials: 'API key rejected',
  invalid_request: 'request rejected',
  context_too_long: 'conversation too long',
  transport: 'unreachable',
  malformed: 'invalid reply',
  too_large: 'reply too large',
  degenerate: 'repeated text',
  empty: 'empty reply',
  blocked: 'declined to answer',
  cancelled: 'stopped',
  script_ended: 'script has no more replies',
  script_mismatch: 'script expected something else',
};

/** A kind of failure, as people say it. */
export function failureWords(kind: Schemas['FailureKind']): string {
  return KINDS[kind];
}

export interface Health {
  tone: Tone;
  words: string;
  /** Since when that is so. */
  at: string | undefined;
}

/** Its last call says how it is doing. That it answers is grey: nothing was verified. */
export function healthOf({ last_success_at: success, last_failure: failure }: Pick<Model, 'last_success_at' | 'last_failure'>): Health {
  if (failure && (!success || Date.parse(failure.at) > Date.parse(success))) {
    return { tone: 'failed', words: failureWords(failure.kind), at: failure.at };
  }
  if (success) return { tone: 'plain', words: 'answers', at: success };
  return { tone: 'plain', words: 'no calls in 30 days', at: undefined };
}
