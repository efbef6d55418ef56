import { Button, Group, List, Modal, Text } from '@mantine/core';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useSend } from '../../api/hooks';
import { plural } from '../../lib/format';
import { useConfirm } from '../../ui/confirm';
import { Failed } from '../../ui/States';
import { ToneIcon } from '../../ui/Tone';

const MOST = 100;

interface BulkBarProps {
  selected: ReadonlySet<string>;
  titles: ReadonlyMap<string, string>;
  onDone: (left: Set<string>) => void;
}

/** What can be done to many sessions at once, and what came of it for each. */
export function BulkBar({ selected, titles, onDone }: BulkBarProps) {
  const confirm = useConfirm();
  const [done, setDone] = useState<{ action: Schemas['BulkAction']; results: Schemas['BulkResult'][] }>();
  const send = useSend<Schemas['Bulk'], Schemas['BulkResults']>('POST', '/sessions/bulk', {
    invalidates: [['sessions'], ['overview'], ['approvals']],
    onSuccess: ({ results }, { action }) => {
      setDone({ action, results });
      // What could not be done stays selected.
      onDone(new Set(results.filter((result) => result.error).map((result) => result.session)));
    },
  });
  const ask = async (action: Schemas['BulkAction']) => {
    const many = plural(selected.size, 'session');
    const yes = await confirm(
      action === 'cancel'
        ? { title: `Cancel ${many}?`, body: 'No new call starts in them. Writes in progress run to their end and are verified. Sessions that have ended do not change.', danger: true, confirmLabel: `Cancel ${many}` }
        : { title: `Delete ${many}?`, body: 'They are removed from all lists. Their record is kept, and each can be restored. Running sessions are not deleted.', danger: true, confirmLabel: `Delete ${many}` },
    );
    if (yes) send.mutate({ sessions: [...selected].slice(0, MOST), action });
  };
  const failed = done?.results.filter((result) => result.error) ?? [];
  return (
    <>
      {selected.size > 0 && (
        <Group gap={8} role="region" aria-label="Selected sessions">
          <Text size="sm">{plural(selected.size, 'session')} selected</Text>
          <Button size="compact-xs" variant="default" loading={send.isPending} onClick={() => void ask('cancel')}>Cancel…</Button>
          <Button size="compact-xs" variant="default" loading={send.isPending} onClick={() => void ask('delete')}>Delete…</Button>
          <Button size="compact-xs" variant="subtle" color="gray" onClick={() => { onDone(new Set()); }}>Clear selection</Button>
          {selected.size > MOST && <Text size="xs" c="dimmed">The first {MOST} are processed at once.</Text>}
        </Group>
      )}
      {send.isError && <Failed error={send.error} />}
      <Modal
        opened={done !== undefined} onClose={() => { setDone(undefined); }} centered
        title={done && `${done.action === 'cancel' ? 'Cancelled' : 'Deleted'} ${done.results.length - failed.length} of ${done.results.length}`}
      >
        <List size="sm" spacing={4} listStyleType="none">
          {done?.results.map((result) => (
            <List.Item key={result.session} icon={<ToneIcon tone={result.error ? 'failed' : 'plain'} label={result.error ? 'not done' : 'done'} />}>
              {titles.get(result.session) ?? result.session}: {result.error ?? (done.action === 'cancel' ? 'stopping' : 'deleted')}
            </List.Item>
          ))}
        </List>
      </Modal>
    </>
  );
}
