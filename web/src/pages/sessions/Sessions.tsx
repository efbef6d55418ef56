import { Anchor, Group, Pagination, Select, Text } from '@mantine/core';
import { keepPreviousData } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useRef, useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi, useMay } from '../../api/hooks';
import { count } from '../../lib/format';
import { useUrl, writeUrl } from '../../lib/url';
import { Page } from '../../ui/Page';
import { useShortcut } from '../../ui/shortcuts';
import { Empty, Failed, Loading } from '../../ui/States';
import { DataTable } from '../../ui/Table';
import { BulkBar } from './Bulk';
import { COLUMNS, SessionCard } from './columns';
import { Filters } from './Filters';
import { filterCount, FIRST_SIZE, LIST, listQuery } from './query';
import { Views } from './Views';

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No session matches">Clear the filters, or choose the view “All”.</Empty>;
  const alert = [
    `curl -X POST ${window.location.origin}/api/v1/alerts \\`,
    "  -H 'authorization: Bearer '$INTERLOCK_TOKEN \\",
    "  -H 'content-type: application/json' \\",
    `  -d '{"data": {"summary": "jellyfin does not answer"}}'`,
  ].join('\n');
  return (
    <Empty title="No sessions yet" command={alert}>
      A session starts with an alert or a question. Send one alert with a token from <Anchor component={Link} size="sm" to="/settings/tokens">your settings</Anchor>, or{' '}
      <Anchor component={Link} size="sm" to="/chat">ask something</Anchor>.
    </Empty>
  );
}

export function Sessions() {
  const [url, setUrl] = useUrl(LIST);
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
      <Views query={writeUrl('', LIST, url)} change={setUrl} />
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
          card={(row) => <SessionCard session={row} />}
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
              onChange={(value) => { setUrl({ page_size: value ?? undefined, page: undefined }); }}
            />
          </Group>
          {total > size && (
            <Pagination
              size="sm" total={Math.ceil(total / size)} value={page} onChange={(value) => { setUrl({ page: String(value) }, true); }}
              getControlProps={(control) => ({ 'aria-label': `${control} page` })}
            />
          )}
        </Group>
      )}
    </Page>
  );
}
