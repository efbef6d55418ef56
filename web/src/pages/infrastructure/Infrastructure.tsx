// Everything that was discovered: as a table, under what it lives on, or drawn as a graph.

import { Button, Group, SegmentedControl, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useRef } from 'react';

import { api, type ApiError, type Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { plural } from '../../lib/format';
import { useUrl } from '../../lib/url';
import { Mono } from '../../ui/Code';
import { Icon } from '../../ui/icons';
import { Page } from '../../ui/Page';
import { useShortcut } from '../../ui/shortcuts';
import { Empty, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { ConnectionStrip } from './Connections';
import { Graph, GraphList } from './Graph';
import { Grouped } from './Grouped';
import { ResourceLink } from './ResourceLink';
import { choices, kindWords, matches, type Resource } from './resources';
import { StateMark } from './StateMark';

const DEFAULTS = { view: 'table', search: '', kind: '', state: '', source: '', group: 'no' };

const asText = ({ value, count }: { value: string; count: number }) => ({ value, label: `${value} (${count})` });

export function Infrastructure() {
  const [url, setUrl] = useUrl(DEFAULTS);
  const resources = useApi<Schemas['ResourceList']>(['resources'], '/resources', undefined, { refetchInterval: 30_000 });
  const topology = useApi<Schemas['Topology']>(['topology'], '/topology', undefined, { enabled: url.view === 'graph' });
  const queries = useQueryClient();
  const look = useMutation<Schemas['ResourceList'], ApiError>({
    mutationFn: () => api.get<Schemas['ResourceList']>('/resources', { refresh: true }),
    onSuccess: (found) => {
      queries.setQueryData(['resources'], found);
      void queries.invalidateQueries({ queryKey: ['topology'] });
      void queries.invalidateQueries({ queryKey: ['connections'] });
    },
  });
  const searchBox = useRef<HTMLInputElement>(null);
  useShortcut('f', 'Filter the resources', (event) => {
    event.preventDefault();
    searchBox.current?.focus();
  });
  useShortcut('v', 'Table or graph', () => {
    setUrl({ view: url.view === 'graph' ? 'table' : 'graph' });
  });

  const all = useMemo(() => resources.data?.resources ?? [], [resources.data]);
  const kept = useMemo(
    () => all.filter((resource) => matches(resource, { search: url.search, kind: url.kind, state: url.state, source: url.source })),
    [all, url.search, url.kind, url.state, url.source],
  );
  const filtered = url.search !== '' || url.kind !== '' || url.state !== '' || url.source !== '';

  return (
    <Page
      title="Infrastructure"
      actions={
        <Group gap="sm">
          <SegmentedControl
            size="xs"
            aria-label="View"
            value={url.view === 'graph' ? 'graph' : 'table'}
            onChange={(view) => { setUrl({ view }); }}
            data={[{ value: 'table', label: 'Table' }, { value: 'graph', label: 'Graph' }]}
          />
          <Button size="xs" variant="default" leftSection={<Icon name="refresh" size={14} />} loading={look.isPending} onClick={() => { look.mutate(); }}>
            Refresh
          </Button>
        </Group>
      }
    >
      <ConnectionStrip />
      {look.error && <Failed error={look.error} />}
      <Group gap="sm" wrap="wrap" align="flex-end">
        <TextInput
          ref={searchBox} size="xs" w={240} label="Filter" placeholder="name, id, address…"
          value={url.search} onChange={(event) => { setUrl({ search: event.currentTarget.value }); }}
        />
        <Select
          size="xs" w={170} label="Type" placeholder="all types" clearable searchable
          value={url.kind || null} onChange={(kind) => { setUrl({ kind: kind ?? '' }); }}
          data={choices(all, ({ kind }) => kind).map(({ value, count }) => ({ value, label: `${kindWords(value)} (${count})` }))}
        />
        <Select
          size="xs" w={140} label="State" placeholder="all states" clearable
          value={url.state || null} onChange={(state) => { setUrl({ state: state ?? '' }); }}
          data={choices(all, ({ state }) => state ?? 'unknown').map(asText)}
        />
        <Select
          size="xs" w={140} label="Source" placeholder="all sources" clearable
          value={url.source || null} onChange={(source) => { setUrl({ source: source ?? '' }); }}
          data={choices(all, ({ source }) => source).map(asText)}
        />
        {url.view !== 'graph' && (
          <Switch
            size="xs" mb={6} label="Group by host" checked={url.group === 'yes'}
            onChange={(event) => { setUrl({ group: event.currentTarget.checked ? 'yes' : 'no' }); }}
          />
        )}
        {resources.data && (
          <Text size="xs" c="dimmed" mb={6}>
            {filtered ? `${kept.length} of ${plural(all.length, 'resource')}` : plural(all.length, 'resource')}, last checked{' '}
            <Ago at={resources.data.taken_at} />
          </Text>
        )}
      </Group>
      {resources.error ? (
        <Failed error={resources.error} retry={() => void resources.refetch()} />
      ) : !resources.data ? (
        <Loading what="resources" lines={8} />
      ) : all.length === 0 ? (
        <Nothing />
      ) : url.view === 'graph' ? (
        topology.error ? (
          <Failed error={topology.error} retry={() => void topology.refetch()} />
        ) : topology.data ? (
          <Drawn topology={topology.data} kept={filtered ? new Set(kept.map(({ id }) => id)) : undefined} />
        ) : (
          <Loading what="the graph" lines={8} />
        )
      ) : (
        <Listed kept={kept} all={all} grouped={url.group === 'yes'} />
      )}
    </Page>
  );
}

function Nothing() {
  return (
    <Empty title="No resources yet" command="interlock doctor">
      Resources come from connections: Proxmox VE, Docker, Kubernetes, hosts. Add one to the configuration under{' '}
      <Mono>infrastructure</Mono>. <Mono>interlock doctor</Mono> says which of them work.
    </Empty>
  );
}

function Drawn({ topology, kept }: { topology: Schemas['Topology']; kept: ReadonlySet<string> | undefined }) {
  return (
    <Stack gap="sm">
      <Graph topology={topology} kept={kept} />
      <details>
        <summary>Show as a list</summary>
        <GraphList topology={topology} />
      </details>
    </Stack>
  );
}

function Listed({ kept, all, grouped }: { kept: readonly Resource[]; all: readonly Resource[]; grouped: boolean }) {
  const navigate = useNavigate();
  const names = useMemo(() => new Map(all.map(({ id, name }) => [id, name])), [all]);
  const open = ({ id }: Resource) => {
    void navigate({ to: '/infrastructure/$id', params: { id } });
  };
  const columns: Column<Resource>[] = [
    { key: 'name', title: 'Name', value: ({ name }) => name, render: ({ id, name }) => <ResourceLink id={id} name={name} strong /> },
    { key: 'kind', title: 'Type', value: ({ kind }) => kindWords(kind), render: ({ kind }) => kindWords(kind) },
    { key: 'state', title: 'State', value: ({ state }) => state ?? 'unknown', render: ({ state }) => <StateMark state={state} /> },
    {
      key: 'parent',
      title: 'On',
      value: ({ parent }) => (parent === null || parent === undefined ? null : (names.get(parent) ?? parent)),
      render: ({ parent }) =>
        parent === null || parent === undefined ? <span className="dim">–</span> : <ResourceLink id={parent} name={names.get(parent) ?? parent} />,
    },
    { key: 'id', title: 'Id', value: ({ id }) => id, render: ({ id }) => <span className="nowrap"><Mono>{id}</Mono></span> },
    { key: 'source', title: 'Source', value: ({ source }) => source, render: ({ source }) => source },
    {
      key: 'aliases',
      title: 'Also known as',
      hidden: true,
      value: ({ aliases }) => aliases.join(' '),
      render: ({ aliases }) => <Mono>{aliases.map((alias) => (alias.length > 24 ? `${alias.slice(0, 12)}…` : alias)).join(', ')}</Mono>,
    },
  ];
  const nothing = <Empty title="No resource matches">Remove a word from the filter, or choose another type or state.</Empty>;
  if (grouped) return kept.length === 0 ? nothing : <Grouped kept={kept} all={all} onOpen={open} />;
  return (
    <DataTable
      name="resources"
      label="Resources"
      columns={columns}
      rows={kept}
      rowKey={({ id }) => id}
      sort={{ key: 'name', order: 'asc' }}
      onOpen={open}
      empty={nothing}
    />
  );
}
