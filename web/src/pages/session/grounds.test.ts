import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../api/client';
import { numbered } from './grounds';

const ground = (start: number, end: number, ...evidence: string[]): Schemas['Ground'] => ({ start, end, text: '', evidence });

describe('numbers', () => {
  it('follow the order of the answer, and known evidence comes back', () => {
    const { marks, order } = numbered([ground(10, 12, 'b', 'a'), ground(0, 3, 'a', 'c'), ground(20, 22, 'd')], 'x'.repeat(30));
    expect(marks).toEqual([
      { start: 0, end: 3, evidence: ['a'] },
      { start: 10, end: 12, evidence: ['a'] },
      { start: 20, end: 22, evidence: ['d'] },
    ]);
    expect([...order]).toEqual([['a', 1], ['d', 2]]);
  });

  it.each([
    ['overlaps', [ground(0, 5, 'a'), ground(3, 8, 'b')], 1],
    ['what stands outside', [ground(0, 99, 'a')], 0],
    ['what is empty', [ground(4, 4, 'a')], 0],
  ])('leave out %s', (_, grounds, left) => {
    expect(numbered(grounds, 'ten chars.').marks).toHaveLength(left);
  });

  it('keep what nothing shows, without a number', () => {
    expect(numbered([ground(0, 3)], 'all gone').marks).toEqual([{ start: 0, end: 3, evidence: [] }]);
  });
});
