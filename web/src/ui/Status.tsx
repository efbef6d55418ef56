import type { Schemas } from '../api/client';
import type { Tone } from '../theme';
import type { IconName } from './icons';
import { ToneBadge } from './Tone';

type Status = Schemas['Status'];

const LOOKS: Record<Status, { tone: Tone; words: string; icon?: IconName; title: string }> = {
  pending: { tone: 'plain', words: 'queued', icon: 'clock', title: 'Waiting for a free worker.' },
  in_progress: { tone: 'plain', words: 'running', icon: 'running', title: 'In progress.' },
  held: { tone: 'waiting', words: 'waiting for approval', title: 'A write is waiting for approval.' },
  cancelling: { tone: 'plain', words: 'cancelling', icon: 'stop', title: 'Stopping; ends after the current step.' },
  completed: { tone: 'plain', words: 'done', icon: 'check', title: 'Ended with an answer.' },
  unverified: { tone: 'failed', words: 'not verified', title: 'A write ran, but the expected state was not observed afterwards.' },
  failed: { tone: 'failed', words: 'failed', title: 'Ended with an error.' },
  cancelled: { tone: 'plain', words: 'cancelled', icon: 'stop', title: 'Stopped by a person.' },
  timed_out: { tone: 'failed', words: 'timed out', icon: 'clock', title: 'Reached its timeout.' },
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
