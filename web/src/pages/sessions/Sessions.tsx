import { Anchor, Group, Pagination, Select, Text } from '@mantine/core';
import { keepPreviousData } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useRef, useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi, useMay } from '../../api/hooks';
import { count, duration } from '../../lib/format';
import { useUrlState } from '../../lib/url';
import { Page } from '../../ui/Page';
import { useShortcut } from '../../ui/shortcuts';
import { Empty, Failed, Loading } from '../../ui/States';
import { isOpen, StatusBadge, statusWords } from '../../ui/Status';
import { type Column, DataTable } from '../../ui/Table';
import { Ago, Elapsed } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { BulkBar } from './Bulk';
import { Filters } from './Filters';
import { filterCount, FIRST_SIZE, listQuery } from './query';
import { Views } from './Views';

type Summary = Schemas['SessionSummary'];

function seconds(session: Summary): number | undefined {
  if (!session.started_at || !session.completed_at) return undefined;
  return (Date.parse(session.completed_at) - Date.parse(session.started_at)) / 1000;
}

const COLUMNS: readonly Column<Summary>[] = [
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
    key: 'marks', title: 'What happened', value: (row) => `${row.writes} writes, ${row.refusals} refused, ${row.open_holds} waiting`,
    render: (row) => (
      <Group gap={4} wrap="nowrap">
        {row.open_holds > 0 && <ToneBadge tone="waiting">{row.open_holds} waiting</ToneBadge>}
        {row.writes > 0 && <ToneBadge tone="write">{row.writes} {row.writes === 1 ? 'write' : 'writes'}</ToneBadge>}
        {row.refusals > 0 && <ToneBadge tone="refused">{row.refusals} refused</ToneBadge>}
      </Group>
    ),
  },
  { key: 'alert_type', title: 'Alert type', value: (row) => row.alert_type, render: (row) => row.alert_type ?? <span className="dim">{row.kind}</span> },
  { key: 'chain', title: 'Chain', hidden: true, value: (row) => row.chain, render: (row) => row.chain },
  { key: 'owner', title: 'Owner', value: (row) => row.owner, render: (row) => row.owner ?? <span className="dim">{row.channel}</span> },
  {
    key: 'duration', title: 'Took', sortable: true, align: 'right', value: seconds,
    render: (row) => (row.started_at && isOpen(row.status) ? <Elapsed from={row.started_at} /> : <span className="nowrap">{duration(seconds(row))}</span>),
  },
  { key: 'created_at', title: 'Began', sortable: true, align: 'right', value: (row) => row.created_at, render: (row) => <Ago at={row.created_at} /> },
  { key: 'last_interaction_at', title: 'Last change', sortable: true, align: 'right', hidden: true, value: (row) => row.last_interaction_at, render: (row) => <Ago at={row.last_interaction_at} /> },
];

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No session fits">Nothing fits these filters. Clear them, or choose the view “All”.</Empty>;
  const alert = [
    `curl -X POST ${window.location.origin}/api/v1/alerts \\`,
    "  -H 'authorization: Bearer '$INTERLOCK_TOKEN \\",
    "  -H 'content-type: application/json' \\",
    `  -d '{"data": {"summary": "jellyfin does not answer"}}'`,
  ].join('\n');
  return (
    <Empty title="No sessions yet" command={alert}>
      A session begins with an alert or with a question. Send one alert with a token from <Anchor component={Link} size="sm" to="/settings/tokens">your settings</Anchor>, or{' '}
      <Anchor component={Link} size="sm" to="/chat">ask something</Anchor>.
    </Empty>
  );
}

export function Sessions() {
  const [url, setUrl] = useUrlState();
  const navigate = useNavigate();
  const operate = useMay('operate');
  const box = useRef<HTMLInputElement>(null);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const query = listQuery(url);
  const list = useApi<Schemas['SessionList']>(['sessions', 'list'], '/sessions', query, { placeholderData: keepPreviousData });
  useShortcut('/', 'Search sessions', () => box.current?.focus());

  const rows = list.data?.sessions ?? [];
  const titles = useMemo(() => new Map((list.data?.sessions ?? []).map((row) => [row.id, row.title])), [list.data]);
  const size = list.data?.page_size ?? FIRST_SIZE;
  const total = list.data?.total ?? 0;
  const page = list.data?.page ?? 1;
  return (
    <Page title="Sessions" actions={<Text size="sm" c="dimmed" role="status">{list.data ? `${count(total)} ${total === 1 ? 'session' : 'sessions'}` : 'counting…'}</Text>}>
      <Views query={url.toString()} change={setUrl} />
      <Filters url={url} change={setUrl} box={box} />
      {list.isPending && <Loading what="sessions" lines={8} />}
      {list.isError && <Failed error={list.error} retry={() => void list.refetch()} />}
      {list.data && (
        <DataTable
          name="sessions" label="Sessions" columns={COLUMNS} rows={rows} rowKey={(row) => row.id}
          sort={{ key: String(query.sort), order: query.order === 'asc' ? 'asc' : 'desc' }}
          onSort={(sort) => { setUrl({ sort: sort.key, order: sort.order, page: undefined }); }}
          onOpen={(row) => void navigate({ to: '/sessions/$id', params: { id: row.id } })}
          {...(operate && { selected, onSelect: setSelected })}
          tools={operate && <BulkBar selected={selected} titles={titles} onDone={setSelected} />}
          empty={<Nothing filtered={filterCount(url) > 0} />}
        />
      )}
      {total > 0 && (
        <Group justify="space-between">
          <Group gap={8}>
            <Text size="sm" c="dimmed">{count((page - 1) * size + 1)}–{count(Math.min(total, page * size))} of {count(total)}</Text>
            <Select
              size="xs" w={110} aria-label="Sessions per page" allowDeselect={false} value={String(size)}
              data={['25', '50', '100'].map((value) => ({ value, label: `${value} a page` }))}
              onChange={(value) => { setUrl({ page_size: value === String(FIRST_SIZE) ? undefined : (value ?? undefined), page: undefined }); }}
            />
          </Group>
          {total > size && (
            <Pagination
              size="sm" total={Math.ceil(total / size)} value={page} onChange={(value) => { setUrl({ page: value === 1 ? undefined : String(value) }, true); }}
              getControlProps={(control) => ({ 'aria-label': `${control} page` })}
            />
          )}
        </Group>
      )}
    </Page>
  );
}
