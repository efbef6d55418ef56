// What this is, which version, and where its API is described.

import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { CodeBlock, Mono } from '../../ui/Code';
import { Failed, Loading } from '../../ui/States';
import { Ago } from '../../ui/Time';
import { curl } from './words';

export function About() {
  const { data, error, refetch } = useApi<Schemas['Overview']>(['overview'], '/overview');
  if (error) return <Failed error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="the version" />;
  return (
    <Stack gap="md" maw={640}>
      <Paper withBorder p="md">
        <Title order={2} size="h5" mb="sm">Interlock {data.version}</Title>
        <Text size="sm">The model proposes; code decides.</Text>
        <Text size="sm" c="dimmed">Started <Ago at={data.started_at} />{data.demo ? ', with a simulated cluster' : ''}.</Text>
      </Paper>
      <Paper withBorder p="md">
        <Title order={2} size="h5" mb="sm">API</Title>
        <Stack gap="sm">
          <Text size="sm">
            Programs can do everything that this page does. The{' '}
            <Anchor href="/api/v1/openapi.json" target="_blank" rel="noreferrer" size="sm" underline="always">OpenAPI document</Anchor>{' '}
            describes the API. Programs sign in with a token from <Mono>Your tokens</Mono>.
          </Text>
          <CodeBlock text={curl(window.location.origin)} label="for example" />
        </Stack>
      </Paper>
    </Stack>
  );
}
