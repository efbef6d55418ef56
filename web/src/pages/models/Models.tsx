// The models: how they fare and what they cost.

import { Group, Text } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { compact, count, duration, money } from '../../lib/format';
import { Mono } from '../../ui/Code';
import { Page } from '../../ui/Page';
import { Empty, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { FailedCount } from '../tools/FailedCount';
import { failureWords, healthOf } from './health';
import { UsageReport } from './UsageReport';

type Model = Schemas['Model'];

function Name({ model }: { model: Model }) {
  return (
    <div>
      <Group gap="sm" wrap="nowrap">
        <Text size="sm" fw={600} className="nowrap">{model.name}</Text>
        {model.default && <Text size="xs" c="dimmed" title="Used unless another model is chosen.">default</Text>}
      </Group>
      <Text size="xs" c="dimmed">{model.provider}{model.model !== '' && <> · <Mono>{model.model}</Mono></>}</Text>
    </div>
  );
}

/** How its last call ended, and when. */
function Doing({ model }: { model: Model }) {
  const { tone, words, at } = healthOf(model);
  return (
    <Group gap={6} wrap="nowrap">
      <ToneBadge tone={tone} icon={tone === 'failed' ? undefined : at === undefined ? 'plain' : 'check'} title={tone === 'failed' ? model.last_failure?.message : undefined}>{words}</ToneBadge>
      {at !== undefined && <Text size="xs" c="dimmed"><Ago at={at} /></Text>}
    </Group>
  );
}

function LastFailure({ model }: { model: Model }) {
  const { last_failure: failure } = model;
  if (!failure) return <span className="dim">none</span>;
  return (
    <div style={{ minWidth: 140 }}>
      <Text size="sm">{failureWords(failure.kind)}, <Ago at={failure.at} /></Text>
      <Text size="xs" c="dimmed" lineClamp={1} title={failure.message}>{failure.message}</Text>
    </div>
  );
}

function ModelCard({ model }: { model: Model }) {
  return (
    <div className="session-card">
      <Group justify="space-between" wrap="nowrap"><Name model={model} /><Doing model={model} /></Group>
      <Text size="xs" c="dimmed">
        {count(model.calls)} calls in 30 days · {compact(model.input_tokens + model.output_tokens)} tokens · cost {money(model.cost)} · median {duration(model.seconds_p50)}, p95 {duration(model.seconds_p95)}
      </Text>
      {model.last_failure && <Text size="xs" c="dimmed">last failure: {failureWords(model.last_failure.kind)}, <Ago at={model.last_failure.at} />. {model.last_failure.message}</Text>}
    </div>
  );
}

const COLUMNS: Column<Model>[] = [
  { key: 'name', title: 'Name', value: ({ name }) => name, render: (model) => <Name model={model} /> },
  { key: 'health', title: 'Last call', value: (model) => healthOf(model).words, render: (model) => <Doing model={model} /> },
  { key: 'model', title: 'Model', hidden: true, value: ({ model }) => model, render: ({ model }) => (model === '' ? <span className="dim">–</span> : <span className="nowrap"><Mono>{model}</Mono></span>) },
  { key: 'provider', title: 'Provider', hidden: true, value: ({ provider }) => provider, render: ({ provider }) => provider },
  { key: 'calls', title: 'Calls', align: 'right', value: ({ calls }) => calls, render: ({ calls }) => count(calls) },
  { key: 'failed', title: 'Failed', align: 'right', value: ({ failed }) => failed, render: ({ failed, calls }) => <FailedCount failed={failed} calls={calls} /> },
  { key: 'in', title: 'Tokens in', align: 'right', value: (model) => model.input_tokens, render: (model) => count(model.input_tokens) },
  { key: 'out', title: 'Tokens out', align: 'right', value: (model) => model.output_tokens, render: (model) => count(model.output_tokens) },
  { key: 'cost', title: 'Cost', align: 'right', value: ({ cost }) => cost, render: ({ cost }) => money(cost) },
  { key: 'p50', title: 'Median', align: 'right', value: (model) => model.seconds_p50, render: (model) => <span className="nowrap">{duration(model.seconds_p50)}</span> },
  { key: 'p95', title: 'p95', align: 'right', value: (model) => model.seconds_p95, render: (model) => <span className="nowrap">{duration(model.seconds_p95)}</span> },
  { key: 'last_failure', title: 'Last failure', value: (model) => (model.last_failure ? `${model.last_failure.kind} ${model.last_failure.at}` : undefined), render: (model) => <LastFailure model={model} /> },
];

export function Models() {
  const { data, error, refetch } = useApi<Schemas['ModelList']>(['models'], '/models', undefined, { refetchInterval: 60_000 });
  return (
    <Page title="Models" actions={<Text size="sm" c="dimmed">the last 30 days</Text>}>
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
          card={(model) => <ModelCard model={model} />}
          empty={
            <Empty title="No model is configured" command="interlock model list">
              Add one to the configuration under <Mono>models</Mono>. Without a model you cannot ask questions.
            </Empty>
          }
        />
      )}
      <UsageReport />
    </Page>
  );
}
