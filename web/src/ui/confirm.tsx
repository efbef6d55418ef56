// Asking once more before something that is not easily taken back.

import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { createContext, type ReactNode, use, useCallback, useMemo, useState } from 'react';

export interface Question {
  title: string;
  body: ReactNode;
  danger?: boolean;
  confirmLabel: string;
}

type Confirm = (question: Question) => Promise<boolean>;

const ConfirmContext = createContext<Confirm | undefined>(undefined);

/** Shows the questions. Once, around the pages. */
export function ConfirmProvider({ children }: { children: ReactNode }) {
  const [asked, setAsked] = useState<{ question: Question; answer: (yes: boolean) => void }>();
  const [open, setOpen] = useState(false);
  const confirm = useCallback<Confirm>(
    (question) =>
      new Promise((resolve) => {
        setAsked((before) => {
          before?.answer(false);
          return { question, answer: resolve };
        });
        setOpen(true);
      }),
    [],
  );
  const answer = (yes: boolean) => {
    asked?.answer(yes);
    setOpen(false);
  };
  const value = useMemo(() => confirm, [confirm]);
  return (
    <ConfirmContext value={value}>
      {children}
      <Modal opened={open} onClose={() => { answer(false); }} title={asked?.question.title} centered>
        <Stack>
          <Text size="sm" component="div">{asked?.question.body}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => { answer(false); }} data-autofocus={asked?.question.danger ? true : undefined}>Back</Button>
            <Button className={asked?.question.danger ? 'danger' : ''} onClick={() => { answer(true); }} data-autofocus={asked?.question.danger ? undefined : true}>
              {asked?.question.confirmLabel}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </ConfirmContext>
  );
}

/** `if (await confirm({ title, body, danger, confirmLabel })) …` */
export function useConfirm(): Confirm {
  const confirm = use(ConfirmContext);
  if (!confirm) throw new Error('useConfirm is for pages inside ConfirmProvider');
  return confirm;
}
