import { ActionIcon, Button, Group, Popover, Stack, Tabs, TextInput, Tooltip } from '@mantine/core';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi, useSend } from '../../api/hooks';
import { useConfirm } from '../../ui/confirm';
import { Icon } from '../../ui/icons';
import { Failed } from '../../ui/States';
import { viewOf, viewPatch } from './query';

type Change = (patch: Readonly<Record<string, string | undefined>>, push?: boolean) => void;

const BUILT_IN = [
  { id: 'all', name: 'All', query: '' },
  { id: 'waiting', name: 'Waiting', query: 'status=held' },
  { id: 'running', name: 'Running', query: 'status=pending,in_progress,cancelling' },
  { id: 'wrong', name: 'Failed', query: 'status=failed,timed_out,unverified' },
] as const;

function SaveView({ query }: { query: string }) {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState('');
  const save = useSend<Schemas['NewView'], Schemas['View']>('POST', '/me/views', {
    invalidates: [['views']],
    onSuccess: () => {
      setOpen(false);
      setName('');
    },
  });
  return (
    <Popover opened={open} onChange={setOpen} trapFocus position="bottom-end">
      <Popover.Target>
        <Button size="compact-xs" variant="subtle" color="gray" leftSection={<Icon name="plus" size={12} />} onClick={() => { setOpen(!open); }}>Save this view</Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form onSubmit={(event) => { event.preventDefault(); if (name.trim() !== '') save.mutate({ name: name.trim(), query }); }}>
          <Stack gap="sm">
            <TextInput size="xs" label="Name" value={name} maxLength={80} onChange={(event) => { setName(event.currentTarget.value); }} data-autofocus />
            {save.isError && <Failed error={save.error} />}
            <Button size="xs" type="submit" loading={save.isPending} disabled={name.trim() === ''}>Save</Button>
          </Stack>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}

/** Ways of looking at the list: some that everybody needs, and one's own. */
export function Views({ query, change }: { query: string; change: Change }) {
  const confirm = useConfirm();
  const own = useApi<Schemas['ViewList']>(['views'], '/me/views', undefined, { staleTime: 60_000 });
  const remove = useSend<Schemas['View']>('DELETE', (view) => `/me/views/${encodeURIComponent(view.id)}`, { invalidates: [['views']] });
  const now = viewOf(query);
  const views = [...BUILT_IN, ...(own.data?.views ?? [])];
  const active = views.find((view) => viewOf(view.query) === now);
  const mine = own.data?.views.find((view) => view.id === active?.id);
  const askRemove = async (view: Schemas['View']) => {
    if (await confirm({ title: `Delete the view “${view.name}”?`, body: 'The sessions are not changed.', confirmLabel: 'Delete' })) remove.mutate(view);
  };
  return (
    <Group justify="space-between" gap={4} wrap="nowrap" align="center">
      <Tabs
        value={active?.id ?? null} className="grow"
        onChange={(id) => {
          const view = views.find((one) => one.id === id);
          if (view) change(viewPatch(view.query), true);
        }}
      >
        <Tabs.List aria-label="Views">
          {views.map((view) => <Tabs.Tab key={view.id} value={view.id} py={6} px={10}>{view.name}</Tabs.Tab>)}
        </Tabs.List>
      </Tabs>
      {mine && (
        <Tooltip label={`Delete the view “${mine.name}”`}>
          <ActionIcon size="sm" variant="subtle" color="gray" aria-label={`Delete the view ${mine.name}`} onClick={() => void askRemove(mine)}><Icon name="trash" size={14} /></ActionIcon>
        </Tooltip>
      )}
      {active === undefined && <SaveView query={now} />}
    </Group>
  );
}
