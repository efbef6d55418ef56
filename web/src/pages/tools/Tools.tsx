// The tools: what each may do to the world, whether something can run it, how it fared in the last day.

import { Drawer, Group, SegmentedControl, Text, TextInput } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { count, duration } from '../../lib/format';
import { useUrl } from '../../lib/url';
import { Mono } from '../../ui/Code';
import { Page } from '../../ui/Page';
import { Empty, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { ConnectionTable } from './ConnectionTable';
import { FailedCount } from './FailedCount';
import { KindBadge } from './KindBadge';
import { ToolDetail } from './ToolDetail';

type Tool = Schemas['Tool'];

const DEFAULTS = { tool: '', search: '', kind: 'all' };

const COLUMNS: Column<Tool>[] = [
  {
    key: 'name',
    title: 'Tool',
    value: ({ name }) => name,
    render: ({ name, description }) => (
      <>
        <span className="nowrap"><Mono>{name}</Mono></span>
        <Text size="xs" c="dimmed" lineClamp={1} maw={420}>{description}</Text>
      </>
    ),
  },
  { key: 'category', title: 'Category', value: ({ category }) => category, render: ({ category }) => category ?? <span className="dim">–</span> },
  { key: 'kind', title: 'Effect', value: ({ kind }) => kind, render: ({ kind }) => <KindBadge kind={kind} /> },
  {
    key: 'available',
    title: 'Available',
    value: ({ available }) => (available ? 'yes' : 'no'),
    render: ({ available }) => (available ? 'yes' : <ToneBadge tone="plain" icon="cross" title="No working connection can run this tool.">no</ToneBadge>),
  },
  { key: 'calls', title: 'Calls\u00a0(24\u00a0h)', align: 'right', value: ({ calls }) => calls, render: ({ calls }) => count(calls) },
  { key: 'failed', title: 'Failed', align: 'right', value: ({ failed }) => failed, render: ({ failed, calls }) => <FailedCount failed={failed} calls={calls} /> },
  { key: 'p50', title: 'Median', align: 'right', value: ({ seconds_p50 }) => seconds_p50, render: ({ seconds_p50 }) => <span className="nowrap">{duration(seconds_p50)}</span> },
  { key: 'p95', title: 'p95', align: 'right', value: ({ seconds_p95 }) => seconds_p95, render: ({ seconds_p95 }) => <span className="nowrap">{duration(seconds_p95)}</span> },
  { key: 'last', title: 'Last call', value: ({ last_at }) => last_at, render: ({ last_at }) => <Ago at={last_at} /> },
];

export function Tools() {
  const [url, setUrl] = useUrl(DEFAULTS);
  const { data, error, refetch } = useApi<Schemas['ToolList']>(['tools'], '/tools', undefined, { refetchInterval: 30_000 });
  const chosen = data?.tools.find(({ name }) => name === url.tool);
  const wanted = url.search.toLowerCase();
  const rows = (data?.tools ?? []).filter(
    (tool) =>
      (url.kind === 'all' || (url.kind === 'write' ? tool.kind === 'write' : tool.kind !== 'write')) &&
      `${tool.name} ${tool.category ?? ''} ${tool.description} ${tool.actions.map(({ name }) => name).join(' ')}`.toLowerCase().includes(wanted),
  );
  return (
    <Page title="Tools">
      {error ? (
        <Failed error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading what="tools" lines={8} />
      ) : (
        <DataTable
          name="tools"
          label="Tools"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ name }) => name}
          sort={{ key: 'name', order: 'asc' }}
          onOpen={({ name }) => { setUrl({ tool: name }); }}
          tools={
            <Group gap="sm">
              <TextInput
                size="xs" w={220} aria-label="Filter the tools" placeholder="name, action, words…"
                value={url.search} onChange={(event) => { setUrl({ search: event.currentTarget.value }); }}
              />
              <SegmentedControl
                size="xs" aria-label="Which tools" value={url.kind} onChange={(kind) => { setUrl({ kind }); }}
                data={[{ value: 'all', label: 'All' }, { value: 'read', label: 'Only read' }, { value: 'write', label: 'Can write' }]}
              />
            </Group>
          }
          empty={<Empty title="No tool matches">Remove a word from the filter.</Empty>}
        />
      )}
      <ConnectionTable />
      <Drawer
        opened={chosen !== undefined}
        onClose={() => { setUrl({ tool: '' }); }}
        position="right"
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
        title={chosen && <Group gap="sm"><Mono>{chosen.name}</Mono><KindBadge kind={chosen.kind} /></Group>}
      >
        {chosen && <ToolDetail tool={chosen} />}
      </Drawer>
    </Page>
  );
}
