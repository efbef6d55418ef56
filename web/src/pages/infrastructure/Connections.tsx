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
  return (
    <ul className="connection-strip" aria-label="Connections">
      {data.connections.map((connection) => (
        <li key={connection.name}>
          {connection.ok ? <StateDot state="running" /> : <ToneIcon tone="failed" />}
          <Text size="sm" fw={600}>{connection.name}</Text>
          <Text size="sm" c="dimmed">{connection.kind}</Text>
          {connection.ok ? (
            <Text size="sm" c="dimmed">works · {plural(connection.resources, 'resource')}</Text>
          ) : (
            <Text size="sm" className="problem" lineClamp={1} title={connection.problem ?? ''}>
              does not work ·{' '}
              <Anchor size="sm" underline="always" renderRoot={(props) => <Link to="/tools" hash="connections" {...props} />}>what to do</Anchor>
            </Text>
          )}
        </li>
      ))}
    </ul>
  );
}
