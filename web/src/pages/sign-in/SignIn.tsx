import { Button, Divider, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type SyntheticEvent, useEffect, useEffectEvent, useState } from 'react';

import { api, ApiError, type Schemas, setCsrf } from '../../api/client';
import { fetchMe, useApi } from '../../api/hooks';
import { localPath } from '../../lib/here';
import { useNow } from '../../lib/clock';
import { setPageTitle } from '../../lib/title';
import { takeLink, watchLink } from '../../link';
import { Failed, Loading } from '../../ui/States';
import { ToneIcon } from '../../ui/Tone';
import { providerProblem, type Said, signInProblem } from './words';

interface Trouble extends Said {
  /** When trying again makes sense, by the page's clock. */
  until: number | undefined;
}

function Told({ trouble }: { trouble: Trouble }) {
  const now = useNow();
  const left = trouble.until === undefined ? 0 : Math.ceil((trouble.until - now) / 1000);
  return (
    <Paper withBorder p="sm" role="alert" className="failed">
      <div className="told">
        <ToneIcon tone="failed" label="failed" />
        <div>
          <Text size="sm" fw={600}>{trouble.title}</Text>
          <Text size="sm">{left > 0 ? `Wait ${left} s. ` : ''}{trouble.todo}</Text>
        </div>
      </div>
    </Paper>
  );
}

/** With a one-time link, a password, or a provider. */
export function SignIn() {
  const search = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const options = useApi<Schemas['SignInOptions']>(['sign-in-options'], '/auth/options', undefined, { staleTime: 60_000 });
  const [busy, setBusy] = useState<'password' | 'link'>();
  const [trouble, setTrouble] = useState<Trouble | undefined>(() =>
    search.error === undefined ? undefined : { ...providerProblem(search.error), until: undefined },
  );
  const [user, setUser] = useState('');
  const [password, setPassword] = useState('');
  const now = useNow();
  const to = localPath(search.to);

  const signedIn = async (): Promise<boolean> => {
    try {
      queries.setQueryData(['me'], await fetchMe());
    } catch {
      return false;
    }
    await navigate({ href: to, replace: true });
    return true;
  };
  const send = async (way: 'password' | 'link', path: string, body: unknown) => {
    setBusy(way);
    setTrouble(undefined);
    try {
      const me = await api.send<Schemas['Me']>('POST', path, body);
      queries.clear();
      setCsrf(me.csrf);
      queries.setQueryData(['me'], me);
      setPassword('');
      await navigate({ href: to, replace: true });
    } catch (error) {
      // A link that was used already, in a browser that is signed in: whoever that is wants the page.
      if (way === 'link' && error instanceof ApiError && error.status === 401 && (await signedIn())) return;
      const said = signInProblem(error, way);
      setTrouble({ ...said, until: said.wait === undefined ? undefined : now + said.wait * 1000 });
      setBusy(undefined);
    }
  };
  const consumeLink = useEffectEvent(() => {
    const link = takeLink();
    if (link !== undefined) void send('link', '/auth/link', { link } satisfies Schemas['UseLink']);
  });
  useEffect(() => {
    setPageTitle('Sign in');
    return watchLink(() => {
      consumeLink();
    });
  }, []);

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    void send('password', '/auth/sign-in', { user: user.trim(), password } satisfies Schemas['SignIn']);
  };
  const blocked = trouble?.until !== undefined && trouble.until > now;
  return (
    <main className="alone sign-in">
      <Stack gap="lg">
        <div className="sign-in-head">
          <img src="/favicon.svg" alt="" width={28} height={28} />
          <Title order={1} size="h3">Interlock</Title>
        </div>
        {busy === 'link' ? (
          <Loading what="your session" lines={2} />
        ) : (
          <>
            {trouble && <Told trouble={trouble} />}
            {options.isPending && <Loading what="sign-in options" lines={2} />}
            {options.isError && <Failed error={options.error} retry={() => void options.refetch()} />}
            {options.data?.oidc && (
              <Button component="a" href={`/api/v1/auth/oidc/start?return_to=${encodeURIComponent(to)}`} size="md" fullWidth>
                {options.data.oidc}
              </Button>
            )}
            {options.data?.oidc && options.data.password && <Divider label="or" />}
            {options.data?.password && (
              <form onSubmit={submit}>
                <Stack gap="md">
                  <TextInput label="Name" name="username" autoComplete="username" autoCapitalize="none" spellCheck={false} required withAsterisk={false} value={user} onChange={(event) => { setUser(event.currentTarget.value); }} />
                  <PasswordInput label="Password" name="password" autoComplete="current-password" required withAsterisk={false} value={password} onChange={(event) => { setPassword(event.currentTarget.value); }} />
                  <Button type="submit" loading={busy === 'password'} disabled={blocked || user.trim() === '' || password === ''} variant={options.data.oidc ? 'default' : 'filled'}>Sign in</Button>
                  {busy === 'password' && <Text size="sm" role="status" c="dimmed">Checking…</Text>}
                </Stack>
              </form>
            )}
            <Text size="sm" c="dimmed">
              First time here? The server printed a one-time link when it started. If you lost it, run <code className="mono">interlock user link NAME</code> on the server’s machine.
            </Text>
          </>
        )}
        {options.data && <Text size="xs" c="dimmed">Interlock {options.data.version}</Text>}
      </Stack>
    </main>
  );
}
