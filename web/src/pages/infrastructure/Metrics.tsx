// Numbers of a resource over time, as small plots. When there are none it says why.

import { Text } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { useNow } from '../../lib/clock';
import { Mono } from '../../ui/Code';
import { Empty, Failed, Loading } from '../../ui/States';
import { Plot } from './Plot';

export function Metrics({ id, hours }: { id: string; hours: number }) {
  const { data, error, refetch } = useApi<Schemas['Metrics']>(
    ['resource-metrics', id],
    `/resources/${encodeURIComponent(id)}/metrics`,
    { hours },
    { refetchInterval: 60_000 },
  );
  const to = useNow(60_000) / 1000;
  if (error) return <Failed error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="numbers" />;
  if (data.series.length === 0) {
    return (
      <Empty title="No metrics">
        {data.note ?? 'No Prometheus knows this resource.'} Metrics come from a connection of type <Mono>prometheus</Mono>.
      </Empty>
    );
  }
  return (
    <>
      {data.note ? <Text size="sm" c="dimmed" mb="sm">{data.note}</Text> : null}
      <div className="plots">
        {data.series.map((series) => <Plot key={`${series.name}:${series.unit}`} series={series} from={to - hours * 3600} to={to} />)}
      </div>
    </>
  );
}
