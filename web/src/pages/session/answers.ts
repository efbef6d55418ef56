// The answers of a session: the first one, and those to the questions that were asked afterwards. Pure.

import type { Schemas } from '../../api/client';
import { facts, list, micros, number, texts } from '../../lib/facts';

export interface Answered {
  run: string;
  question: string;
  /** Who asked, as far as it is known. */
  by: string | undefined;
  /** Nothing while there is none. */
  text: string | undefined;
  grounds: Schemas['Ground'][];
  /** What code knows about it; old records have none. */
  head: Schemas['Head'] | undefined;
  status: Schemas['Status'];
}

/** How many characters of the page the first bytes of a text are. */
function charactersOf(text: string, bytes: Uint8Array, count: number): number {
  return Math.min(text.length, new TextDecoder().decode(bytes.subarray(0, count)).length);
}

/** What an answer rests on, as the record has it: places in bytes. */
function groundsOf(entry: Schemas['TimelineEntry']): Schemas['Ground'][] {
  const bytes = new TextEncoder().encode(entry.content);
  return list(facts(entry.metadata), 'spans').flatMap((raw) => {
    const span = facts(raw);
    const [from, to] = [number(span, 'start'), number(span, 'end')];
    if (from === undefined || to === undefined) return [];
    const [start, end] = [charactersOf(entry.content, bytes, from), charactersOf(entry.content, bytes, to)];
    return [{ start, end, text: entry.content.slice(start, end), evidence: texts(span, 'evidence') }];
  });
}

/** One for each question, in order: the last that was answered before the next question. The newest is as the detail says. */
export function answersOf(detail: Schemas['SessionDetail'], entries: readonly Schemas['TimelineEntry'][]): Answered[] {
  const runs = [...detail.runs].sort((a, b) => micros(a.started_at) - micros(b.started_at));
  const given = entries.filter((entry) => entry.kind === 'final_analysis').sort((a, b) => micros(a.at) - micros(b.at));
  const asked = entries.filter((entry) => entry.kind === 'user_question');
  return runs.map((run, index) => {
    const next = runs[index + 1];
    const { id, input: question, status } = run;
    const within = (entry: Schemas['TimelineEntry']) => micros(entry.at) >= micros(run.started_at) && (!next || micros(entry.at) < micros(next.started_at));
    const by = asked.find(within)?.author ?? undefined;
    const said = given.findLast(within);
    if (!next && detail.full_answer !== undefined && detail.full_answer !== null && (runs.length === 1 || said)) {
      return { run: id, question, by, status, text: detail.full_answer, grounds: detail.grounds, head: detail.head };
    }
    const head = said?.head ?? (next ? undefined : detail.head);
    // In place of a withheld answer the head says why.
    const text = head?.withheld === 'claim' ? undefined : said?.content;
    return { run: id, question, by, status, text, grounds: said ? groundsOf(said) : [], head };
  });
}
