import { describe, expect, it } from 'vitest';

import type { Schemas } from '../api/client';
import { type RecordEvent } from './calls';
import fixture from './fixtures/session.json';
import type { Row } from './rows';
import {
  type Action, callsOf, emptyTimeline, impliesDetail, impliesText, recordEvent, reduceTimeline, sectionsOf, type TimelineState,
} from './timeline';
import { headline, standing } from './words';

const detail = fixture.detail as unknown as Schemas['SessionDetail'];
const timeline = fixture.timeline as unknown as Schemas['Timeline'];
const events = fixture.events.map((event) => recordEvent(event)).filter((event) => event !== undefined);
const execution = 'exe_1';

function after(...actions: Action[]): TimelineState {
  return actions.reduce(reduceTimeline, emptyTimeline);
}

function rows(state: TimelineState): Row[] {
  return sectionsOf(state).flatMap((section) => section.columns.flatMap((column) => column.rows));
}

function short(row: Row): string {
  switch (row.type) {
    case 'call':
      return `${standing(row.life).word}: ${row.life.tool} ${headline(row.life)}`;
    case 'refused_answer':
      return `refused answer: ${row.refusal.code}`;
    default:
      return row.type;
  }
}

const whole = after({ type: 'detail', detail }, { type: 'timeline', timeline }, { type: 'events', events });

describe('a whole session', () => {
  it('has one row per proposal, with where it stands', () => {
    expect(rows(whole).map(short)).toEqual([
      'question',
      'thinking',
      'refused: infra_control service restart jellyfin',
      'thinking',
      'looked up: infra_query search jellyfin',
      'thinking',
      'refused: infra_control journalctl -u jellyfin -n 30 --no-pager',
      'thinking',
      'read: infra_read journalctl -n 200 --since "10 min ago" -u jellyfin',
      'thinking',
      'read: infra_read systemctl is-active jellyfin',
      'thinking',
      'refused: infra_read systemctl is-active jellyfin',
      'thinking',
      'refused answer: UNSUPPORTED_CLAIM',
      'thinking',
      'verified: infra_control service restart jellyfin',
      'thinking',
      'refused answer: FSM_BLOCKED',
      'thinking',
      'read: infra_read systemctl status jellyfin --no-pager',
      'answer',
    ]);
  });

  it('tells the whole life of the write', () => {
    const life = callsOf(sectionsOf(whole)).find((one) => one.call === 'call_7_0');
    expect(life).toMatchObject({
      kind: 'write', resource: 'lxc:delly:150', reasons: ['the control level is `controlled`'], refusals: [],
      holds: [{ state: 'approved', by: 'root' }],
      receipt: { outcome: 'succeeded', exitCode: 0 },
      verification: { outcome: 'verified', expectation: { expect: 'unit_restarted', unit: 'jellyfin' } },
    });
    expect(life?.verification?.evidence).toBe(callsOf(sectionsOf(whole)).at(-1)?.evidence[0]);
  });

  it('keeps what the model proposed where code rewrote it, with the refusal', () => {
    const life = callsOf(sectionsOf(whole)).find((one) => one.call === 'call_3_0');
    expect(life?.arguments.command).toBe('journalctl -u jellyfin -f');
    expect(life?.ran?.command).toBe('journalctl -n 200 --since "10 min ago" -u jellyfin');
    expect(life?.refusals.map((one) => one.code)).toEqual(['READ_ONLY_VIOLATION']);
    expect(life && standing(life).tone).toBe('read');
  });

  it('shows what a refused answer said', () => {
    const refused = rows(whole).filter((row) => row.type === 'refused_answer');
    expect(refused.map((row) => row.text)).toEqual([
      'I restarted jellyfin and it is running again.',
      'Jellyfin had crashed after its session table overflowed. The unit was restarted.',
    ]);
    expect(refused[0]?.refusal.hint).toContain('receipt');
  });

  it('names stage and agent', () => {
    expect(sectionsOf(whole).map((one) => [one.name, one.columns.map((column) => column.agent)])).toEqual([['investigate', ['operator']]]);
  });
});

describe('how things arrive', () => {
  const expected = rows(whole);

  it('one by one is the same as all at once', () => {
    const state = after({ type: 'detail', detail }, ...events.map((event): Action => ({ type: 'events', events: [event] })), { type: 'timeline', timeline });
    expect(rows(state)).toEqual(expected);
  });

  it('backwards, and every event twice, is the same', () => {
    const shuffled = [...events].reverse().flatMap((event) => [event, { ...event }]);
    const state = after({ type: 'timeline', timeline }, { type: 'events', events: shuffled }, { type: 'detail', detail });
    expect(rows(state)).toEqual(expected);
  });

  it('a reconnect that repeats everything changes nothing at all', () => {
    expect(reduceTimeline(whole, { type: 'events', events })).toBe(whole);
  });

  it('a timeline that is older than the one that is there is passed over', () => {
    expect(reduceTimeline(whole, { type: 'timeline', timeline: { entries: [], sequence: 20 } })).toBe(whole);
  });

  it('has the calls before the timeline was read again, in their places', () => {
    const early: Schemas['Timeline'] = { entries: timeline.entries.slice(0, 4), sequence: 7 };
    const state = after({ type: 'timeline', timeline: early }, { type: 'events', events });
    expect(rows(state).map(short).slice(0, 7)).toEqual([
      'question',
      'thinking',
      'refused: infra_control service restart jellyfin',
      'thinking',
      'looked up: infra_query search jellyfin',
      'refused: infra_control journalctl -u jellyfin -n 30 --no-pager',
      'read: infra_read journalctl -u jellyfin -f',
    ]);
    expect(rows(state).at(-1)?.type).toBe('answer');
  });

  it('works from the timeline alone', () => {
    const words = rows(after({ type: 'timeline', timeline })).map(short);
    expect(words).toContain('refused: infra_control service restart jellyfin');
    expect(words).toContain('read: infra_read systemctl status jellyfin --no-pager');
    expect(words.at(-1)).toBe('answer');
  });

  it.each([
    [31, 'waiting', 'waiting'],
    [33, 'approved', 'write'],
    [37, 'running', 'write'],
    [39, 'done', 'write'],
    [40, 'done, not verified yet', 'write'],
    [48, 'verified', 'verified'],
  ])('after event %i the write is %s', (sequence, word, tone) => {
    const state = after({ type: 'events', events: events.filter((event) => event.sequence <= sequence) });
    const life = callsOf(sectionsOf(state)).find((one) => one.call === 'call_7_0');
    expect(life && { word: standing(life).word, tone: standing(life).tone }).toEqual({ word, tone });
  });
});

describe('the same call again', () => {
  it('is a new row when a later turn uses its id anew', () => {
    const again = events.slice(5, 7).map((event) => ({ ...event, sequence: event.sequence + 100 }));
    const state = after({ type: 'events', events: [...events, ...again] });
    const lives = callsOf(sectionsOf(state)).filter((one) => one.call === 'call_0_0');
    expect(lives.map((one) => one.key)).toEqual(['exe_1-call_0_0', 'exe_1-call_0_0-2']);
  });
});

function event(sequence: number, type: string, data: RecordEvent['data']): RecordEvent {
  return { sequence, type, at: `2026-01-01T00:00:0${sequence}Z`, execution, data };
}

describe('humans', () => {
  const opened = [
    event(1, 'proposal.received', { proposal: { type: 'tool_call', id: 'c', tool: 'infra_control', arguments: { action: 'stop' } } }),
    event(2, 'decision.made', { call: 'c', decision: { answer: 'held', hold: 'h' } }),
    event(3, 'hold.opened', { hold: 'h', call: 'c', tool: 'infra_control', expires_at: '2026-01-01T00:10:00Z' }),
  ];
  it.each([
    ['hold.denied', { hold: 'h', by: 'ann', reason: 'not at night' }, 'denied', 'refused'],
    ['hold.expired', { hold: 'h' }, 'expired', 'refused'],
    ['hold.edited', { hold: 'h', by: 'ann' }, 'edited', 'plain'],
    ['hold.approved', { hold: 'h', by: 'ann' }, 'approved', 'write'],
  ])('%s', (type, data, word, tone) => {
    // People decide outside of an execution.
    const decided = { ...event(4, type, data), execution: undefined };
    const [life] = callsOf(sectionsOf(after({ type: 'events', events: [...opened, decided] })));
    expect(life && standing(life)).toMatchObject({ word, tone });
    expect(life?.holds[0]?.by).toBe('by' in data ? data.by : undefined);
  });

  it('a decision makes another row, and leaves the one that was shown as it was', () => {
    const before = after({ type: 'events', events: opened });
    const [waiting] = rows(before);
    const [decided] = rows(reduceTimeline(before, { type: 'events', events: [{ ...event(4, 'hold.denied', { hold: 'h', by: 'ann' }), execution: undefined }] }));
    expect(decided).not.toBe(waiting);
    expect(waiting?.type === 'call' && standing(waiting.life).word).toBe('waiting');
    expect(decided?.type === 'call' && standing(decided.life).word).toBe('denied');
    if (waiting?.type === 'call' && decided?.type === 'call') expect(decided.life.holds[0]).not.toBe(waiting.life.holds[0]);
  });

  it('an edited plan waits in the same row', () => {
    const state = after({
      type: 'events',
      events: [...opened, event(4, 'hold.edited', { hold: 'h', by: 'ann' }), event(5, 'hold.opened', { hold: 'h2', call: 'c', tool: 'infra_control' })],
    });
    const lives = callsOf(sectionsOf(state));
    expect(lives).toHaveLength(1);
    expect(lives[0]?.holds.map((hold) => hold.state)).toEqual(['edited', 'open']);
  });
});

describe('a phantom', () => {
  it('is shown as refused, with what was claimed and what was said instead', () => {
    const state = after({
      type: 'events',
      events: [
        event(1, 'proposal.received', { proposal: { type: 'final_answer', text: 'I restarted it.' } }),
        event(2, 'decision.made', { decision: { answer: 'answer_allowed' } }),
        event(3, 'answer.replaced', { category: 'action', text: 'Nothing was done.' }),
        event(4, 'answer.given', { text: 'Nothing was done.' }),
      ],
    });
    expect(rows(state)).toMatchObject([
      { type: 'answer', text: 'Nothing was done.', proposed: 'I restarted it.', replaced: { category: 'action' } },
    ]);
  });
});

describe('text that streams', () => {
  const chunk = (kind: 'text' | 'thinking', delta: string): Action => ({ type: 'chunk', execution, kind, delta, at: '2026-01-01T00:00:09Z' });

  it.each<[string, Action[], string[]]>([
    ['a beginning that is not known is marked', [{ ...chunk('text', 'end'), offset: 40 } as Action], ['… end']],
    ['what is told anew replaces what it covers', [chunk('thinking', 'abc'), chunk('text', 'de'), { ...chunk('text', 'def'), offset: 3 } as Action], ['abc', 'def']],
    ['from the beginning it replaces all', [chunk('thinking', 'abc'), chunk('text', 'de'), { ...chunk('text', 'x'), offset: 0 } as Action, chunk('text', 'y')], ['xy']],
    ['what goes on where it ended is joined', [chunk('text', 'ab'), { ...chunk('text', 'c'), offset: 2 } as Action], ['abc']],
  ])('%s', (_, actions, wanted) => {
    expect(rows(after(...actions)).map((row) => ('text' in row ? row.text : row.type))).toEqual(wanted);
  });

  it('grows in one row per kind and stays until the timeline has it', () => {
    let state = after(chunk('thinking', 'Let '), chunk('thinking', 'me'), chunk('text', 'Ok'));
    expect(rows(state)).toMatchObject([
      { type: 'thinking', text: 'Let me', live: true },
      { type: 'text', text: 'Ok', live: true },
    ]);
    state = reduceTimeline(state, { type: 'events', events: [event(5, 'proposal.received', { proposal: { type: 'tool_call', id: 'c', tool: 't', arguments: {} } })] });
    expect(rows(state).filter((row) => row.type === 'thinking')).toMatchObject([{ text: 'Let me', live: false }]);
    const entry = { id: 'exe_1-1', execution, number: 1, kind: 'llm_thinking', status: 'completed', content: 'Let me', at: '2026-01-01T00:00:04Z', updated_at: '2026-01-01T00:00:04Z' };
    state = reduceTimeline(state, { type: 'timeline', timeline: { entries: [], sequence: 4 } });
    expect(rows(state).filter((row) => row.type === 'thinking')).toHaveLength(1);
    state = reduceTimeline(state, { type: 'timeline', timeline: { entries: [entry], sequence: 5 } });
    expect(rows(state).map((row) => row.type)).toEqual(['thinking', 'call']);
  });

  it('of another agent is not ended by it', () => {
    const state = after(chunk('text', 'a'), { type: 'events', events: [{ ...event(1, 'execution.completed', { status: 'completed' }), execution: 'exe_2' }] });
    expect(rows(state)).toMatchObject([{ type: 'text', live: true }]);
  });

  it('begins anew when a model is asked again', () => {
    const state = after({ type: 'events', events: [event(3, 'session.status', { status: 'in_progress' })] }, chunk('text', 'a'), { type: 'asked', execution }, chunk('text', 'b'));
    expect(rows(state)).toMatchObject([{ text: 'a', live: false }, { text: 'b', live: true }]);
  });
});

describe('what an event asks for', () => {
  it.each([
    ['proposal.received', {}, true, false],
    ['decision.made', { call: 'c' }, false, false],
    ['decision.made', {}, true, false],
    ['receipt.recorded', { receipt: { kind: 'read' } }, false, false],
    ['receipt.recorded', { receipt: { kind: 'write' } }, false, true],
    ['session.completed', {}, true, true],
    ['hold.approved', {}, false, true],
    ['evidence.recorded', {}, false, false],
  ])('%s %j', (type, data, forText, forDetail) => {
    expect([impliesText(event(1, type, data)), impliesDetail(event(1, type, data))]).toEqual([forText, forDetail]);
  });

  it.each([null, 3, {}, { type: 'x' }, { type: 'x', sequence: 0 }, { sequence: 4 }])('%j is no event', (value) => {
    expect(recordEvent(value)).toBeUndefined();
  });
});

describe('size', () => {
  it('builds 5,000 rows in a moment', () => {
    const many: RecordEvent[] = [];
    for (let at = 1; at <= 5000; at += 1) {
      many.push(
        { ...event(at * 2, 'proposal.received', { proposal: { type: 'tool_call', id: `c${at}`, tool: 't', arguments: {} } }), at: '2026-01-01T00:00:00Z' },
        { ...event(at * 2 + 1, 'decision.made', { call: `c${at}`, decision: { answer: 'refused', code: 'X', rule: 'r', message: 'm' } }), at: '2026-01-01T00:00:00Z' },
      );
    }
    const begun = performance.now();
    expect(rows(after({ type: 'events', events: many }))).toHaveLength(5000);
    expect(performance.now() - begun).toBeLessThan(1000);
  });
});
