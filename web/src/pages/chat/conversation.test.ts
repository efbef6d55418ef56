import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../api/client';
import fixture from '../../lib/fixtures/session.json';
import { emptyTimeline, recordEvent, reduceTimeline, sectionsOf, type TimelineState } from '../../lib/timeline';
import { conversation, stepWords } from './conversation';

const events = fixture.events.map((event) => recordEvent(event)).filter((event) => event !== undefined);
const timeline = fixture.timeline as unknown as Schemas['Timeline'];

function state(entries: number): TimelineState {
  const read = reduceTimeline(emptyTimeline, { type: 'timeline', timeline: { entries: timeline.entries.slice(0, entries), sequence: 54 } });
  return entries < 23 ? read : reduceTimeline(read, { type: 'events', events });
}

describe('a conversation', () => {
  it('is question, steps, answer', () => {
    const turns = conversation(sectionsOf(state(23)));
    expect(turns.map((turn) => turn.type)).toEqual(['question', 'steps', 'answer']);
    const [, steps, answer] = turns;
    expect(steps?.type === 'steps' && steps.over).toBe(true);
    expect(answer?.type === 'answer' && answer.last).toBe(true);
    expect(steps?.type === 'steps' && stepWords(steps.rows)).toBe('3 refused, 1 looked up, 3 read, 2 answer refused, 1 verified');
  });

  it('keeps the steps open while there is no answer', () => {
    const turns = conversation(sectionsOf(state(4)));
    expect(turns.at(-1)).toMatchObject({ type: 'steps', over: false });
  });

  it('says so when it only thought', () => {
    expect(stepWords([{ type: 'thinking', key: 'k', at: '', text: 'hm', live: false }])).toBe('no calls');
  });
});
