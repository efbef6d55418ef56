// A session as a conversation: what was asked, what was done about it, what was answered.

import type { Row } from '../../lib/rows';
import type { Section } from '../../lib/timeline';
import { standing } from '../../lib/words';

export type Turn =
  | { type: 'question'; key: string; row: Row & { type: 'question' } }
  | { type: 'steps'; key: string; rows: Row[]; over: boolean }
  | { type: 'answer'; key: string; row: Row & { type: 'answer' }; last: boolean };

export function conversation(sections: readonly Section[]): Turn[] {
  const turns: Turn[] = [];
  let steps: Row[] = [];
  const close = (over: boolean) => {
    const [first] = steps;
    if (first) turns.push({ type: 'steps', key: `steps-${first.key}`, rows: steps, over });
    steps = [];
  };
  for (const row of sections.flatMap((section) => section.columns.flatMap((column) => column.rows))) {
    if (row.type === 'question') {
      close(true);
      turns.push({ type: 'question', key: row.key, row });
    } else if (row.type === 'answer') {
      close(true);
      turns.push({ type: 'answer', key: row.key, row, last: false });
    } else {
      steps.push(row);
    }
  }
  close(false);
  const last = turns.findLast((turn) => turn.type === 'answer');
  if (last) last.last = true;
  return turns;
}

/** What the steps were, in a line: `5 read, 2 refused, 1 verified`. */
export function stepWords(rows: readonly Row[]): string {
  const counts = new Map<string, number>();
  const add = (word: string) => counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const row of rows) {
    if (row.type === 'call') add(standing(row.life).word);
    else if (row.type === 'refused_answer') add('answer refused');
    else if (row.type === 'note' && row.failed) add('error');
  }
  return counts.size === 0 ? 'no calls' : [...counts].map(([word, count]) => `${count} ${word}`).join(', ');
}
