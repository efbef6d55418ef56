// The models: how they fare and what they cost.

import { Group, Text } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { count, duration, money } from '../../lib/format';
import { Mono } from '../../ui/Code';
import { Page } from '../../ui/Page';
import { Empty, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { ToneBadge } from '../../ui/Tone';
import { FailedCount } from '../tools/FailedCount';
import { UsageReport } from './UsageReport';

type Model = Schemas['Model'];

const COLUMNS: Column<Model>[] = [
  {
    key: 'name',
    title: 'Name',
    value: ({ name }) => name,
    render: (model) => (
      <Group gap="sm" wrap="nowrap">
        <Text size="sm" fw={600}>{model.name}</Text>
        {model.default && <ToneBadge tone="plain" icon="check" title="Is asked where nothing else is said.">default</ToneBadge>}
      </Group>
    ),
  },
  { key: 'model', title: 'Model', value: ({ model }) => model, render: ({ model }) => (model === '' ? <span className="dim">–</span> : <span className="nowrap"><Mono>{model}</Mono></span>) },
  { key: 'provider', title: 'Provider', value: ({ provider }) => provider, render: ({ provider }) => provider },
  { key: 'calls', title: 'Calls, 30 days', align: 'right', value: ({ calls }) => calls, render: ({ calls }) => count(calls) },
  { key: 'failed', title: 'Failed', align: 'right', value: ({ failed }) => failed, render: ({ failed, calls }) => <FailedCount failed={failed} calls={calls} /> },
  { key: 'in', title: 'Tokens in', align: 'right', value: (model) => model.input_tokens, render: (model) => count(model.input_tokens) },
  { key: 'out', title: 'Tokens out', align: 'right', value: (model) => model.output_tokens, render: (model) => count(model.output_tokens) },
  { key: 'cost', title: 'Cost', align: 'right', value: ({ cost }) => cost, render: ({ cost }) => money(cost) },
  { key: 'p50', title: 'Median', align: 'right', value: (model) => model.seconds_p50, render: (model) => <span className="nowrap">{duration(model.seconds_p50)}</span> },
  { key: 'p95', title: 'p95', align: 'right', value: (model) => model.seconds_p95, render: (model) => <span className="nowrap">{duration(model.seconds_p95)}</span> },
];

export function Models() {
  const { data, error, refetch } = useApi<Schemas['ModelList']>(['models'], '/models', undefined, { refetchInterval: 60_000 });
  return (
    <Page title="Models">
      {error ? (
        <Failed error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading what="models" />
      ) : (
        <DataTable
          name="models"
          label="Models"
          columns={COLUMNS}
          rows={data.models}
          rowKey={({ name }) => name}
          sort={{ key: 'calls', order: 'desc' }}
          empty={
            <Empty title="No model is configured" command="interlock model list">
              Add one to the configuration under <Mono>models</Mono>; without one nothing can be asked.
            </Empty>
          }
        />
      )}
      <UsageReport />
    </Page>
  );
}
