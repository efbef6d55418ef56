import type { Schemas } from '../api/client';
import type { Tone } from '../theme';
import type { IconName } from './icons';
import { ToneBadge } from './Tone';

type Status = Schemas['Status'];

const LOOKS: Record<Status, { tone: Tone; words: string; icon?: IconName; title: string }> = {
  pending: { tone: 'plain', words: 'queued', icon: 'clock', title: 'Waits for a free worker.' },
  in_progress: { tone: 'plain', words: 'running', icon: 'running', title: 'An agent is at work.' },
  held: { tone: 'waiting', words: 'waiting for approval', title: 'A write waits for a human.' },
  cancelling: { tone: 'plain', words: 'cancelling', icon: 'stop', title: 'Was asked to stop and stops at the next safe place.' },
  completed: { tone: 'plain', words: 'done', icon: 'check', title: 'Ended with an answer.' },
  unverified: { tone: 'failed', words: 'not verified', title: 'Something was written, and what was expected afterwards was not seen.' },
  failed: { tone: 'failed', words: 'failed', title: 'Ended without what it was asked for.' },
  cancelled: { tone: 'plain', words: 'cancelled', icon: 'stop', title: 'Somebody stopped it.' },
  timed_out: { tone: 'failed', words: 'timed out', icon: 'clock', title: 'Took longer than it may.' },
};

/** The words for a status, without a badge. */
export function statusWords(status: Status): string {
  return LOOKS[status].words;
}

/** Where a session, a stage or an agent stands. Merely done is grey: green is for what was verified. */
export function StatusBadge({ status }: { status: Status }) {
  const look = LOOKS[status];
  return (
    <ToneBadge tone={look.tone} title={look.title} {...(look.icon && { icon: look.icon })}>
      {look.words}
    </ToneBadge>
  );
}

/** Whether it still goes on. */
export function isOpen(status: Status): boolean {
  return status === 'pending' || status === 'in_progress' || status === 'held' || status === 'cancelling';
}
