// The whole life of each call and each answer that a model proposed, folded from the session's events. Pure: the same
// events give the same lives, in whatever order and however often they came.

import { type Facts, facts, inside, number, text, texts } from './facts';

/** An event of the record, as the API and the WebSocket give it. */
export interface RecordEvent {
  sequence: number;
  at: string;
  type: string;
  stage?: string | undefined;
  execution?: string | undefined;
  data: Facts;
}

export interface Refusal {
  code: string;
  rule: string;
  message: string;
  hint: string | undefined;
  details: Facts | undefined;
  at: string;
}

export type HoldState = 'open' | 'approved' | 'denied' | 'edited' | 'expired';

export interface Hold {
  id: string;
  state: HoldState;
  openedAt: string;
  expiresAt: string | undefined;
  by: string | undefined;
  reason: string | undefined;
  decidedAt: string | undefined;
}

export interface ReceiptFacts {
  id: string;
  outcome: string;
  summary: string;
  exitCode: number | undefined;
  startedAt: string | undefined;
  finishedAt: string | undefined;
  seconds: number | undefined;
}

export interface VerificationFacts {
  expectation: Facts | undefined;
  deadline: string | undefined;
  /** `verified`, `failed`, `observed`, `inconclusive`; nothing while it is due. */
  outcome: string | undefined;
  evidence: string | undefined;
  at: string | undefined;
}

/** One call, from the proposal to what was observed afterwards. */
export interface CallLife {
  key: string;
  execution: string;
  call: string;
  tool: string;
  /** As the model proposed them. */
  arguments: Facts;
  /** As they ran, where code rewrote them. */
  ran: Facts | undefined;
  kind: string | undefined;
  resource: string | undefined;
  sequence: number;
  at: string;
  /** Whether a model asked for it; code reads by itself what nobody verified in time. */
  proposed: boolean;
  /** Every refusal; a call that was rewritten and then ran keeps the one of its first form. */
  refusals: readonly Refusal[];
  permit: string | undefined;
  holds: readonly Hold[];
  reasons: readonly string[];
  startedAt: string | undefined;
  receipt: ReceiptFacts | undefined;
  evidence: readonly string[];
  verification: VerificationFacts | undefined;
}

/** An answer that a model proposed. */
export interface AnswerLife {
  key: string;
  execution: string;
  sequence: number;
  at: string;
  /** In the model's words. */
  text: string;
  allowed: boolean;
  refusal: Refusal | undefined;
  /** It claimed what no receipt shows: the kind of claim, and what was shown instead. */
  replaced: { category: string; text: string } | undefined;
  /** As it was given. */
  given: string | undefined;
}

export interface Lives {
  calls: CallLife[];
  answers: AnswerLife[];
}

type Open<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer M)[] ? M[] : T[K] };

export function refusalOf(decision: Facts, at: string): Refusal {
  return {
    code: text(decision, 'code') ?? 'REFUSED',
    rule: text(decision, 'rule') ?? 'unknown',
    message: text(decision, 'message') ?? 'The gate refused this.',
    hint: text(decision, 'recovery_hint'),
    details: inside(decision, 'details'),
    at,
  };
}

export function newCall(execution: string, call: string, at: string, sequence: number, place: number): Open<CallLife> {
  return {
    key: `${execution}-${call}${place === 0 ? '' : `-${place + 1}`}`,
    execution, call, tool: '', arguments: {}, ran: undefined, kind: undefined, resource: undefined,
    sequence, at, proposed: false, refusals: [], permit: undefined, holds: [], reasons: [], startedAt: undefined,
    receipt: undefined, evidence: [], verification: undefined,
  };
}

/** Folds events, which must be in order and without duplicates, into lives. */
export function livesOf(events: readonly RecordEvent[]): Lives {
  const calls: Open<CallLife>[] = [];
  const answers: Open<AnswerLife>[] = [];
  const byCall = new Map<string, Open<CallLife>[]>();
  const byPermit = new Map<string, Open<CallLife>>();
  const byHold = new Map<string, Open<CallLife>>();
  const byReceipt = new Map<string, Open<CallLife>>();
  const lastAnswer = new Map<string, Open<AnswerLife>>();

  const begin = (event: RecordEvent, call: string): Open<CallLife> => {
    const execution = event.execution ?? '';
    const name = `${execution} ${call}`;
    const same = byCall.get(name) ?? [];
    const life = newCall(execution, call, event.at, event.sequence, same.length);
    byCall.set(name, [...same, life]);
    calls.push(life);
    return life;
  };
  const find = (event: RecordEvent, call: string): Open<CallLife> =>
    byCall.get(`${event.execution ?? ''} ${call}`)?.at(-1) ?? begin(event, call);

  for (const event of events) {
    const { data, at } = event;
    const call = text(data, 'call');
    switch (event.type) {
      case 'proposal.received': {
        const proposal = inside(data, 'proposal') ?? {};
        if (text(proposal, 'type') === 'final_answer') {
          const execution = event.execution ?? '';
          const answer: Open<AnswerLife> = {
            key: `${execution}-answer-${event.sequence}`, execution, sequence: event.sequence, at,
            text: text(proposal, 'text') ?? '', allowed: false, refusal: undefined, replaced: undefined, given: undefined,
          };
          answers.push(answer);
          lastAnswer.set(execution, answer);
          break;
        }
        const id = text(proposal, 'id');
        if (id === undefined) break;
        const life = begin(event, id);
        life.proposed = true;
        life.tool = text(proposal, 'tool') ?? '';
        life.arguments = facts(proposal.arguments);
        life.resource = text(life.arguments, 'target_resource_id');
        break;
      }
      case 'decision.made': {
        const decision = inside(data, 'decision') ?? {};
        const answer = text(decision, 'answer');
        if (call === undefined) {
          const said = lastAnswer.get(event.execution ?? '');
          if (answer === 'answer_allowed') {
            if (said) said.allowed = true;
          } else if (answer === 'refused') {
            const refusal = refusalOf(decision, at);
            if (said && said.refusal === undefined && !said.allowed) {
              said.refusal = refusal;
            } else {
              // A reply that was no proposal at all.
              const execution = event.execution ?? '';
              answers.push({
                key: `${execution}-reply-${event.sequence}`, execution, sequence: event.sequence, at, text: '',
                allowed: false, refusal, replaced: undefined, given: undefined,
              });
            }
          }
          break;
        }
        const life = find(event, call);
        if (answer === 'refused') {
          life.refusals.push(refusalOf(decision, at));
        } else if (answer === 'allowed') {
          life.permit = text(decision, 'permit');
          life.kind = text(decision, 'kind') ?? life.kind;
          if (life.permit !== undefined) byPermit.set(life.permit, life);
        }
        break;
      }
      case 'hold.opened': {
        const id = text(data, 'hold');
        if (id === undefined || call === undefined) break;
        const life = find(event, call);
        const hold: Hold = {
          id, state: 'open', openedAt: at, expiresAt: text(data, 'expires_at'), by: undefined, reason: undefined,
          decidedAt: undefined,
        };
        life.holds.push(hold);
        life.tool = life.tool === '' ? (text(data, 'tool') ?? '') : life.tool;
        life.resource = text(data, 'resource') ?? life.resource;
        // Only what may change something waits for a human.
        life.kind ??= 'write';
        byHold.set(id, life);
        break;
      }
      case 'hold.approved':
      case 'hold.denied':
      case 'hold.edited':
      case 'hold.expired': {
        const id = text(data, 'hold') ?? '';
        const life = byHold.get(id);
        if (!life) break;
        const state = event.type.slice('hold.'.length) as HoldState;
        // A hold that was shown is never changed: what it became is another.
        life.holds = life.holds.map((hold) =>
          hold.id === id ? { ...hold, state, by: text(data, 'by'), reason: text(data, 'reason'), decidedAt: at } : hold,
        );
        break;
      }
      case 'call.started': {
        if (call === undefined) break;
        const permit = text(data, 'permit');
        const life = (permit === undefined ? undefined : byPermit.get(permit)) ?? find(event, call);
        life.startedAt = at;
        life.permit = permit ?? life.permit;
        life.kind = text(data, 'kind') ?? life.kind;
        life.tool = text(data, 'tool') ?? life.tool;
        life.resource = text(data, 'resource') ?? life.resource;
        if (permit !== undefined) byPermit.set(permit, life);
        break;
      }
      case 'evidence.recorded': {
        const evidence = text(data, 'evidence');
        if (call === undefined || evidence === undefined) break;
        const life = find(event, call);
        life.evidence.push(evidence);
        life.resource = text(data, 'resource') ?? life.resource;
        // Code took this reading itself: no model asked for it.
        if (!life.proposed && life.startedAt === undefined) life.kind ??= 'read';
        break;
      }
      case 'receipt.recorded': {
        const receipt = inside(data, 'receipt') ?? {};
        const permit = text(receipt, 'permit');
        const of = text(receipt, 'call');
        const life = (permit === undefined ? undefined : byPermit.get(permit)) ?? (of === undefined ? undefined : find(event, of));
        if (!life) break;
        const startedAt = text(receipt, 'started_at');
        const finishedAt = text(receipt, 'finished_at');
        const seconds =
          startedAt !== undefined && finishedAt !== undefined ? (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000 : undefined;
        life.receipt = {
          id: text(receipt, 'id') ?? '', outcome: text(receipt, 'outcome') ?? 'interrupted_unknown',
          summary: text(receipt, 'summary') ?? '', exitCode: number(receipt, 'exit_code'), startedAt, finishedAt, seconds,
        };
        life.kind = text(receipt, 'kind') ?? life.kind;
        life.tool = text(receipt, 'tool') ?? life.tool;
        life.resource = text(receipt, 'resource') ?? life.resource;
        if (life.receipt.id !== '') byReceipt.set(life.receipt.id, life);
        break;
      }
      case 'verification.required': {
        const life = byPermit.get(text(data, 'permit') ?? '');
        if (!life) break;
        life.verification = {
          expectation: inside(data, 'expectation'), deadline: text(data, 'deadline'), outcome: undefined, evidence: undefined,
          at: undefined,
        };
        break;
      }
      case 'verification.completed': {
        const resource = text(data, 'resource');
        const life =
          byReceipt.get(text(data, 'receipt') ?? '') ??
          calls.findLast((one) => one.resource === resource && one.verification !== undefined && one.verification.outcome === undefined);
        if (!life) break;
        life.verification = {
          expectation: life.verification?.expectation, deadline: life.verification?.deadline,
          outcome: text(data, 'outcome') ?? 'inconclusive', evidence: text(data, 'evidence'), at,
        };
        break;
      }
      case 'answer.replaced': {
        const said = lastAnswer.get(event.execution ?? '');
        if (said) said.replaced = { category: text(data, 'category') ?? 'claim', text: text(data, 'text') ?? '' };
        break;
      }
      case 'answer.given': {
        const said = lastAnswer.get(event.execution ?? '');
        if (said) said.given = text(data, 'text');
        break;
      }
      default:
        break;
    }
  }
  return { calls, answers };
}

/** Takes up what only the timeline knows of a call: arguments as they ran, reasons of a hold, how long it took. */
export function enrich(life: CallLife, metadata: Facts): CallLife {
  const ran = inside(metadata, 'arguments');
  const differs = ran !== undefined && life.proposed && JSON.stringify(ran) !== JSON.stringify(life.arguments);
  const evidence = text(metadata, 'evidence');
  const reasons = texts(metadata, 'reasons');
  return {
    ...life,
    tool: life.tool === '' ? (text(metadata, 'tool') ?? '') : life.tool,
    arguments: life.proposed ? life.arguments : (ran ?? life.arguments),
    ran: differs ? ran : life.ran,
    kind: life.kind ?? text(metadata, 'kind'),
    resource: life.resource ?? text(metadata, 'resource') ?? (ran === undefined ? undefined : text(ran, 'target_resource_id')),
    reasons: reasons.length > 0 ? reasons : life.reasons,
    evidence: evidence !== undefined && !life.evidence.includes(evidence) ? [...life.evidence, evidence] : life.evidence,
  };
}
