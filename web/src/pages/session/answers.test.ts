import { expect, it } from 'vitest';

import type { Schemas } from '../../api/client';
import { answersOf } from './answers';

const run = (id: string, second: number): Schemas['SessionDetail']['runs'][number] =>
  ({ id, input: `question ${id}`, status: 'completed', started_at: `2026-01-01T00:00:${second}Z` });
const entry = (second: number, content: string, metadata = {}): Schemas['TimelineEntry'] => ({
  id: `e${second}`, execution: 'x', number: second, kind: 'final_analysis', status: 'completed', content, metadata,
  at: `2026-01-01T00:00:${second}Z`, updated_at: `2026-01-01T00:00:${second}Z`,
});
const detail = (runs: Schemas['SessionDetail']['runs'], full_answer: string | null) => ({ runs, full_answer, grounds: [] }) as unknown as Schemas['SessionDetail'];

it.each([
  ['one question', [run('a', 10)], 'all of it', [entry(11, 'it')], ['all of it']],
  ['none answered yet', [run('a', 10)], null, [], [undefined]],
  ['two questions', [run('a', 10), run('b', 20)], 'second', [entry(11, 'stage'), entry(12, 'first'), entry(21, 'second')], ['first', 'second']],
  ['the second is not answered yet', [run('a', 10), run('b', 20)], 'first', [entry(12, 'first')], ['first', undefined]],
])('%s', (_, runs, full, entries, expected) => {
  expect(answersOf(detail(runs, full), entries).map((one) => one.text)).toEqual(expected);
});

it('counts places as the page does', () => {
  const spans = [{ start: 3, end: 5, evidence: ['e'] }];
  const [first] = answersOf(detail([run('a', 10), run('b', 20)], null), [entry(11, '\u00fc 42', { spans })]);
  expect(first?.grounds).toEqual([{ start: 2, end: 4, text: '42', evidence: ['e'] }]);
});
