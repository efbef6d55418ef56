// What Interlock did to a resource: reads and writes, each with what came of it.

import { Anchor, SegmentedControl, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { shortId } from '../../lib/format';
import { Mono } from '../../ui/Code';
import { Empty, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago, Elapsed } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { meaning } from './meaning';

type Call = Schemas['ResourceCall'];

const COLUMNS: Column<Call>[] = [
  { key: 'at', title: 'Time', value: ({ started_at }) => started_at, render: ({ started_at }) => <Ago at={started_at} /> },
  {
    key: 'kind',
    title: 'Outcome',
    value: (call) => meaning(call).words,
    render: (call) => {
      const { tone, words, why } = meaning(call);
      return <ToneBadge tone={tone} title={why}>{words}</ToneBadge>;
    },
  },
  {
    key: 'call',
    title: 'Call',
    value: ({ tool, action }) => [tool, action].filter(Boolean).join(' '),
    render: ({ tool, action, command }) => (
      <>
        <span className="nowrap"><Mono>{[tool, action].filter(Boolean).join(' ')}</Mono></span>
        {command ? <Text size="xs" c="dimmed" className="mono" miw={200}>{command}</Text> : null}
      </>
    ),
  },
  { key: 'summary', title: 'Summary', value: ({ summary }) => summary, render: ({ summary }) => <Text size="sm" miw={200}>{summary}</Text> },
  {
    key: 'took',
    title: 'Duration',
    align: 'right',
    value: ({ started_at, finished_at }) => (finished_at ? (Date.parse(finished_at) - Date.parse(started_at)) / 1000 : null),
    render: ({ started_at, finished_at }) => (finished_at ? <Elapsed from={started_at} to={finished_at} /> : <span className="dim">–</span>),
  },
  { key: 'by', title: 'Approved by', value: ({ approved_by }) => approved_by, render: ({ approved_by }) => approved_by ?? <span className="dim">–</span> },
  {
    key: 'session',
    title: 'Session',
    value: ({ session }) => session,
    render: ({ session }) => (
      <Anchor size="sm" title={session} renderRoot={(props) => <Link to="/sessions/$id" params={{ id: session }} {...props} />}>
        {shortId(session)}
      </Anchor>
    ),
  },
];

export function History({ id }: { id: string }) {
  const [only, setOnly] = useState('all');
  const { data, error, refetch } = useApi<Schemas['ResourceHistory']>(
    ['resource-history', id],
    `/resources/${encodeURIComponent(id)}/history`,
    { limit: 50 },
  );
  if (error) return <Failed error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="the history" />;
  const rows = only === 'all' ? data.calls : data.calls.filter(({ kind }) => (kind === 'write') === (only === 'write'));
  return (
    <DataTable
      name="resource-history"
      label="Interlock history"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ call, permit }) => `${call}:${permit}`}
      sort={{ key: 'at', order: 'desc' }}
      tools={
        <SegmentedControl
          size="xs" aria-label="Which calls" value={only} onChange={setOnly}
          data={[{ value: 'all', label: 'All' }, { value: 'read', label: 'Reads' }, { value: 'write', label: 'Writes' }]}
        />
      }
      empty={
        <Empty title={data.calls.length === 0 ? 'No calls yet' : 'No calls of this type'}>
          Every read and write of Interlock on this resource is listed here, with its session and its outcome.
        </Empty>
      }
    />
  );
}
