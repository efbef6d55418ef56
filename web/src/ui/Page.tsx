import { Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

/** A page: its heading, what can be done on it, its content. Sets the window's title. */
export function Page({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Interlock`;
  }, [title]);
  return (
    <Stack gap="md" component="section" aria-label={title}>
      <Group justify="space-between" wrap="wrap">
        <Title order={1} size="h3">
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </Stack>
  );
}
