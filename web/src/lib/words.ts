// What the page says about a call, in words: where it stands, what it is, what must be seen after it.

import type { Tone } from '../theme';
import type { CallLife } from './calls';
import { type Facts, text } from './facts';

export interface Standing {
  tone: Tone;
  /** One word or two, for the badge. */
  word: string;
  /** Whether something is still to come. */
  open: boolean;
}

const OUTCOME: Record<string, string> = {
  failed: 'failed',
  timed_out: 'timed out',
  cancelled: 'cancelled',
  interrupted_unknown: 'interrupted, outcome unknown',
};

const DONE: Record<string, string> = { read: 'read', resolve: 'looked up' };

/** Where a call stands now. Only what was verified is green. */
export function standing(life: CallLife): Standing {
  const kind: Tone = life.kind === 'write' ? 'write' : 'read';
  const { receipt, verification } = life;
  if (verification?.outcome !== undefined) {
    switch (verification.outcome) {
      case 'verified':
        return { tone: 'verified', word: 'verified', open: false };
      case 'failed':
        return { tone: 'failed', word: 'not as expected', open: false };
      case 'observed':
        return { tone: kind, word: 'observed', open: false };
      default:
        return { tone: kind, word: 'could not be verified', open: false };
    }
  }
  if (receipt) {
    if (receipt.outcome !== 'succeeded') return { tone: 'failed', word: OUTCOME[receipt.outcome] ?? receipt.outcome, open: false };
    if (verification) return { tone: kind, word: 'done, not verified yet', open: true };
    return { tone: kind, word: DONE[life.kind ?? ''] ?? 'done', open: false };
  }
  if (life.startedAt !== undefined) return { tone: kind, word: 'running', open: true };
  const hold = life.holds.at(-1);
  if (hold) {
    switch (hold.state) {
      case 'open':
        return { tone: 'waiting', word: 'waiting', open: true };
      case 'denied':
        return { tone: 'refused', word: 'denied', open: false };
      case 'expired':
        return { tone: 'refused', word: 'expired', open: false };
      case 'edited':
        return { tone: 'plain', word: 'edited', open: true };
      case 'approved':
        if (life.refusals.length > 0 && life.permit === undefined) return { tone: 'refused', word: 'refused', open: false };
        return { tone: 'write', word: 'approved', open: true };
    }
  }
  if (life.permit !== undefined) return { tone: kind, word: 'allowed', open: true };
  if (life.refusals.length > 0) return { tone: 'refused', word: 'refused', open: false };
  if (life.evidence.length > 0) return { tone: 'read', word: 'read', open: false };
  return { tone: 'plain', word: 'proposed', open: true };
}

const SAID_ELSEWHERE = new Set(['action', 'target_resource_id', 'command', 'content']);
/** A value that is longer, or has several lines, is shown when the row is unfolded. */
const SHORT = 80;

/** What a call does, in one line: the command, or the action with its arguments. */
export function headline(life: CallLife): string {
  const used = life.ran ?? life.arguments;
  const command = text(used, 'command');
  if (command !== undefined) return command;
  if (life.tool === '' && !life.proposed) return 'read by Interlock to verify a write';
  const rest = Object.entries(used)
    .filter(([key, value]) => !SAID_ELSEWHERE.has(key) && value !== null && typeof value !== 'object')
    .map(([, value]) => String(value))
    .map((value) => (value.length > SHORT || value.includes('\n') ? `${value.slice(0, SHORT).split('\n', 1)[0] ?? ''}…` : value));
  return [text(used, 'action')?.replaceAll('_', ' '), ...rest].filter((part) => part !== undefined && part !== '').join(' ');
}

/** What must be seen after a write, in words. */
export function expectationWords(expectation: Facts | undefined): string {
  if (!expectation) return 'its effect must be observed';
  const kind = text(expectation, 'expect') ?? '';
  const rest = Object.entries(expectation)
    .filter(([key, value]) => key !== 'expect' && key !== 'hash' && typeof value !== 'object')
    .map(([, value]) => String(value));
  return [kind.replaceAll('_', ' '), ...rest].join(' ').trim();
}

/** A rule's or a code's name, readable. */
export function ruleWords(rule: string): string {
  return rule.replaceAll('_', ' ');
}
