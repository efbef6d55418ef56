// What models cost over a time, by day, by model or by type of alert.

import './models.css';

import { Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { useMemo } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { useNow } from '../../lib/clock';
import { compact, count, money } from '../../lib/format';
import { useUrl } from '../../lib/url';
import { Mono } from '../../ui/Code';
import { Empty, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { FailedCount } from '../tools/FailedCount';
import { DayBars, GroupBars } from './Bars';
import { everyDay, type Group as GroupBy, GROUPS, type Measure, MEASURES, range, RANGES, total, type UsageRow } from './usage';

const DEFAULTS = { days: '30', by: 'day', measure: 'tokens' };

function oneOf<T extends string>(list: readonly { value: T }[], value: string, otherwise: T): T {
  return list.find((each) => each.value === value)?.value ?? otherwise;
}

function columns(by: GroupBy): Column<UsageRow>[] {
  const title = GROUPS.find(({ value }) => value === by)?.label ?? 'Group';
  return [
    { key: 'group', title, value: ({ group }) => group, render: ({ group }) => (group === '' ? <span className="dim">none</span> : group) },
    { key: 'sessions', title: 'Sessions', align: 'right', value: ({ sessions }) => sessions, render: ({ sessions }) => count(sessions) },
    { key: 'calls', title: 'Calls', align: 'right', value: ({ calls }) => calls, render: ({ calls }) => count(calls) },
    { key: 'failed', title: 'Failed', align: 'right', value: ({ failed }) => failed, render: ({ failed, calls }) => <FailedCount failed={failed} calls={calls} /> },
    { key: 'in', title: 'Tokens in', align: 'right', value: (row) => row.input_tokens, render: (row) => count(row.input_tokens) },
    { key: 'out', title: 'Tokens out', align: 'right', value: (row) => row.output_tokens, render: (row) => count(row.output_tokens) },
    { key: 'cost', title: 'Cost', align: 'right', value: ({ cost }) => cost, render: ({ cost }) => money(cost) },
  ];
}

export function UsageReport() {
  const [url, setUrl] = useUrl(DEFAULTS);
  const days = Number(oneOf(RANGES, url.days, '30'));
  const by = oneOf(GROUPS, url.by, 'day');
  const measure: Measure = oneOf(MEASURES, url.measure, 'tokens');
  const now = useNow(3_600_000);
  const time = useMemo(() => range(days, new Date(now)), [days, now]);
  const { data, error, refetch } = useApi<Schemas['UsageReport']>(['usage'], '/usage', { ...time, group_by: by });
  const sum = total(data?.rows ?? []);
  const say = measure === 'cost' ? money : compact;
  return (
    <Stack gap="sm" component="section" aria-labelledby="usage">
      <Group justify="space-between" wrap="wrap">
        <Title order={2} size="h5" id="usage">Usage</Title>
        <Group gap="sm" wrap="wrap">
          <SegmentedControl size="xs" aria-label="Time range" value={String(days)} onChange={(next) => { setUrl({ days: next }); }} data={[...RANGES]} />
          <SegmentedControl size="xs" aria-label="Grouped by" value={by} onChange={(next) => { setUrl({ by: next }); }} data={[...GROUPS]} />
          <SegmentedControl size="xs" aria-label="What the bars show" value={measure} onChange={(next) => { setUrl({ measure: next }); }} data={[...MEASURES]} />
        </Group>
      </Group>
      {error ? (
        <Failed error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading what="usage" lines={6} />
      ) : data.rows.length === 0 ? (
        <Empty title="No model calls in this time range" command="interlock run 'what fills the disk?'">
          Each call to a model is counted with its tokens, and with its cost where the configuration has prices.
        </Empty>
      ) : (
        <>
          <dl className="totals">
            <Total name="Calls" text={count(sum.calls)} />
            <Total name="Failed" text={count(sum.failed)} />
            <Total name="Tokens in" text={compact(sum.input_tokens)} />
            <Total name="Tokens out" text={compact(sum.output_tokens)} />
            <Total name="Cost" text={money(sum.cost)} />
          </dl>
          {measure === 'cost' && sum.cost === undefined ? (
            <Text size="sm" c="dimmed">
              No cost is known. Add prices to the models in the configuration, under <Mono>models</Mono>.
            </Text>
          ) : by === 'day' ? (
            <DayBars rows={everyDay(data.rows, time.from, time.to)} measure={measure} say={say} />
          ) : (
            <GroupBars rows={data.rows} measure={measure} say={say} />
          )}
          <DataTable
            key={by} name={`usage-${by}`} label="Usage" columns={columns(by)} rows={data.rows} rowKey={({ group }) => group}
            sort={by === 'day' ? { key: 'group', order: 'desc' } : { key: 'in', order: 'desc' }} empty={null}
          />
        </>
      )}
    </Stack>
  );
}

function Total({ name, text }: { name: string; text: string }) {
  return <div><dt>{name}</dt><dd>{text}</dd></div>;
}
