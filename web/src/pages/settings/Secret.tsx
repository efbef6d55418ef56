// A secret that is shown once: it is kept nowhere, not in the page's memory after closing, not in the address.

import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

import { CodeBlock } from '../../ui/Code';

interface Props {
  title: string;
  /** What it is called where it is shown. */
  label: string;
  secret: string | undefined;
  onClose: () => void;
  children?: ReactNode;
}

export function Secret({ title, label, secret, onClose, children }: Props) {
  return (
    <Modal
      opened={secret !== undefined}
      onClose={onClose}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        <Alert variant="outline" color="gray" p="sm">
          <Text size="sm">This is shown only once. Copy it now. If you lose it, create a new one.</Text>
        </Alert>
        {secret !== undefined && <CodeBlock text={secret} label={label} />}
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
