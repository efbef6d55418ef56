// Oneself: who one is, the password, how the page looks, whether it may call.

import { Button, Group, Paper, PasswordInput, SegmentedControl, Stack, Text, Title, useMantineColorScheme } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useEffect, useState } from 'react';

import type { Schemas } from '../../api/client';
import { useMe, useSend } from '../../api/hooks';
import { Failed } from '../../ui/States';
import { Ago } from '../../ui/Time';
import { passwordProblem, ROLES, SHORTEST } from './words';

export function Profile() {
  const me = useMe();
  const role = ROLES.find(({ value }) => value === me.user.role);
  return (
    <Stack gap="md" maw={560}>
      <Paper withBorder p="md" component="section">
        <Title order={2} size="h5" mb="sm">{me.user.id}</Title>
        <Text size="sm">{role?.label ?? me.user.role}: {role?.may}.</Text>
        <Text size="sm" c="dimmed">User since <Ago at={me.user.created_at} />; sign-in method: {me.user.sign_in}.</Text>
      </Paper>
      {me.user.sign_in !== 'oidc' && <Password has={me.has_password} />}
      <Look />
      <Calls />
    </Stack>
  );
}

function Password({ has }: { has: boolean }) {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [again, setAgain] = useState('');
  const [tried, setTried] = useState(false);
  const send = useSend<Schemas['SetPassword']>('PUT', '/me/password', {
    invalidates: [['me']],
    onSuccess: () => {
      setCurrent('');
      setNext('');
      setAgain('');
      setTried(false);
      notifications.show({ message: 'Password changed. Your other browsers were signed out.' });
    },
  });
  const problem = passwordProblem(next, again);
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2} size="h5" mb="sm">Password</Title>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (problem === undefined) send.mutate({ new: next, ...(has && { current }) });
        }}
      >
        <Stack gap="sm">
          {!has && <Text size="sm" c="dimmed">You signed in with a one-time link and have no password yet. Set one to be able to sign in again.</Text>}
          {has && (
            <PasswordInput
              label="Current password" autoComplete="current-password" required value={current}
              onChange={(event) => { setCurrent(event.currentTarget.value); }}
            />
          )}
          <PasswordInput
            label="New password" description={`At least ${SHORTEST} characters.`} autoComplete="new-password" required value={next}
            onChange={(event) => { setNext(event.currentTarget.value); }}
          />
          <PasswordInput
            label="Repeat new password" autoComplete="new-password" required value={again}
            error={tried ? problem : undefined} onChange={(event) => { setAgain(event.currentTarget.value); }}
          />
          {send.error && <Failed error={send.error} />}
          <Group justify="space-between">
            <Text size="xs" c="dimmed">Your other browsers will be signed out.</Text>
            <Button type="submit" loading={send.isPending}>Set password</Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}

function Look() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2} size="h5" mb="sm">Theme</Title>
      <SegmentedControl
        aria-label="Theme" value={colorScheme}
        onChange={(next) => { setColorScheme(next); }}
        data={[{ value: 'auto', label: 'System' }, { value: 'light', label: 'Light' }, { value: 'dark', label: 'Dark' }]}
      />
    </Paper>
  );
}

function Calls() {
  const can = typeof Notification !== 'undefined';
  const [state, setState] = useState<NotificationPermission>(can ? Notification.permission : 'denied');
  useEffect(() => {
    const look = () => {
      if (can) setState(Notification.permission);
    };
    window.addEventListener('focus', look);
    return () => {
      window.removeEventListener('focus', look);
    };
  }, [can]);
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2} size="h5" mb="sm">Notifications</Title>
      {!can ? (
        <Text size="sm" c="dimmed">This browser does not support notifications. The window title still shows the number of waiting approvals.</Text>
      ) : state === 'granted' ? (
        <Text size="sm">This browser notifies you when an approval is waiting. To stop this, remove the permission in the browser’s settings for this page.</Text>
      ) : state === 'denied' ? (
        <Text size="sm" c="dimmed">The browser blocks notifications of this page. Allow them in the browser’s settings for this page.</Text>
      ) : (
        <Stack gap="sm" align="flex-start">
          <Text size="sm">The browser can notify you when an approval is waiting, even while the page is in the background.</Text>
          <Button variant="default" onClick={() => void Notification.requestPermission().then(setState)}>Allow notifications</Button>
        </Stack>
      )}
    </Paper>
  );
}
