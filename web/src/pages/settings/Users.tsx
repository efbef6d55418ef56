// People: who may sign in, and what they may do. A new one gets a link that works once.

import { Button, Group, Menu, Modal, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi, useMe, useSend } from '../../api/hooks';
import { useConfirm } from '../../ui/confirm';
import { Icon } from '../../ui/icons';
import { Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { Secret } from './Secret';
import { refusedBecause, ROLES } from './words';

type User = Schemas['User'];
type Role = Schemas['Role'];

const at = (id: string) => `/users/${encodeURIComponent(id)}`;
const WHO = [['users'], ['me']];

function refused(error: unknown): void {
  notifications.show({ title: 'Change refused', message: refusedBecause(error), autoClose: 12_000 });
}

export function Users() {
  const me = useMe();
  const confirm = useConfirm();
  const [making, setMaking] = useState(false);
  const [link, setLink] = useState<string>();
  const { data, error, refetch } = useApi<Schemas['UserList']>(['users'], '/users');
  const change = useSend<{ id: string; change: Schemas['ChangeUser'] }, User>('PATCH', ({ id }) => at(id), {
    body: (input) => input.change,
    invalidates: WHO,
    onError: refused,
  });
  const renew = useSend<User, Schemas['CreatedLink']>('POST', ({ id }) => `${at(id)}/link`, {
    body: () => undefined,
    invalidates: WHO,
    onSuccess: (answer) => { setLink(answer.link); },
    onError: refused,
  });
  const remove = useSend<User>('DELETE', ({ id }) => at(id), { invalidates: WHO, onError: refused });

  const setRole = async (user: User, role: Role) => {
    const less = ROLES.findIndex(({ value }) => value === role) < ROLES.findIndex(({ value }) => value === user.role);
    const own = user.id === me.user.id && less;
    if (own && !(await confirm({
      title: 'Reduce your own role?',
      body: `Your role changes to ${role} at once. Only another admin can change it back.`,
      danger: true,
      confirmLabel: `Change to ${role}`,
    }))) return;
    change.mutate({ id: user.id, change: { role } });
  };
  const setEnabled = async (user: User, enabled: boolean) => {
    if (!enabled && !(await confirm({
      title: `Disable ${user.id}?`,
      body: 'This user is signed out everywhere, and their tokens stop working at once. You can enable the user again later.',
      danger: true,
      confirmLabel: 'Disable user',
    }))) return;
    change.mutate({ id: user.id, change: { enabled } });
  };
  const newLink = async (user: User) => {
    if (await confirm({
      title: `Create a sign-in link for ${user.id}?`,
      body: 'Anyone who has the link can sign in as this user, once, until it expires. Send it only to this user.',
      confirmLabel: 'Create link',
    })) renew.mutate(user);
  };
  const takeAway = async (user: User) => {
    if (await confirm({
      title: `Delete ${user.id}?`,
      body: 'This user is signed out, and their tokens stop working. Their actions stay in the audit log. This cannot be undone.',
      danger: true,
      confirmLabel: 'Delete user',
    })) remove.mutate(user);
  };

  const columns: Column<User>[] = [
    {
      key: 'id',
      title: 'Name',
      value: ({ id }) => id,
      render: ({ id }) => <Text size="sm" fw={600}>{id}{id === me.user.id && <Text span c="dimmed" fw={400}> (you)</Text>}</Text>,
    },
    {
      key: 'role',
      title: 'Role',
      value: ({ role }) => role,
      render: (user) => (
        <Select
          size="xs" w={120} aria-label={`Role of ${user.id}`} allowDeselect={false} value={user.role}
          data={ROLES.map(({ value, label }) => ({ value, label }))}
          onChange={(role) => {
            if (role !== null && role !== user.role) void setRole(user, role);
          }}
        />
      ),
    },
    {
      key: 'enabled',
      title: 'Enabled',
      value: ({ enabled }) => (enabled ? 'yes' : 'no'),
      render: (user) => (
        <Switch
          size="xs" aria-label={`${user.id} enabled`} label={user.enabled ? 'yes' : 'no'} checked={user.enabled}
          onChange={(event) => void setEnabled(user, event.currentTarget.checked)}
        />
      ),
    },
    { key: 'how', title: 'Sign-in method', value: (user) => user.sign_in, render: (user) => user.sign_in },
    { key: 'created', title: 'Created', value: (user) => user.created_at, render: (user) => <Ago at={user.created_at} /> },
    { key: 'seen', title: 'Last seen', value: (user) => user.seen_at, render: (user) => (user.seen_at ? <Ago at={user.seen_at} /> : <span className="dim">never</span>) },
    {
      key: 'more',
      title: 'Actions',
      render: (user) => (
        <Menu position="bottom-end">
          <Menu.Target>
            <Button size="compact-xs" variant="default" aria-label={`Actions for ${user.id}`}><Icon name="more" /></Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => void newLink(user)} disabled={!user.enabled || user.sign_in === 'oidc'}>New sign-in link…</Menu.Item>
            <Menu.Item onClick={() => void takeAway(user)}>Delete…</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      ),
    },
  ];

  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">Each role includes the permissions of the roles before it: {ROLES.map(({ value }) => value).join(', ')}.</Text>
        <Button size="xs" leftSection={<Icon name="plus" size={14} />} onClick={() => { setMaking(true); }}>New user</Button>
      </Group>
      {error ? (
        <Failed error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading what="users" />
      ) : (
        <DataTable name="users" label="Users" columns={columns} rows={data.users} rowKey={({ id }) => id} sort={{ key: 'id', order: 'asc' }} empty={null} />
      )}
      <NewUser opened={making} onClose={() => { setMaking(false); }} onMade={setLink} />
      <Secret title="Sign-in link" label="link" secret={link} onClose={() => { setLink(undefined); }}>
        <Text size="sm" c="dimmed">The link works once. Send it to this person over a private channel.</Text>
      </Secret>
    </Stack>
  );
}

function NewUser({ opened, onClose, onMade }: { opened: boolean; onClose: () => void; onMade: (link: string | undefined) => void }) {
  const [id, setId] = useState('');
  const [role, setRole] = useState<Role>('operator');
  const make = useSend<Schemas['NewUser'], Schemas['CreatedUser']>('POST', '/users', {
    invalidates: WHO,
    onSuccess: ({ link }) => {
      onClose();
      setId('');
      onMade(link ?? undefined);
      make.reset();
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="New user" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate({ id: id.trim(), role });
        }}
      >
        <Stack gap="md">
          <TextInput
            label="Name" description="The audit log shows this name with the user’s actions." required data-autofocus autoComplete="off"
            value={id} onChange={(event) => { setId(event.currentTarget.value); }}
          />
          <Select
            label="Role" allowDeselect={false} value={role} description={ROLES.find(({ value }) => value === role)?.may}
            onChange={(next) => { setRole((next ?? 'operator')); }} data={ROLES.map(({ value, label }) => ({ value, label }))}
          />
          {make.error && <Failed error={make.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>Back</Button>
            <Button type="submit" loading={make.isPending} disabled={id.trim() === ''}>Create user</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
