import { ActionIcon, Anchor, Button, Group, Menu, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { api, type Schemas } from '../../api/client';
import { useMay, useSend } from '../../api/hooks';
import { plural } from '../../lib/format';
import { copy, Mono } from '../../ui/Code';
import { useConfirm } from '../../ui/confirm';
import { Icon } from '../../ui/icons';
import { useShortcut } from '../../ui/shortcuts';
import { problemOf } from '../../ui/States';
import { isOpen, StatusBadge } from '../../ui/Status';
import { Ago, Elapsed } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { Altered } from './Altered';
import classes from './session.module.css';

function tell(error: unknown): void {
  const { title, detail, hint } = problemOf(error);
  notifications.show({ title, message: [detail, hint].filter((part) => part !== undefined).join(' ') });
}

const CANCELLED: Record<string, string> = {
  cancelled: 'The session was cancelled.',
  requested: 'The session is stopping. It ends after the current step.',
  ended: 'The session had already ended.',
};

/** What became of the writes: seen as expected, seen otherwise, not seen (yet). */
function countWrites({ actions, writes }: Schemas['SessionDetail']): { verified: number; failed: number; rest: number } {
  const done = actions.filter((action) => action.kind === 'write');
  const verified = done.filter((action) => action.verification === 'verified').length;
  const failed = done.filter((action) => action.verification === 'failed').length;
  return { verified, failed, rest: Math.max(writes, done.length) - verified - failed };
}

interface HeaderProps {
  detail: Schemas['SessionDetail'];
  resource: string | undefined;
  onChanged: () => void;
}

export function Header({ detail, resource, onChanged }: HeaderProps) {
  const confirm = useConfirm();
  const operate = useMay('operate');
  const [removed, setRemoved] = useState<boolean>();
  const deleted = removed ?? (detail.deleted_at !== undefined && detail.deleted_at !== null);
  const cancel = useSend<undefined, Schemas['CancelResult']>('POST', `/sessions/${detail.id}/cancel`, {
    invalidates: [['sessions']],
    onSuccess: (done) => {
      notifications.show({ message: CANCELLED[done.result] ?? done.result });
      onChanged();
    },
    onError: tell,
  });
  const remove = useSend('DELETE', `/sessions/${detail.id}`, { invalidates: [['sessions']], onSuccess: () => { setRemoved(true); }, onError: tell });
  const restore = useSend('POST', `/sessions/${detail.id}/restore`, {
    invalidates: [['sessions']],
    onSuccess: () => { setRemoved(false); onChanged(); },
    onError: tell,
  });
  const askCancel = async () => {
    const yes = await confirm({
      title: 'Cancel this session?',
      body: 'No new call starts. A write in progress is not interrupted: it runs to its end, gets a receipt and is verified. Plans that wait for approval are withdrawn.',
      danger: true,
      confirmLabel: 'Cancel the session',
    });
    if (yes) cancel.mutate(undefined);
  };
  const askRemove = async () => {
    const yes = await confirm({
      title: 'Delete this session?',
      body: 'The session is removed from all lists. Its record is kept, and it can be restored.',
      danger: true,
      confirmLabel: 'Delete',
    });
    if (yes) remove.mutate();
  };
  const writes = countWrites(detail);
  const can = detail.can_cancel && operate;
  useShortcut('c', 'Cancel the session', () => void askCancel(), { enabled: can });

  const said = (done: boolean, what: string) => {
    notifications.show({ message: done ? `${what} copied.` : 'Copying failed: the browser denied access to the clipboard.' });
  };
  const copyLink = () => void copy(`${window.location.origin}/sessions/${detail.id}`).then((done) => { said(done, 'Link'); });
  const copyMarkdown = () =>
    void api.text(`/sessions/${detail.id}/markdown`).then(copy).then((done) => { said(done, 'Session'); }, tell);

  return (
    <header>
      <Altered head={detail.head} />
      <Group justify="space-between" align="flex-start" gap="sm" wrap="nowrap">
        <div className="grow">
          <Title order={1} size="h4" lineClamp={2} title={detail.title}>{detail.title}</Title>
          <Group gap={8} fz="sm" mt={2}>
            <StatusBadge status={detail.status} />
            <Elapsed from={detail.started_at ?? detail.created_at} to={detail.completed_at} />
            {resource !== undefined && (
              <Anchor component={Link} size="sm" to={`/infrastructure/${encodeURIComponent(resource)}`}><Mono>{resource}</Mono></Anchor>
            )}
            <span className={`dim ${classes.wide ?? ''}`}>
              {detail.kind === 'chat' ? 'chat' : detail.chain}
              {detail.owner ? ` · ${detail.owner}` : ''} · {detail.level.replaceAll('_', ' ')} · <Ago at={detail.created_at} />
            </span>
            {detail.refusals > 0 && <ToneBadge tone="refused">{detail.refusals} refused</ToneBadge>}
            {writes.verified > 0 && <ToneBadge tone="verified">{writes.verified} verified</ToneBadge>}
            {writes.failed > 0 && <ToneBadge tone="failed">{writes.failed} not as expected</ToneBadge>}
            {writes.rest > 0 && <ToneBadge tone="write">{plural(writes.rest, 'write')}{isOpen(detail.status) ? '' : ', not verified'}</ToneBadge>}
          </Group>
        </div>
        <Group gap={4} wrap="nowrap">
          {can && (
            <Button size="compact-sm" variant="default" loading={cancel.isPending} onClick={() => void askCancel()}>
              Cancel
            </Button>
          )}
          <Menu position="bottom-end" withinPortal>
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label="More about this session"><Icon name="more" /></ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item leftSection={<Icon name="link" />} onClick={copyLink}>Copy link</Menu.Item>
              {!deleted && <Menu.Item leftSection={<Icon name="copy" />} onClick={copyMarkdown}>Copy as Markdown</Menu.Item>}
              {!deleted && <Menu.Item leftSection={<Icon name="line" />} component={Link} to={`/sessions/${detail.id}/trace`}>Trace</Menu.Item>}
              {detail.kind === 'chat' && <Menu.Item leftSection={<Icon name="chat" />} component={Link} to={`/chat/${detail.id}`}>Open as chat</Menu.Item>}
              {operate && <Menu.Divider />}
              {operate && !deleted && <Menu.Item leftSection={<Icon name="trash" />} disabled={detail.can_cancel} onClick={() => void askRemove()}>Delete…</Menu.Item>}
              {operate && deleted && <Menu.Item leftSection={<Icon name="refresh" />} onClick={() => { restore.mutate(); }}>Restore</Menu.Item>}
            </Menu.Dropdown>
          </Menu>
        </Group>
      </Group>
      {deleted && (
        <Group gap="sm" mt={8} role="status">
          <span>This session was deleted{detail.deleted_at ? <> <Ago at={detail.deleted_at} /></> : ''}. It is hidden from all lists. Only people who may restore it can see it.</span>
          <Button size="compact-sm" variant="default" loading={restore.isPending} onClick={() => { restore.mutate(); }}>Restore</Button>
        </Group>
      )}
    </header>
  );
}
