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
      return { tone: 'failed', words: `${what} failed`, why: 'It ran and did not succeed.' };
    case 'timed_out':
      return { tone: 'failed', words: `${what} timed out`, why: 'It took longer than it may.' };
    case 'interrupted_unknown':
      return { tone: 'failed', words: 'outcome unknown', why: 'It was interrupted: whether it took effect is not known.' };
    case 'cancelled':
      return { tone: 'plain', words: `${what} cancelled`, why: 'Somebody stopped it.' };
    default:
  }
  if (kind !== 'write') return { tone: 'read', words: kind === 'resolve' ? 'looked up' : 'read', why: 'Nothing was changed.' };
  switch (verification) {
    case 'verified':
      return { tone: 'verified', words: 'verified', why: 'What was expected was observed afterwards.' };
    case 'failed':
      return { tone: 'failed', words: 'not as expected', why: 'What was expected was not observed afterwards.' };
    case 'inconclusive':
      return { tone: 'write', words: 'written, inconclusive', why: 'What was observed afterwards does not say whether it worked.' };
    case 'observed':
      return { tone: 'write', words: 'written, observed', why: 'Nothing was expected; what was observed afterwards is kept.' };
    default:
      return {
        tone: 'write',
        words: outcome ? 'written' : 'writing',
        why: outcome ? 'It was not verified.' : 'It has no receipt yet.',
      };
  }
}
