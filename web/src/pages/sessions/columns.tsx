// A session in the list: its columns on a wide screen, its card on a phone.

import { Anchor, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../api/client';
import { compact, count, duration, money } from '../../lib/format';
import { writeMark } from '../../lib/writes';
import { isOpen, StatusBadge, statusWords } from '../../ui/Status';
import type { Column } from '../../ui/Table';
import { Ago, Elapsed } from '../../ui/Time';
import { Marks } from './Marks';

type Summary = Schemas['SessionSummary'];

function seconds(session: Summary): number | undefined {
  if (!session.started_at || !session.completed_at) return undefined;
  return (Date.parse(session.completed_at) - Date.parse(session.started_at)) / 1000;
}

function Took({ session }: { session: Summary }) {
  if (session.started_at && isOpen(session.status)) return <Elapsed from={session.started_at} />;
  return <span className="nowrap">{duration(seconds(session))}</span>;
}

/** What it is a run of: the alert's type, or a chat. */
function typeOf(session: Summary): string {
  return session.alert_type ?? (session.kind === 'chat' ? 'chat' : session.chain);
}

function Tokens({ usage }: { usage: Summary['usage'] }) {
  const all = usage.input_tokens + usage.output_tokens;
  if (all === 0) return <span className="dim">–</span>;
  return <span title={`${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out, in ${count(usage.calls)} calls, as reported by the provider`}>{compact(all)}</span>;
}

export const COLUMNS: readonly Column<Summary>[] = [
  { key: 'status', title: 'Status', sortable: true, width: 170, value: (row) => statusWords(row.status), render: (row) => <StatusBadge status={row.status} /> },
  {
    key: 'title', title: 'Session', sortable: true, value: (row) => row.title,
    render: (row) => (
      <div style={{ minWidth: 200 }}>
        <Anchor component={Link} size="sm" fw={550} lineClamp={1} c="var(--mantine-color-text)" to={`/sessions/${row.id}`}>{row.title}</Anchor>
        {(row.error ?? row.answer) && <Text size="xs" c="dimmed" lineClamp={1}>{row.error ?? row.answer}</Text>}
      </div>
    ),
  },
  {
    key: 'marks', title: 'What happened', value: (row) => [writeMark(row)?.words ?? '0 writes', `${row.refusals} refused`, `${row.open_holds} waiting`].join(', '),
    render: (row) => <Group gap={4} wrap="nowrap"><Marks session={row} /></Group>,
  },
  { key: 'alert_type', title: 'Type', value: typeOf, render: (row) => row.alert_type ?? <span className="dim">{typeOf(row)}</span> },
  { key: 'severity', title: 'Severity', value: (row) => row.severity, render: (row) => row.severity ?? <span className="dim">–</span> },
  { key: 'chain', title: 'Chain', hidden: true, value: (row) => row.chain, render: (row) => row.chain },
  { key: 'owner', title: 'Owner', hidden: true, value: (row) => row.owner, render: (row) => row.owner ?? <span className="dim">{row.channel}</span> },
  { key: 'tokens', title: 'Tokens', align: 'right', value: ({ usage }) => usage.input_tokens + usage.output_tokens, render: ({ usage }) => <Tokens usage={usage} /> },
  { key: 'cost', title: 'Cost', align: 'right', value: ({ usage }) => usage.cost, render: ({ usage }) => <span title="In dollars, where prices are configured.">{money(usage.cost)}</span> },
  { key: 'duration', title: 'Duration', sortable: true, align: 'right', value: seconds, render: (row) => <Took session={row} /> },
  { key: 'created_at', title: 'Started', sortable: true, align: 'right', value: (row) => row.created_at, render: (row) => <Ago at={row.created_at} /> },
  { key: 'last_interaction_at', title: 'Last change', sortable: true, align: 'right', hidden: true, value: (row) => row.last_interaction_at, render: (row) => <Ago at={row.last_interaction_at} /> },
];

/** The same on a phone: where it stands and when, what it is, what happened. */
export function SessionCard({ session }: { session: Summary }) {
  const { usage } = session;
  const words = [typeOf(session), session.severity ?? undefined, usage.calls > 0 ? `${compact(usage.input_tokens + usage.output_tokens)} tokens` : undefined];
  return (
    <div className="session-card">
      <Group justify="space-between" wrap="nowrap" gap={8}>
        <StatusBadge status={session.status} />
        <Text size="xs" c="dimmed"><Took session={session} /> · <Ago at={session.created_at} /></Text>
      </Group>
      <Anchor component={Link} size="sm" fw={550} lineClamp={2} c="var(--mantine-color-text)" to={`/sessions/${session.id}`}>{session.title}</Anchor>
      <Text size="xs" c="dimmed" lineClamp={1}>{words.filter((each) => each !== undefined).join(' · ')}</Text>
      <Group gap={4}><Marks session={session} /></Group>
    </div>
  );
}
