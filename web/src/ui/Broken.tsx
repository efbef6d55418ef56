// In place of a page that could not be loaded or does not exist. Always with words and a way on.

import { Anchor, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';

import { useConnection } from '../api/hooks';
import { Page } from './Page';
import { Failed } from './States';
import { ToneIcon } from './Tone';

/** Browsers say in different words that a part of the page did not come over the line. */
export function isLoading(error: unknown): boolean {
  return error instanceof Error && /dynamically imported module|importing a module script|module script failed|preload CSS/i.test(error.message);
}

/** A page that could not be loaded, or has a fault. */
export function Broken({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const line = useConnection();
  const [lost, setLost] = useState(false);
  if (line === 'lost' && !lost) setLost(true);
  const healed = lost && line === 'open' && isLoading(error);
  useEffect(() => {
    if (healed) window.location.reload();
  }, [healed]);
  const again = () => {
    // A part that did not come is asked for anew only by a page that is loaded anew.
    if (isLoading(error)) window.location.reload();
    else {
      reset();
      void router.invalidate();
    }
  };
  if (!isLoading(error)) return <Page title="Internal error"><Failed error={error} retry={again} /></Page>;
  return (
    <Page title="This page could not be loaded">
      <Paper withBorder p="md" role="alert" className="failed">
        <Group align="flex-start" wrap="nowrap" gap="sm">
          <ToneIcon tone="failed" label="failed" />
          <Stack gap={4} className="grow">
            <Text size="sm" fw={600}>A part of the page could not be loaded.</Text>
            <Text size="sm">The server is not reachable, or it was updated after you opened this page. Running sessions are not affected.</Text>
            <Text size="sm" c="dimmed">What to do: wait until the connection at the top is live again. The page then reloads automatically.</Text>
            <Group gap="sm"><Button size="compact-sm" variant="default" onClick={again}>Try again</Button></Group>
          </Stack>
        </Group>
      </Paper>
    </Page>
  );
}

/** An address that is no page. */
export function Unknown() {
  return (
    <Page title="Page not found">
      <Paper withBorder p="md">
        <Stack gap="sm">
          <Text size="sm">There is no page at <span className="mono">{window.location.pathname}</span>. The address may be incomplete, or from another version.</Text>
          <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/" />}>Go to the overview</Anchor>
        </Stack>
      </Paper>
    </Page>
  );
}
