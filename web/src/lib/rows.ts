// The rows of a timeline: each entry joined with the life of the call or answer that it is about.

import type { Schemas } from '../api/client';
import { type AnswerLife, type CallLife, enrich, newCall, type Refusal } from './calls';
import { type Facts, facts, micros, text } from './facts';

export type Row =
  | { type: 'question'; key: string; at: string; text: string; by: string | undefined }
  | { type: 'thinking'; key: string; at: string; text: string; live: boolean }
  | { type: 'text'; key: string; at: string; text: string; live: boolean }
  | { type: 'call'; key: string; at: string; life: CallLife }
  | { type: 'refused_answer'; key: string; at: string; text: string; refusal: Refusal }
  | { type: 'answer'; key: string; at: string; text: string; replaced: AnswerLife['replaced']; proposed: string | undefined; head?: Schemas['Head'] | undefined }
  | { type: 'note'; key: string; at: string; text: string; failed: boolean; kind: string };

/** Puts a member into its group. */
export function push<T>(groups: Map<string, T[]>, key: string, member: T): void {
  const group = groups.get(key);
  if (group) group.push(member);
  else groups.set(key, [member]);
}

/** Joins each entry of the timeline with the life that it is about. */
export class Joining {
  private readonly calls = new Map<string, CallLife[]>();
  private readonly byName = new Map<string, CallLife[]>();
  private readonly answers = new Map<string, AnswerLife[]>();
  private readonly taken = new Set<string>();
  private readonly enriched = new Map<string, CallLife>();

  constructor(calls: readonly CallLife[], answers: readonly AnswerLife[]) {
    for (const life of calls) {
      push(this.calls, life.execution, life);
      push(this.byName, `${life.execution} ${life.call}`, life);
    }
    for (const life of answers) push(this.answers, life.execution, life);
  }

  call(entry: Schemas['TimelineEntry'], metadata: Facts): CallLife {
    const id = text(metadata, 'call') ?? entry.id;
    const same = this.byName.get(`${entry.execution} ${id}`) ?? [];
    const permit = text(metadata, 'permit');
    const hold = text(metadata, 'hold');
    const code = text(metadata, 'code');
    const found =
      (permit === undefined ? undefined : same.find((life) => life.permit === permit)) ??
      (hold === undefined ? undefined : same.find((life) => life.holds.some((one) => one.id === hold))) ??
      (code === undefined ? undefined : same.find((life) => !this.taken.has(life.key) && life.refusals.some((one) => one.code === code))) ??
      same.find((life) => !this.taken.has(life.key)) ??
      same.at(-1) ??
      lifeOfEntry(entry, id, metadata);
    this.taken.add(found.key);
    const life = enrich(this.enriched.get(found.key) ?? found, metadata);
    this.enriched.set(found.key, life);
    return life;
  }

  /** The answer or the reply without a proposal that was refused under this rule, the earliest that no entry has. */
  refused(execution: string, rule: string): AnswerLife | CallLife | undefined {
    const answer = (this.answers.get(execution) ?? []).find((life) => !this.taken.has(life.key) && life.refusal?.rule === rule);
    const call = (this.calls.get(execution) ?? []).find(
      (life) => !life.proposed && !this.taken.has(life.key) && life.refusals.some((one) => one.rule === rule),
    );
    const found = answer && (!call || answer.sequence < call.sequence) ? answer : (call ?? answer);
    if (found) this.taken.add(found.key);
    return found;
  }

  given(execution: string): AnswerLife | undefined {
    const found = (this.answers.get(execution) ?? []).find((life) => !this.taken.has(life.key) && life.allowed);
    if (found) this.taken.add(found.key);
    return found;
  }

  restCalls(execution: string): CallLife[] {
    return (this.calls.get(execution) ?? []).filter((life) => !this.taken.has(life.key));
  }

  restAnswers(execution: string): AnswerLife[] {
    return (this.answers.get(execution) ?? []).filter((life) => !this.taken.has(life.key));
  }

  executions(): string[] {
    return [...new Set([...this.calls.keys(), ...this.answers.keys()])];
  }
}

function lifeOfEntry(entry: Schemas['TimelineEntry'], call: string, metadata: Facts): CallLife {
  const life = newCall(entry.execution, call, entry.at, 0, 0);
  const code = text(metadata, 'code');
  if (code !== undefined) {
    const rule = text(metadata, 'rule') ?? 'unknown';
    life.refusals = [{ code, rule, message: entry.content, hint: undefined, details: undefined, at: entry.at }];
  } else if (entry.status === 'streaming') {
    life.startedAt = entry.at;
  } else if (entry.status !== 'held') {
    const seconds = metadata.seconds;
    life.startedAt = entry.at;
    life.receipt = {
      id: '', outcome: entry.status === 'completed' ? 'succeeded' : entry.status, summary: entry.content, exitCode: undefined,
      startedAt: entry.at, finishedAt: entry.updated_at, seconds: typeof seconds === 'number' ? seconds : undefined,
    };
  } else {
    const id = text(metadata, 'hold') ?? '';
    const hold = { id, state: 'open' as const, openedAt: entry.at, expiresAt: undefined, by: undefined, reason: undefined, decidedAt: undefined };
    life.holds = [hold];
  }
  return life;
}

function rowOfAnswer(life: AnswerLife): Row[] {
  if (life.refusal) return [{ type: 'refused_answer', key: life.key, at: life.at, text: life.text, refusal: life.refusal }];
  const given = life.given ?? life.replaced?.text;
  if (given === undefined) return [];
  const { key, at, replaced } = life;
  return [{ type: 'answer', key, at, text: given, replaced, proposed: replaced ? life.text : undefined }];
}

function rowOfEntry(entry: Schemas['TimelineEntry'], joining: Joining): Row {
  const { id: key, at, content } = entry;
  const metadata = facts(entry.metadata);
  const live = entry.status === 'streaming';
  switch (entry.kind) {
    case 'user_question':
      return { type: 'question', key, at, text: content, by: entry.author ?? undefined };
    case 'llm_thinking':
      return { type: 'thinking', key, at, text: content, live };
    case 'llm_response':
      return { type: 'text', key, at, text: content, live };
    case 'llm_tool_call': {
      const life = joining.call(entry, metadata);
      return { type: 'call', key: life.key, at, life };
    }
    case 'final_analysis': {
      const life = joining.given(entry.execution);
      const replaced = life?.replaced ?? (metadata.replaced === true ? { category: 'claim', text: content } : undefined);
      return { type: 'answer', key, at, text: content, replaced, proposed: replaced ? life?.text : undefined, head: entry.head ?? undefined };
    }
    case 'error': {
      const rule = text(metadata, 'rule');
      if (entry.status !== 'refused' || rule === undefined) return { type: 'note', key, at, text: content, failed: true, kind: 'error' };
      const life = joining.refused(entry.execution, rule);
      if (life && 'call' in life) return { type: 'call', key: life.key, at, life };
      const code = text(metadata, 'code') ?? life?.refusal?.code ?? 'REFUSED';
      const refusal = life?.refusal ?? { code, rule, message: content, hint: undefined, details: undefined, at };
      return { type: 'refused_answer', key, at, text: life?.text ?? '', refusal };
    }
    default:
      return { type: 'note', key, at, text: content, failed: entry.status === 'failed', kind: entry.kind };
  }
}

/** The rows of one agent at work: its timeline, joined with what the events tell. */
export function rowsOfExecution(entries: readonly Schemas['TimelineEntry'][], execution: string, joining: Joining): Row[] {
  const placed: { at: number; row: Row }[] = [];
  const seen = new Map<string, number>();
  let latest = 0;
  for (const entry of entries) {
    const row = rowOfEntry(entry, joining);
    latest = Math.max(latest, micros(entry.at));
    const before = row.type === 'call' ? seen.get(row.key) : undefined;
    if (before !== undefined) {
      // A call that was held and then ran has two entries and one row, where it was proposed.
      const first = placed[before];
      if (first && row.type === 'call') placed[before] = { at: first.at, row: { ...row, at: first.row.at } };
      continue;
    }
    seen.set(row.key, placed.length);
    placed.push({ at: latest, row });
  }
  const rest: { at: number; row: Row }[] = [
    ...joining.restCalls(execution).map((life) => ({ at: micros(life.at), row: { type: 'call' as const, key: life.key, at: life.at, life } })),
    ...joining.restAnswers(execution).flatMap((life) => rowOfAnswer(life).map((row) => ({ at: micros(life.at), row }))),
  ].sort((a, b) => a.at - b.at);
  if (rest.length === 0) return placed.map((one) => one.row);
  const rows: Row[] = [];
  let next = 0;
  for (const one of placed) {
    for (let waiting = rest[next]; waiting && waiting.at < one.at; waiting = rest[++next]) rows.push(waiting.row);
    rows.push(one.row);
  }
  for (const one of rest.slice(next)) rows.push(one.row);
  return rows;
}
