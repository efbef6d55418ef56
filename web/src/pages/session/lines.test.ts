import { describe, expect, it } from 'vitest';

import type { Row } from '../../lib/rows';
import type { Section } from '../../lib/timeline';
import { lineOfRow, linesOf, step } from './lines';

function row(key: string): Row {
  return { type: 'text', key, at: '', text: key, live: false };
}

function column(execution: string, rows: string[]) {
  return { execution, agent: execution, model: undefined, status: undefined, error: undefined, rows: rows.map(row) };
}

const sections: Section[] = [
  { key: 's1', name: 'look', status: undefined, error: undefined, columns: [column('a', ['a1', 'a2', 'a3']), column('b', ['b1'])] },
  { key: 's2', name: 'unite', status: undefined, error: undefined, columns: [column('c', ['c1'])] },
];

describe('lines', () => {
  it('stand side by side where there is room', () => {
    const lines = linesOf(sections, true);
    expect(lines.map((line) => line.key)).toEqual(['stage-s1', 'agents-s1', 's1-0', 's1-1', 's1-2', 'stage-s2', 'c1']);
    expect(lines.flatMap((line) => (line.type === 'rows' ? [line.rows.map((one) => one?.key)] : []))).toEqual([
      ['a1', 'b1'],
      ['a2', undefined],
      ['a3', undefined],
      ['c1'],
    ]);
  });

  it('stand one under the other where there is not', () => {
    expect(linesOf(sections, false).map((line) => line.key)).toEqual(['stage-s1', 'agent-a', 'a1', 'a2', 'a3', 'agent-b', 'b1', 'stage-s2', 'c1']);
  });

  it('are found by their rows', () => {
    expect(lineOfRow(linesOf(sections, true), 'b1')).toBe('s1-0');
    expect(lineOfRow(linesOf(sections, false), 'b1')).toBe('b1');
    expect(lineOfRow(linesOf(sections, true), 'none')).toBeUndefined();
  });

  it.each([
    [undefined, 1, 'a1'],
    [undefined, -1, 'c1'],
    ['a3', 1, 'b1'],
    ['a1', -1, 'a1'],
    ['c1', 1, 'c1'],
  ] as const)('from %s by %i', (from, by, to) => {
    expect(step(linesOf(sections, false), from, by)).toBe(to);
  });
});
