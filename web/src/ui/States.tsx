// What a page shows before there is something, when there is nothing, and when it went wrong. Always with words.

import { Anchor, Button, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

import { ApiError } from '../api/client';
import { CodeBlock } from './Code';
import { Said } from './Said';
import { ToneIcon } from './Tone';

/** Something is on its way; says what. */
export function Loading({ what, lines = 3 }: { what: string; lines?: number }) {
  return (
    <Stack gap="sm" role="status" aria-busy="true">
      <Text size="sm" c="dimmed">Loading {what}…</Text>
      {Array.from({ length: lines }, (_, index) => (
        <Skeleton key={index} height={16} width={`${95 - index * 12}%`} />
      ))}
    </Stack>
  );
}

/** There is nothing (yet): why, and what to do next, with a command to copy. */
export function Empty({ title, children, command }: { title: string; children?: ReactNode; command?: string }) {
  return (
    <Paper withBorder p="lg" className="empty">
      <Stack gap="sm">
        <Title order={2} size="h5">{title}</Title>
        {children !== undefined && <Text size="sm" c="dimmed" component="div">{children}</Text>}
        {command !== undefined && <CodeBlock text={command} label="command" />}
      </Stack>
    </Paper>
  );
}

/** What an error says, in parts. */
export function problemOf(error: unknown): { title: string; detail: string; hint?: string | undefined; code?: string | undefined } {
  if (error instanceof ApiError) {
    const { title, detail, hint, code } = error.problem;
    return { title, detail, hint: hint ?? undefined, code };
  }
  return {
    title: 'The page had an internal error',
    detail: error instanceof Error ? error.message : String(error),
    hint: 'Reload the page. If the error stays, see the browser console for details.',
  };
}

/** The stable code, with a link to its page. */
export function ErrorCode({ code }: { code: string }) {
  return (
    <Anchor href={`/docs/errors/${encodeURIComponent(code)}`} target="_blank" rel="noreferrer" className="mono" size="sm">
      {code}
    </Anchor>
  );
}

/** It went wrong: what happened, what it means, what to do. */
export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, detail, hint, code } = problemOf(error);
  return (
    <Paper withBorder p="md" role="alert" className="failed">
      <Group align="flex-start" wrap="nowrap" gap="sm">
        <ToneIcon tone="failed" label="failed" />
        <Stack gap={4} className="grow">
          <Text fw={600} size="sm">{title}</Text>
          {detail !== title && <Text size="sm"><Said text={detail} /></Text>}
          {hint !== undefined && <Text size="sm" c="dimmed">What to do: <Said text={hint} /></Text>}
          <Group gap="sm">
            {retry && <Button size="compact-sm" variant="default" onClick={retry}>Try again</Button>}
            {code !== undefined && <ErrorCode code={code} />}
          </Group>
        </Stack>
      </Group>
    </Paper>
  );
}
