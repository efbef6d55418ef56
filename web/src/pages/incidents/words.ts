// What an incident is, in words: how bad, where it stands, what is being done, what happened.

import type { Schemas } from '../../api/client';
import { plural } from '../../lib/format';
import type { Tone } from '../../theme';
import type { IconName } from '../../ui/icons';
import { statusWords } from '../../ui/Status';

type Incident = Schemas['IncidentSummary'];
type Event = Schemas['IncidentEvent'];

export const SEVERITY: Record<Schemas['Severity'], { tone: Tone; icon: IconName; words: string }> = {
  critical: { tone: 'failed', icon: 'failed', words: 'critical' },
  warning: { tone: 'waiting', icon: 'bell', words: 'warning' },
  info: { tone: 'plain', icon: 'plain', words: 'info' },
};

export const STATUS: Record<Schemas['IncidentStatus'], { words: string; title: string }> = {
  open: { words: 'open', title: 'Nobody has acknowledged it.' },
  acknowledged: { words: 'acknowledged', title: 'A person is looking after it.' },
  mitigated: { words: 'mitigated', title: 'An action was verified. It is resolved when the alert is.' },
  resolved: { words: 'resolved', title: 'The alert was resolved, or a person said so.' },
};

/** Where it stands. What a person called resolved while its alert fires says both. */
export function standingWords({ status, firing }: Pick<Incident, 'status' | 'firing'>): string {
  return status === 'resolved' && firing ? 'resolved, alert still firing' : STATUS[status].words;
}

/** What is being done about it, in a few words. */
export function doingWords({ waiting, session }: Pick<Incident, 'waiting' | 'session'>): string {
  if (waiting) return 'No session started yet';
  if (!session) return 'No session';
  if (session.open_holds > 0) return session.open_holds === 1 ? 'Approval required' : `${session.open_holds} approvals required`;
  switch (session.status) {
    case 'pending': return 'Queued';
    case 'in_progress': return 'Being investigated';
    default: return `Session ${statusWords(session.status)}`;
  }
}

export function doingTone({ waiting, session }: Pick<Incident, 'waiting' | 'session'>): Tone {
  if (waiting || !session) return 'plain';
  if (session.open_holds > 0 || session.status === 'held') return 'waiting';
  return session.status === 'failed' || session.status === 'unverified' || session.status === 'timed_out' ? 'failed' : 'plain';
}

const HAPPENED: Record<Schemas['IncidentEventKind'], string> = {
  opened: 'Alert fired',
  repeated: 'Alert repeated',
  reopened: 'Reopened',
  session_started: 'Session started',
  acknowledged: 'Acknowledged',
  mitigated: 'Mitigated: an action was verified',
  alert_resolved: 'Alert resolved',
  resolved: 'Resolved',
  holds_withdrawn: 'Approvals withdrawn',
};

/** What happened, with who did it and how often. */
export function eventWords({ kind, count, by }: Pick<Event, 'kind' | 'count' | 'by'>): string {
  const often = count > 1 ? ` ${plural(count, 'time')}` : '';
  return `${HAPPENED[kind]}${often}${by ? ` by ${by}` : ''}`;
}
