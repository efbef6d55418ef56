// Settings: one's own first, then what only an admin sees. Each tab has its own address.

import { Tabs } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { useMay } from '../../api/hooks';
import { Page } from '../../ui/Page';
import { Empty } from '../../ui/States';
import { About } from './About';
import { Audit } from './Audit';
import { Configuration } from './Configuration';
import { Decisions } from './Decisions';
import { Profile } from './Profile';
import { AllTokens, OwnTokens } from './Tokens';
import { Users } from './Users';

interface Tab {
  value: string;
  label: string;
  admin: boolean;
  content: () => ReactNode;
}

const TABS: Tab[] = [
  { value: 'profile', label: 'Profile', admin: false, content: () => <Profile /> },
  { value: 'tokens', label: 'Your tokens', admin: false, content: () => <OwnTokens /> },
  { value: 'users', label: 'Users', admin: true, content: () => <Users /> },
  { value: 'all-tokens', label: 'All tokens', admin: true, content: () => <AllTokens /> },
  { value: 'decisions', label: 'Decisions', admin: false, content: () => <Decisions /> },
  { value: 'audit', label: 'Audit', admin: true, content: () => <Audit /> },
  { value: 'configuration', label: 'Configuration', admin: true, content: () => <Configuration /> },
  { value: 'about', label: 'About', admin: false, content: () => <About /> },
];

export function Settings() {
  const { tab = 'profile' } = useParams({ strict: false });
  const admin = useMay('admin');
  const navigate = useNavigate();
  const shown = TABS.filter((each) => admin || !each.admin);
  const chosen = shown.find(({ value }) => value === tab);
  return (
    <Page title="Settings">
      <Tabs
        value={chosen?.value ?? null}
        keepMounted={false}
        onChange={(next) => {
          if (next !== null) void navigate({ to: '/settings/$tab', params: { tab: next } });
        }}
      >
        <Tabs.List aria-label="Settings" mb="md">
          {shown.map(({ value, label }) => <Tabs.Tab key={value} value={value}>{label}</Tabs.Tab>)}
        </Tabs.List>
        {shown.map(({ value, content }) => <Tabs.Panel key={value} value={value}>{content()}</Tabs.Panel>)}
      </Tabs>
      {!chosen && (
        <Empty title={TABS.some(({ value }) => value === tab) ? 'Admins only' : 'Page not found'}>
          {TABS.some(({ value }) => value === tab)
            ? 'Ask an admin to make the change, or to give you the role.'
            : 'Choose one of the tabs above.'}
        </Empty>
      )}
    </Page>
  );
}
