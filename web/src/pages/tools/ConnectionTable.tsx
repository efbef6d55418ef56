// The connections that tools run over, and what to do about those that do not work.

import { Box, Button, Group, Stack, Text, Title } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { plural } from '../../lib/format';
import { CodeBlock, Mono } from '../../ui/Code';
import { Icon } from '../../ui/icons';
import { Empty, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { useConnections } from '../infrastructure/Connections';
import { remedy } from './remedy';

type Connection = Schemas['Connection'];

const COLUMNS: Column<Connection>[] = [
  { key: 'name', title: 'Name', value: ({ name }) => name, render: ({ name }) => <Text size="sm" fw={600}>{name}</Text> },
  { key: 'kind', title: 'Type', value: ({ kind }) => kind, render: ({ kind }) => kind },
  {
    key: 'ok',
    title: 'Health',
    value: ({ ok }) => (ok ? 'OK' : 'failed'),
    render: ({ ok }) => (ok ? <ToneBadge tone="plain" icon="check">OK</ToneBadge> : <ToneBadge tone="failed">failed</ToneBadge>),
  },
  { key: 'resources', title: 'Resources', align: 'right', value: ({ resources }) => resources, render: ({ resources }) => resources },
  {
    key: 'problem',
    title: 'Problem, and what to do',
    value: ({ problem }) => problem,
    render: ({ ok, problem }) =>
      ok ? (
        <span className="dim">–</span>
      ) : (
        <>
          <Text size="sm" miw={220}>{problem ?? 'No reason given.'}</Text>
          <Text size="sm" c="dimmed">What to do: {remedy(problem)}</Text>
        </>
      ),
  },
];

export function ConnectionTable() {
  const { data, error, refetch, isFetching } = useConnections();
  const broken = data?.connections.filter(({ ok }) => !ok).length ?? 0;
  return (
    <Stack gap="sm" component="section" aria-labelledby="connections">
      <Group justify="space-between">
        <Title order={2} size="h5" id="connections">Connections</Title>
        <Group gap="sm">
          {data && (
            <Text size="sm" c="dimmed">
              {broken === 0 ? `${plural(data.connections.length, 'connection')}, all OK` : `${broken} of ${plural(data.connections.length, 'connection')} failed`}
              , last checked <Ago at={data.taken_at} />
            </Text>
          )}
          <Button size="xs" variant="default" leftSection={<Icon name="refresh" size={14} />} loading={isFetching} onClick={() => void refetch()}>
            Refresh
          </Button>
        </Group>
      </Group>
      {error ? (
        <Failed error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading what="connections" />
      ) : (
        <>
          <DataTable
            name="connections"
            label="Connections"
            columns={COLUMNS}
            rows={data.connections}
            rowKey={({ name }) => name}
            empty={
              <Empty title="No connections" command="interlock doctor">
                Add a connection to the configuration under <Mono>infrastructure</Mono>.
              </Empty>
            }
          />
          {broken > 0 && <Box maw={360}><CodeBlock text="interlock doctor" label="command" /></Box>}
        </>
      )}
    </Stack>
  );
}
