import { Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

import { setPageTitle } from '../lib/title';

/** A page: its heading, what can be done on it, its content. Sets the window's title. */
export function Page({ title, heading, actions, children }: { title: string; heading?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    setPageTitle(title);
  }, [title]);
  return (
    <Stack gap="md" component="section" aria-label={title}>
      <Group justify="space-between" wrap="wrap">
        <Title order={1} size="h3">
          {heading ?? title}
        </Title>
        {actions}
      </Group>
      {children}
    </Stack>
  );
}
