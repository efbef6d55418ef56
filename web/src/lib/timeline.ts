// From a session's detail, its timeline, its events and the text that streams in, to the rows that a person sees: one
// row per proposal with its whole life. Pure. Events may come twice or out of order; after a reconnect nothing doubles.

import type { Schemas } from '../api/client';
import { type CallLife, livesOf, type RecordEvent } from './calls';
import { facts, micros, text } from './facts';
import { Joining, push, type Row, rowsOfExecution } from './rows';

export interface Column {
  execution: string;
  agent: string;
  model: string | undefined;
  status: Schemas['Status'] | undefined;
  error: string | undefined;
  rows: Row[];
}

export interface Section {
  key: string;
  name: string;
  status: Schemas['Status'] | undefined;
  error: string | undefined;
  columns: Column[];
}

/** Text that streams in and is not in the timeline yet. */
interface Segment {
  id: number;
  execution: string;
  kind: 'text' | 'thinking';
  text: string;
  /** How much of the reply comes before it. */
  offset: number;
  at: string;
  /** The event by which it had ended; a timeline that includes it has the whole text. */
  endedBy: number | undefined;
}

export interface TimelineState {
  detail: Schemas['SessionDetail'] | undefined;
  entries: readonly Schemas['TimelineEntry'][];
  /** The last event that `entries` include. */
  entriesSequence: number;
  events: readonly RecordEvent[];
  segments: readonly Segment[];
  nextSegment: number;
}

export const emptyTimeline: TimelineState = {
  detail: undefined, entries: [], entriesSequence: -1, events: [], segments: [], nextSegment: 1,
};

export type Action =
  | { type: 'detail'; detail: Schemas['SessionDetail'] }
  | { type: 'timeline'; timeline: Schemas['Timeline'] }
  | { type: 'events'; events: readonly RecordEvent[] }
  /** `offset` is where in the reply it begins, of what was written before somebody began to watch. */
  | { type: 'chunk'; execution: string; kind: 'text' | 'thinking'; delta: string; at: string; offset?: number | undefined }
  | { type: 'asked'; execution: string };

/** An event from the API or the WebSocket; nothing if it is not one of the record. */
export function recordEvent(value: unknown): RecordEvent | undefined {
  const raw = facts(value);
  const sequence = raw.sequence ?? raw.position;
  const type = text(raw, 'type');
  if (typeof sequence !== 'number' || !Number.isInteger(sequence) || sequence < 1 || type === undefined) return undefined;
  return {
    sequence, type, at: text(raw, 'at') ?? '', stage: text(raw, 'stage'), execution: text(raw, 'execution'), data: facts(raw.data),
  };
}

function merged(known: readonly RecordEvent[], fresh: readonly RecordEvent[]): readonly RecordEvent[] {
  const last = known.at(-1)?.sequence ?? 0;
  let previous = last;
  const follows = fresh.every((event) => {
    const next = event.sequence > previous;
    previous = event.sequence;
    return next;
  });
  if (follows) return fresh.length === 0 ? known : [...known, ...fresh];
  const all = new Map(known.map((event) => [event.sequence, event]));
  const before = all.size;
  for (const event of fresh) if (!all.has(event.sequence)) all.set(event.sequence, event);
  if (all.size === before) return known;
  return [...all.values()].sort((a, b) => a.sequence - b.sequence);
}

/** The last event before the first gap. Events are numbered from one: what is missing was lost on the way. */
export function wholeUntil(events: readonly RecordEvent[]): number {
  if (events.at(-1)?.sequence === events.length) return events.length;
  let at = 0;
  while (events[at]?.sequence === at + 1) at += 1;
  return at;
}

/** What of an open segment stands before a place of the reply: the rest is told anew. */
function upTo(one: Segment, execution: string, offset: number): Segment[] {
  if (one.execution !== execution || one.endedBy !== undefined) return [one];
  const text = one.text.slice(0, Math.max(0, offset - one.offset));
  return text === '' ? [] : [{ ...one, text }];
}

const ENDS_TEXT = new Set(['proposal.received', 'decision.made', 'answer.given', 'execution.completed']);

export function reduceTimeline(state: TimelineState, action: Action): TimelineState {
  switch (action.type) {
    case 'detail':
      return { ...state, detail: action.detail };
    case 'timeline': {
      const { entries, sequence } = action.timeline;
      // An answer that was overtaken by a newer one.
      if (sequence < state.entriesSequence) return state;
      const segments = state.segments.filter((one) => one.endedBy === undefined || one.endedBy > sequence);
      return { ...state, entries, entriesSequence: sequence, segments };
    }
    case 'events': {
      const events = merged(state.events, action.events);
      if (events === state.events) return state;
      let segments = state.segments;
      for (const event of action.events) {
        const over = event.type === 'session.completed';
        if (!over && (!ENDS_TEXT.has(event.type) || event.execution === undefined)) continue;
        if (!segments.some((one) => one.endedBy === undefined && (over || one.execution === event.execution))) continue;
        segments = segments
          .map((one) =>
            one.endedBy === undefined && (over || one.execution === event.execution) ? { ...one, endedBy: event.sequence } : one,
          )
          .filter((one) => one.endedBy === undefined || one.endedBy > state.entriesSequence);
      }
      return { ...state, events, segments };
    }
    case 'chunk': {
      if (action.delta === '') return state;
      const { execution, kind } = action;
      const segments = action.offset === undefined ? state.segments : state.segments.flatMap((one) => upTo(one, execution, action.offset ?? 0));
      const last = segments.findLast((one) => one.execution === execution);
      const open = last?.endedBy === undefined ? last : undefined;
      const end = open === undefined ? 0 : open.offset + open.text.length;
      const offset = action.offset ?? end;
      if (open?.kind === kind && offset === end) {
        const grown = { ...open, text: open.text + action.delta };
        return { ...state, segments: segments.map((one) => (one === open ? grown : one)) };
      }
      const segment: Segment = { id: state.nextSegment, execution, kind, text: action.delta, offset, at: action.at, endedBy: undefined };
      return { ...state, segments: [...segments, segment], nextSegment: state.nextSegment + 1 };
    }
    case 'asked': {
      // A model is asked anew: whatever streamed before has ended.
      const by = state.events.at(-1)?.sequence ?? 0;
      const segments = state.segments
        .map((one) => (one.execution === action.execution && one.endedBy === undefined ? { ...one, endedBy: by } : one))
        .filter((one) => one.endedBy === undefined || one.endedBy > state.entriesSequence);
      return { ...state, segments };
    }
  }
}

const TEXT_FROM = new Set(['proposal.received', 'answer.given', 'answer.replaced', 'execution.completed', 'session.completed', 'hold.opened']);

/** Whether the event means that there is text which only the timeline has. */
export function impliesText(event: RecordEvent): boolean {
  return TEXT_FROM.has(event.type) || (event.type === 'decision.made' && event.data.call === undefined);
}

/** Whether the event changes what the session's detail says. */
export function impliesDetail(event: RecordEvent): boolean {
  if (/^(session|stage|execution|hold|verification)\./.test(event.type) || event.type === 'answer.given') return true;
  return event.type === 'receipt.recorded' && text(facts(event.data.receipt), 'kind') === 'write';
}

function frameOf(state: TimelineState): Section[] {
  const sections: Section[] = (state.detail?.stages ?? []).map((stage) => ({
    key: stage.id, name: stage.name, status: stage.status, error: stage.error ?? undefined,
    columns: stage.executions.map((one) => ({
      execution: one.id, agent: one.agent, model: one.model, status: one.status, error: one.error ?? undefined, rows: [],
    })),
  }));
  const section = (key: string, name: string): Section => {
    const known = sections.find((one) => one.key === key);
    if (known) return known;
    const fresh: Section = { key, name, status: undefined, error: undefined, columns: [] };
    sections.push(fresh);
    return fresh;
  };
  const columns = new Map(sections.flatMap((one) => one.columns.map((column) => [column.execution, column] as const)));
  for (const event of state.events) {
    const known = event.sequence <= (state.detail?.last_sequence ?? 0);
    const status = text(event.data, 'status') as Schemas['Status'] | undefined;
    if (event.type === 'stage.started' && event.stage !== undefined) {
      const one = section(event.stage, text(event.data, 'name') ?? 'stage');
      if (!known) one.status = 'in_progress';
    } else if (event.type === 'stage.completed' && event.stage !== undefined && !known) {
      section(event.stage, 'stage').status = status;
    } else if (event.type === 'execution.started' && event.execution !== undefined) {
      let column = columns.get(event.execution);
      if (!column) {
        const agent = text(event.data, 'agent') ?? 'agent';
        column = { execution: event.execution, agent, model: undefined, status: 'in_progress', error: undefined, rows: [] };
        section(event.stage ?? 'session', 'work').columns.push(column);
        columns.set(event.execution, column);
      }
    } else if (event.type === 'execution.completed' && event.execution !== undefined && !known) {
      const column = columns.get(event.execution);
      if (column) column.status = status;
    }
  }
  return sections;
}

/** What was kept and what happened, without what streams. */
function settled(state: TimelineState): Section[] {
  const { calls, answers } = livesOf(state.events);
  const joining = new Joining(calls, answers);
  const sections = frameOf(state);
  const columns = new Map(sections.flatMap((one) => one.columns.map((column) => [column.execution, column] as const)));
  const entries = new Map<string, Schemas['TimelineEntry'][]>();
  for (const entry of state.entries) push(entries, entry.execution, entry);
  const executions = new Set([...entries.keys(), ...joining.executions(), ...state.segments.map((one) => one.execution)]);
  for (const execution of executions) {
    let column = columns.get(execution);
    if (!column) {
      column = { execution, agent: 'agent', model: undefined, status: undefined, error: undefined, rows: [] };
      sections.push({ key: `of-${execution}`, name: 'work', status: undefined, error: undefined, columns: [column] });
      columns.set(execution, column);
    }
    const own = [...(entries.get(execution) ?? [])].sort((a, b) => a.number - b.number);
    column.rows = rowsOfExecution(own, execution, joining);
  }
  return sections;
}

let built: { state: TimelineState; sections: Section[] } | undefined;

function working(state: TimelineState): string {
  return [...new Set(state.segments.map((segment) => segment.execution))].join(' ');
}

function settledOnce(state: TimelineState): Section[] {
  if (
    built !== undefined && built.state.detail === state.detail && built.state.entries === state.entries && built.state.events === state.events &&
    working(built.state) === working(state)
  ) {
    return built.sections;
  }
  const sections = settled(state);
  built = { state, sections };
  return sections;
}

/** The sections of the timeline, in order. Text that streams does not make everything be built again. */
export function sectionsOf(state: TimelineState): Section[] {
  const sections = settledOnce(state);
  if (state.segments.length === 0) return sections;
  return sections.map((section) => ({
    ...section,
    columns: section.columns.map((column) => {
      const own = state.segments.filter((one) => one.execution === column.execution);
      if (own.length === 0) return column;
      const rows = own.map((one, place): Row => {
        const before = own[place - 1];
        const missing = one.offset > (before && before.endedBy === one.endedBy ? before.offset + before.text.length : 0);
        return { type: one.kind, key: `${one.execution}-live-${one.id}`, at: one.at, text: missing ? `… ${one.text}` : one.text, live: one.endedBy === undefined };
      });
      return { ...column, rows: [...column.rows, ...rows] };
    }),
  }));
}

/** Every call, in the order in which they were proposed. */
export function callsOf(sections: readonly Section[]): CallLife[] {
  return sections
    .flatMap((section) => section.columns.flatMap((column) => column.rows))
    .flatMap((row) => (row.type === 'call' ? [row.life] : []))
    .sort((a, b) => a.sequence - b.sequence || micros(a.at) - micros(b.at));
}
