import { describe, expect, it } from 'vitest';

import { everyDay, range, roundUp, total, type UsageRow, value } from './usage';

function row(group: string, more: Partial<UsageRow> = {}): UsageRow {
  return { group, calls: 1, failed: 0, sessions: 1, input_tokens: 10, output_tokens: 2, cost: null, ...more };
}

describe('usage', () => {
  it('asks for whole days, today included', () => {
    expect(range(7, new Date('2026-03-08T23:59:00Z'))).toEqual({
      from: '2026-03-02T00:00:00.000Z',
      to: '2026-03-09T00:00:00.000Z',
    });
  });

  it('shows the days on which nothing happened', () => {
    const filled = everyDay([row('2026-03-03')], '2026-03-02T00:00:00Z', '2026-03-05T00:00:00Z');
    expect(filled.map(({ group, calls }) => [group, calls])).toEqual([
      ['2026-03-02', 0],
      ['2026-03-03', 1],
      ['2026-03-04', 0],
    ]);
    expect(everyDay([], 'no time', 'at all')).toEqual([]);
  });

  it('does not take a cost that nobody knows for free', () => {
    expect(total([row('a'), row('b')]).cost).toBeUndefined();
    expect(total([row('a', { cost: 0.5 }), row('b')])).toEqual({
      calls: 2,
      failed: 0,
      sessions: 2,
      input_tokens: 20,
      output_tokens: 4,
      cost: 0.5,
    });
  });

  it.each([
    ['tokens', 12],
    ['calls', 1],
    ['sessions', 1],
    ['cost', 0],
  ] as const)('measures %s', (measure, expected) => {
    expect(value(row('a'), measure)).toBe(expected);
  });

  it.each([
    [0, 1],
    [0.03, 0.05],
    [7, 10],
    [10, 10],
    [1201, 2000],
    [Number.NaN, 1],
  ])('the axis over %s ends at %s', (largest, expected) => {
    expect(roundUp(largest)).toBeCloseTo(expected, 10);
  });
});
