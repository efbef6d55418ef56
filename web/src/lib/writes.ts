// What became of a session's writes, in a few words. Green only where every one of them was verified.

import type { Schemas } from '../api/client';
import { plural } from './format';

export interface WriteMark {
  tone: 'verified' | 'write';
  words: string;
}

/** A server of an earlier version does not count what was verified. */
type Counted = Pick<Schemas['SessionSummary'], 'writes'> & { writes_verified?: number };

/** Nothing where nothing was written. */
export function writeMark({ writes, writes_verified: verified }: Counted): WriteMark | undefined {
  if (writes === 0) return undefined;
  if (verified === undefined) return { tone: 'write', words: plural(writes, 'write') };
  if (verified >= writes) return { tone: 'verified', words: `${writes} verified` };
  if (verified === 0) return { tone: 'write', words: `${plural(writes, 'write')} not verified` };
  return { tone: 'write', words: `${verified} of ${writes} writes verified` };
}
