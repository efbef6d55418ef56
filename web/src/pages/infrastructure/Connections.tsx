// The connections to infrastructure, in one line: which work, which do not, and why.

import './infrastructure.css';

import { Anchor, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import { useApi } from '../../api/hooks';
import type { Schemas } from '../../api/client';
import { plural } from '../../lib/format';
import { Failed } from '../../ui/States';
import { ToneIcon } from '../../ui/Tone';
import { StateDot } from './StateMark';

/** The connections, asked again every half minute. */
export function useConnections() {
  return useApi<Schemas['ConnectionList']>(['connections'], '/connections', undefined, { refetchInterval: 30_000 });
}

export function ConnectionStrip() {
  const { data, error, refetch } = useConnections();
  if (error) return <Failed error={error} retry={() => void refetch()} />;
  if (!data || data.connections.length === 0) return null;
  const broken = data.connections.filter(({ ok }) => !ok);
  const working = data.connections.filter(({ ok }) => ok);
  return (
    <ul className="connection-strip" aria-label="Connections">
      {broken.map((connection) => (
        <li key={connection.name} title={connection.problem ?? undefined}>
          <ToneIcon tone="failed" />
          <Text size="sm" fw={600}>{connection.name}</Text>
          <Text size="sm" c="dimmed">{connection.kind}</Text>
          <Text size="sm">
            failed ·{' '}
            <Anchor size="sm" renderRoot={(props) => <Link to="/tools" hash="connections" {...props} />}>what to do</Anchor>
          </Text>
        </li>
      ))}
      {working.length > 0 && (
        <li>
          <StateDot state="running" />
          <Text size="sm">{plural(working.length, 'connection OK', 'connections OK')}</Text>
          <Text size="sm" c="dimmed" title={working.map(({ name, kind, resources }) => `${name} (${kind}): ${plural(resources, 'resource')}`).join('\n')}>
            {working.map(({ name }) => name).join(', ')}
          </Text>
        </li>
      )}
    </ul>
  );
}
