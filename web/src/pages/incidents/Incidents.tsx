// What is wrong: open incidents first, the worst first; then what was resolved.

import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { keepPreviousData } from '@tanstack/react-query';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { count, plural } from '../../lib/format';
import { useUrl } from '../../lib/url';
import { Page } from '../../ui/Page';
import { Said } from '../../ui/Said';
import { Empty, Failed, Loading } from '../../ui/States';
import { Ago } from '../../ui/Time';
import { IncidentRow } from './IncidentRow';

const URL = { show: 'unresolved', limit: '50' };
const SHOWN = [
  { value: 'unresolved', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
  { value: 'rejected', label: 'Rejected alerts' },
];

function Rejected() {
  const query = useApi<Schemas['RejectedAlerts']>(['incidents', 'rejected'], '/alerts/rejected', { limit: 200 });
  if (query.isPending) return <Loading what="rejected alerts" lines={4} />;
  if (query.isError) return <Failed error={query.error} retry={() => void query.refetch()} />;
  const { alerts, total } = query.data;
  if (alerts.length === 0) return <Empty title="No alert was rejected">An alert that cannot be read, or whose type is not accepted, is listed here with the reason.</Empty>;
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">{plural(total, 'alert')} rejected in all</Text>
      {alerts.map((alert, index) => (
        <details key={`${alert.at}-${index}`}>
          <summary><Ago at={alert.at} /> from {alert.source}: <Said text={alert.reason} /></summary>
          <pre className="mono prewrap"><Said text={alert.alert} /></pre>
        </details>
      ))}
    </Stack>
  );
}

function List({ status, limit, more }: { status: string; limit: number; more: () => void }) {
  const query = useApi<Schemas['IncidentPage']>(['incidents'], '/incidents', { status, limit }, { refetchInterval: 10_000, placeholderData: keepPreviousData });
  if (query.isPending) return <Loading what="incidents" lines={4} />;
  if (query.isError) return <Failed error={query.error} retry={() => void query.refetch()} />;
  const { incidents, total } = query.data;
  if (total === 0) {
    return status === 'resolved'
      ? <Empty title="No incident was resolved yet">Resolved incidents are listed here.</Empty>
      : <Empty title="No open incidents">Send alerts to <span className="mono">/api/v1/alerts/alertmanager</span> or one of its neighbours; each becomes an incident here.</Empty>;
  }
  return (
    <Stack gap="sm">
      {incidents.map((incident) => <IncidentRow key={incident.id} incident={incident} />)}
      {incidents.length < total && (
        <Group gap="sm">
          <Text size="sm" c="dimmed">{count(incidents.length)} of {count(total)}</Text>
          {limit < 200 && <Button variant="default" size="xs" onClick={more}>Show more</Button>}
        </Group>
      )}
    </Stack>
  );
}

export function Incidents() {
  const [url, setUrl] = useUrl(URL);
  const limit = Math.min(200, Math.max(1, Number.parseInt(url.limit, 10) || 50));
  return (
    <Page title="Incidents">
      <SegmentedControl size="xs" data={SHOWN} value={url.show} onChange={(show) => { setUrl({ show, limit: undefined }); }} aria-label="Which incidents" style={{ alignSelf: 'start' }} />
      {url.show === 'rejected' ? <Rejected /> : <List status={url.show === 'resolved' ? 'resolved' : 'unresolved'} limit={limit} more={() => { setUrl({ limit: '200' }); }} />}
    </Page>
  );
}
