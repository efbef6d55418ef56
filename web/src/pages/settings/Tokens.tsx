// Tokens for programs: one's own, and for an admin everybody's. A secret is shown once, when it is made.

import { Button, Checkbox, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi, useMe, useSend } from '../../api/hooks';
import { useNow } from '../../lib/clock';
import { CodeBlock, Mono } from '../../ui/Code';
import { useConfirm } from '../../ui/confirm';
import { Icon } from '../../ui/icons';
import { Empty, Failed, Loading, problemOf } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { Secret } from './Secret';
import { curl, mayGive, SCOPES, tokenState } from './words';

type Token = Schemas['Token'];
type Scope = Schemas['Scope'];

function columns(now: number, revoke: (token: Token) => void, everybody: boolean): Column<Token>[] {
  const all: Column<Token>[] = [
    { key: 'name', title: 'Name', value: ({ name }) => name, render: ({ name }) => <Text size="sm" fw={600}>{name}</Text> },
    { key: 'user', title: 'Owner', value: ({ user }) => user, render: ({ user }) => user },
    { key: 'scopes', title: 'Scopes', value: ({ scopes }) => scopes.join(' '), render: ({ scopes }) => <span className="nowrap"><Mono>{scopes.join(', ')}</Mono></span> },
    {
      key: 'state',
      title: 'State',
      value: (token) => tokenState(token, now),
      render: (token) => {
        const state = tokenState(token, now);
        return state === 'works' ? 'active' : <ToneBadge tone="plain" icon="cross">{state}</ToneBadge>;
      },
    },
    { key: 'created', title: 'Created', value: (token) => token.created_at, render: (token) => <Ago at={token.created_at} /> },
    { key: 'expires', title: 'Expires', value: (token) => token.expires_at, render: (token) => (token.expires_at ? <Ago at={token.expires_at} /> : 'never') },
    { key: 'used', title: 'Last used', value: (token) => token.used_at, render: (token) => (token.used_at ? <Ago at={token.used_at} /> : <span className="dim">never</span>) },
    {
      key: 'do',
      title: 'Revoke',
      render: (token) =>
        token.revoked_at ? null : (
          <Button size="compact-xs" variant="default" aria-label={`Revoke ${token.name}`} onClick={() => { revoke(token); }}>Revoke</Button>
        ),
    },
  ];
  return everybody ? all : all.filter(({ key }) => key !== 'user');
}

function TokenTable({ path, everybody, empty }: { path: string; everybody: boolean; empty: React.ReactNode }) {
  const confirm = useConfirm();
  const now = useNow(60_000);
  const { data, error, refetch } = useApi<Schemas['TokenList']>([path], path);
  const revoke = useSend<Token>('DELETE', ({ id }) => `${path}/${encodeURIComponent(id)}`, {
    invalidates: [['/me/tokens'], ['/tokens']],
    onError: (failure) => { notifications.show({ title: 'Not revoked', message: problemOf(failure).detail }); },
  });
  const ask = async (token: Token) => {
    const yes = await confirm({
      title: `Revoke “${token.name}”?`,
      body: 'Programs that use this token lose access at once. A revoked token cannot be restored; create a new one instead.',
      danger: true,
      confirmLabel: 'Revoke token',
    });
    if (yes) revoke.mutate(token);
  };
  if (error) return <Failed error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="tokens" />;
  return (
    <DataTable
      name={everybody ? 'all-tokens' : 'tokens'}
      label="Tokens"
      columns={columns(now, (token) => void ask(token), everybody)}
      rows={data.tokens}
      rowKey={({ id }) => id}
      sort={{ key: 'created', order: 'desc' }}
      empty={empty}
    />
  );
}

export function AllTokens() {
  return <TokenTable path="/tokens" everybody empty={<Empty title="No tokens yet">Users create tokens under “Your tokens”.</Empty>} />;
}

export function OwnTokens() {
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<string>();
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">A program signs in with a token. A token never has more permissions than you.</Text>
        <Button size="xs" leftSection={<Icon name="plus" size={14} />} onClick={() => { setMaking(true); }}>New token</Button>
      </Group>
      <TokenTable
        path="/me/tokens"
        everybody={false}
        empty={<Empty title="You have no tokens">Create one token for each program, with the fewest scopes that it needs. You can then revoke each token separately.</Empty>}
      />
      <NewToken opened={making} onClose={() => { setMaking(false); }} onMade={setMade} />
      <Secret title="Token created" label="token" secret={made} onClose={() => { setMade(undefined); }}>
        <CodeBlock text={`export INTERLOCK_TOKEN=…\n${curl(window.location.origin)}`} label="example" />
      </Secret>
    </Stack>
  );
}

function NewToken({ opened, onClose, onMade }: { opened: boolean; onClose: () => void; onMade: (secret: string) => void }) {
  const me = useMe();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(['read']);
  const [days, setDays] = useState('90');
  const make = useSend<Schemas['NewToken'], Schemas['CreatedToken']>('POST', '/me/tokens', {
    invalidates: [['/me/tokens'], ['/tokens']],
    onSuccess: ({ secret }) => {
      onClose();
      setName('');
      setScopes(['read']);
      onMade(secret);
      make.reset();
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="New token" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate({ name: name.trim(), scopes: scopes as Scope[], days: Number(days) });
        }}
      >
        <Stack gap="md">
          <TextInput
            label="Name" placeholder="alertmanager" required data-autofocus maxLength={100} value={name}
            onChange={(event) => { setName(event.currentTarget.value); }}
          />
          <Checkbox.Group label="Scopes" value={scopes} onChange={setScopes} required>
            <Stack gap="xs" mt={4}>
              {SCOPES.map(({ value, label, may }) => (
                <Checkbox
                  key={value} value={value} label={label} disabled={!mayGive(me.may, value)}
                  description={mayGive(me.may, value) ? may : `${may} — your role does not have this scope`}
                />
              ))}
            </Stack>
          </Checkbox.Group>
          <Select
            label="Valid for" value={days} allowDeselect={false} onChange={(next) => { setDays(next ?? '90'); }}
            data={[{ value: '7', label: '7 days' }, { value: '30', label: '30 days' }, { value: '90', label: '90 days' }, { value: '365', label: '1 year' }]}
          />
          {make.error && <Failed error={make.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>Back</Button>
            <Button type="submit" loading={make.isPending} disabled={name.trim() === '' || scopes.length === 0}>Create token</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
