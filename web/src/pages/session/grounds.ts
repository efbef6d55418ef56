// What an answer rests on: evidence, numbered in the order in which the answer needs it.

import type { Schemas } from '../../api/client';

export interface GroundMark {
  start: number;
  end: number;
  /** At most three: a number says where to look, not everywhere one could. */
  evidence: string[];
}

const MOST = 3;

/** The parts to mark, in order, without overlaps and inside the text; and the number of each piece of evidence. */
export function numbered(grounds: readonly Schemas['Ground'][], text: string): { marks: GroundMark[]; order: Map<string, number> } {
  const order = new Map<string, number>();
  const marks: GroundMark[] = [];
  let last = 0;
  for (const ground of [...grounds].sort((a, b) => a.start - b.start)) {
    if (ground.start < last || ground.end <= ground.start || ground.end > text.length) continue;
    last = ground.end;
    // What is already numbered comes first: few numbers that come back say more than many.
    const known = ground.evidence.filter((id) => order.has(id));
    const evidence = [...known, ...ground.evidence.filter((id) => !order.has(id))].slice(0, known.length > 0 ? Math.min(MOST, known.length) : 1);
    for (const id of evidence) if (!order.has(id)) order.set(id, order.size + 1);
    marks.push({ start: ground.start, end: ground.end, evidence: evidence.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0)) });
  }
  return { marks, order };
}
