import { expect, it } from 'vitest';

import { summary, thin } from './series';

it.each([
  [[], undefined],
  [[[1, 5]], { last: 5, least: 5, most: 5 }],
  [[[1, 5], [2, -1], [3, 2]], { last: 2, least: -1, most: 5 }],
  [[[1, Number.NaN], [2]], undefined],
])('sums up %j', (points, expected) => {
  expect(summary(points)).toEqual(expected);
});

it('keeps the ends when it makes fewer', () => {
  const points = Array.from({ length: 1000 }, (_, at) => [at, at]);
  const few = thin(points, 60);
  expect(few).toHaveLength(60);
  expect([few[0], few.at(-1)]).toEqual([[0, 0], [999, 999]]);
  expect(new Set(few.map(([at]) => at)).size).toBe(60);
  expect(thin(points.slice(0, 3), 60)).toHaveLength(3);
});
