// What a trace holds, as words: calls to models and questions to the gate. Forms that are not known show as they are.

import { type Facts, facts, inside, list, number, text } from '../../lib/facts';
import type { Tone } from '../../theme';

export interface Interaction {
  key: string;
  number: number;
  model: string;
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  firstSeconds: number | undefined;
  seconds: number | undefined;
  thinking: string | undefined;
  text: string | undefined;
  calls: readonly unknown[];
  request: string | undefined;
  reply: string | undefined;
  failed: string | undefined;
  summary: string;
  whole: Facts;
}

function seconds(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const found = facts(value);
  const whole = number(found, 'secs');
  return whole === undefined ? undefined : whole + (number(found, 'nanos') ?? 0) / 1e9;
}

function readable(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

export function interactionOf(raw: unknown, index: number): Interaction {
  const whole = facts(raw);
  const known = inside(whole, 'facts') ?? whole;
  const reply = inside(known, 'reply') ?? {};
  const usage = inside(known, 'usage') ?? {};
  const timing = inside(known, 'timing') ?? {};
  const calls = list(reply, 'calls');
  const asked = calls.map((call) => text(facts(call), 'name')).filter((name) => name !== undefined);
  const failed = list(known, 'attempts').map((attempt) => facts(attempt)).findLast((attempt) => attempt.failed !== null && attempt.failed !== undefined);
  const said = text(reply, 'text') ?? '';
  return {
    key: `${text(whole, 'execution') ?? ''}-${number(whole, 'number') ?? index + 1}-${index}`,
    number: number(whole, 'number') ?? index + 1,
    model: text(known, 'name') ?? text(whole, 'model') ?? 'model',
    inputTokens: number(usage, 'input_tokens'),
    outputTokens: number(usage, 'output_tokens'),
    firstSeconds: seconds(timing.first_chunk),
    seconds: seconds(timing.total),
    thinking: text(reply, 'thinking'),
    text: said,
    calls,
    request: readable(whole.request ?? whole.sent ?? whole.body),
    reply: readable(whole.raw_reply ?? whole.received ?? whole.raw),
    failed: failed && Object.keys(reply).length === 0 ? (text(failed, 'message') ?? 'no answer') : undefined,
    summary: asked.length > 0 ? `asked for ${asked.join(', ')}` : said.split('\n', 1)[0] ?? '',
    whole,
  };
}

export interface Step {
  key: string;
  number: number;
  at: string | undefined;
  ask: string;
  about: string;
  answer: string;
  tone: Tone;
  input: unknown;
  outcome: unknown;
}

const ASKS: Record<string, string> = {
  open: 'open session',
  decide: 'decide on a call',
  begin: 'use permit',
  settle: 'record receipt',
  answer: 'decide on the answer',
  redeem: 'decide on an approved plan',
  tighten: 'stricter rules after a reload',
  rediscover: 'current state',
  observe: 'reading after a write',
  conclude: 'end of session',
  mention: 'mention by a person',
};

function toneOf(answer: string, outcome: Facts): Tone {
  if (answer === 'refused' || answer === 'replaced') return 'refused';
  if (answer === 'held') return 'waiting';
  if (answer === 'allowed') return text(outcome, 'kind') === 'write' ? 'write' : 'read';
  return 'plain';
}

export function stepOf(raw: unknown, index: number): Step {
  const whole = facts(raw);
  const input = inside(whole, 'input') ?? {};
  const outcome = facts(whole.outcome);
  const ask = text(input, 'ask') ?? 'asked';
  const call = inside(input, 'call') ?? {};
  const args = inside(call, 'arguments') ?? {};
  const released = text(outcome, 'released');
  const plain = typeof whole.outcome === 'string' ? whole.outcome : 'noted';
  const answer = text(outcome, 'answer') ?? (released === undefined ? plain : outcome.replaced === true ? 'replaced' : 'answered');
  const code = text(outcome, 'code');
  const about = [text(call, 'tool'), text(args, 'command') ?? text(args, 'action'), text(input, 'permit'), text(input, 'text'), text(inside(input, 'receipt') ?? {}, 'summary')];
  return {
    key: `${number(whole, 'number') ?? index + 1}`,
    number: number(whole, 'number') ?? index + 1,
    at: text(whole, 'at'),
    ask: ASKS[ask] ?? ask.replaceAll('_', ' '),
    about: about.filter((part) => part !== undefined).join(' '),
    answer: code === undefined ? answer.replaceAll('_', ' ') : `${answer}: ${code}`,
    tone: toneOf(answer, outcome),
    input: whole.input,
    outcome: whole.outcome,
  };
}
