// What a call on a resource means: one tone, one word, and why. Green is only for what was verified.

import type { Schemas } from '../../api/client';
import type { Tone } from '../../theme';

export interface Meaning {
  tone: Tone;
  words: string;
  why: string;
}

type Call = Pick<Schemas['ActionTaken'], 'kind' | 'outcome' | 'verification'>;

export function meaning({ kind, outcome, verification }: Call): Meaning {
  const what = kind === 'write' ? 'write' : 'read';
  switch (outcome) {
    case 'failed':
      return { tone: 'failed', words: `${what} failed`, why: 'The call ran and failed.' };
    case 'timed_out':
      return { tone: 'failed', words: `${what} timed out`, why: 'The call reached its timeout.' };
    case 'interrupted_unknown':
      return { tone: 'failed', words: 'outcome unknown', why: 'The call was interrupted. It is not known whether it had an effect.' };
    case 'cancelled':
      return { tone: 'plain', words: `${what} cancelled`, why: 'A person stopped the call.' };
    default:
  }
  if (kind !== 'write') return { tone: 'read', words: kind === 'resolve' ? 'looked up' : 'read', why: 'Nothing was changed.' };
  switch (verification) {
    case 'verified':
      return { tone: 'verified', words: 'verified', why: 'A later reading shows the expected state.' };
    case 'failed':
      return { tone: 'failed', words: 'not as expected', why: 'A later reading shows another state than expected.' };
    case 'inconclusive':
      return { tone: 'write', words: 'written, inconclusive', why: 'The later reading does not show whether the write worked.' };
    case 'observed':
      return { tone: 'write', words: 'written, observed', why: 'No particular state was expected. The later reading is recorded.' };
    default:
      return {
        tone: 'write',
        words: outcome ? 'written' : 'writing',
        why: outcome ? 'The write was not verified.' : 'There is no receipt yet.',
      };
  }
}
