import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { api, setCsrf } from '../../api/client';
import { useMe } from '../../api/hooks';
import { live } from '../../api/live';
import { Icon } from '../icons';
import { canAskToNotify, mayNotify } from './useWaiting';

const SCHEMES = [
  { value: 'light', words: 'Light', icon: 'sun' },
  { value: 'dark', words: 'Dark', icon: 'moon' },
  { value: 'auto', words: 'System', icon: 'system' },
] as const;

/** Ends the session of this browser and forgets everything that was shown. */
export function useSignOut(): () => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return () => {
    void api
      .send('POST', '/auth/sign-out')
      .catch(() => undefined)
      .finally(() => {
        live.stop();
        setCsrf(undefined);
        void navigate({ to: '/sign-in', search: {} }).then(() => {
          queries.clear();
        });
      });
  };
}

/** Who is signed in, how the page looks, signing out. */
export function UserMenu() {
  const me = useMe();
  const signOut = useSignOut();
  const navigate = useNavigate();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [asked, setAsked] = useState(0);
  const ask = asked >= 0 && canAskToNotify();
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`${me.user.id}: menu`}><Icon name="user" size={18} /></ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{me.user.id} · {me.user.role}</Menu.Label>
        <Menu.Item leftSection={<Icon name="settings" />} onClick={() => void navigate({ to: '/settings' })}>Settings</Menu.Item>
        {ask && (
          <Menu.Item leftSection={<Icon name="bell" />} onClick={() => void Notification.requestPermission().then(() => { setAsked(asked + 1); })}>
            Enable notifications
          </Menu.Item>
        )}
        {mayNotify() && <Menu.Label>Notifications are enabled</Menu.Label>}
        <Menu.Divider />
        <Menu.Label>Theme</Menu.Label>
        {SCHEMES.map(({ value, words, icon }) => (
          <Menu.RadioItem key={value} value={value} checked={colorScheme === value} rightSection={<Icon name={icon} />} onChange={() => { setColorScheme(value); }}>
            {words}
          </Menu.RadioItem>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={signOut}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
