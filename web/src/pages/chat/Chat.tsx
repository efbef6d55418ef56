import { Anchor, Button, Drawer, Select, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi, useMay, useSend } from '../../api/hooks';
import { setPageTitle } from '../../lib/title';
import { Icon } from '../../ui/icons';
import { useShortcut } from '../../ui/shortcuts';
import { Empty, Failed, Loading, problemOf } from '../../ui/States';
import { isOpen, StatusBadge } from '../../ui/Status';
import { Altered } from '../session/Altered';
import { useFill } from '../session/fill';
import { useSessionWatch } from '../session/watch';
import classes from './chat.module.css';
import { COMMANDS, said } from './compose';
import { Composer, type ComposerHandle } from './Composer';
import { PastChats, usePastChats } from './Past';
import { Talk } from './Talk';

function Help() {
  return (
    <div className={classes.help} role="status">
      <strong>Commands</strong>
      <dl>
        {COMMANDS.map((command) => [<dt key={command.name} className="mono">{command.name} {command.takes}</dt>, <dd key={`${command.name} words`}>{command.words}</dd>])}
        <dt className="mono">@name</dt>
        <dd>refers to exactly this resource</dd>
      </dl>
    </div>
  );
}

const MODEL = 'interlock.chat.model';

function keptModel(): string | null {
  try {
    return localStorage.getItem(MODEL);
  } catch {
    return null;
  }
}

interface BoxProps {
  /** The conversation that goes on; without one a new one begins. */
  session?: Schemas['SessionDetail'] | undefined;
  onAsked?: () => void;
}

/** The composer with everything that can be said in it. */
function Box({ session, onAsked }: BoxProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const operate = useMay('operate');
  const past = usePastChats();
  const models = useApi<Schemas['ModelList']>(['models'], '/models', undefined, { staleTime: 60_000 });
  const [model, setModel] = useState<string | null>(keptModel);
  const [note, setNote] = useState<ReactNode>();
  const [listed, setListed] = useState(false);
  const composer = useRef<ComposerHandle>(null);
  useShortcut('i', 'Write a question', () => composer.current?.focus());

  const begin = useSend<Schemas['NewChat'], Schemas['Accepted']>('POST', '/chats', {
    invalidates: [['sessions']],
    onSuccess: (accepted) => void navigate({ to: '/chat/$id', params: { id: accepted.session } }),
  });
  const goOn = useSend<Schemas['NewMessage'], Schemas['Accepted']>('POST', () => `/sessions/${session?.id ?? ''}/messages`, {
    invalidates: [['sessions']],
    onSuccess: () => onAsked?.(),
  });
  const stop = useSend<undefined, Schemas['CancelResult']>('POST', () => `/sessions/${session?.id ?? ''}/cancel`, {
    onSuccess: () => onAsked?.(),
    onError: (error) => {
      const { title, detail } = problemOf(error);
      notifications.show({ title, message: detail });
    },
  });

  const choose = (name: string | null) => {
    setModel(name);
    try {
      if (name === null) localStorage.removeItem(MODEL);
      else localStorage.setItem(MODEL, name);
    } catch {
      // Private windows have no storage; then it is forgotten.
    }
  };
  const known = models.data?.models.map((one) => one.name) ?? [];
  // A conversation keeps its model until another is chosen in it; a new one begins with the one that was chosen last.
  const [here, setHere] = useState<string>();
  const wanted = session ? (here ?? session.model ?? null) : model;
  const usable = wanted !== null && (models.data === undefined || known.includes(wanted)) ? wanted : null;
  const other = session && usable !== null && usable !== (session.model ?? null) ? usable : undefined;
  const pick = (name: string | null) => {
    if (session) setHere(name ?? undefined);
    else choose(name);
  };
  const send = (text: string): boolean | Promise<boolean> => {
    const what = said(text);
    setNote(undefined);
    switch (what.type) {
      case 'nothing':
        return false;
      case 'question':
        if (session) {
          if (!session.can_ask) {
            setNote('The last question is still in progress. Wait, or stop it.');
            return false;
          }
          return goOn.mutateAsync({ message: what.text, ...(other !== undefined && { model: other }) }).then(() => {
            // From here on the conversation says which it is; somebody else may choose another.
            setHere(undefined);
            return true;
          }, () => false);
        }
        return begin.mutateAsync({ message: what.text, ...(usable !== null && { model: usable }) }).then(() => true, () => false);
      case 'new':
        void navigate({ to: '/chat' });
        return true;
      case 'chats':
        setListed(true);
        return true;
      case 'help':
        setNote(<Help />);
        return true;
      case 'model':
        if (models.data && !known.includes(what.name)) {
          setNote(`Unknown model “${what.name}”. Available: ${known.join(', ')}.`);
          return false;
        }
        pick(what.name);
        setNote(session ? `${what.name} will answer your next question.` : `The model is ${what.name}.`);
        return true;
      case 'resume': {
        const fits = past.data?.sessions.filter((one) => one.id === what.name || one.id.startsWith(what.name) || one.id.endsWith(what.name)) ?? [];
        const [only] = fits;
        if (fits.length > 1) {
          setNote(`${fits.length} conversations match “${what.name}”. Enter more of the id.`);
          return false;
        }
        void navigate({ to: '/chat/$id', params: { id: only?.id ?? what.name } });
        return true;
      }
      case 'wrong':
        setNote(what.problem);
        return false;
    }
  };
  const error = session ? goOn.error : begin.error;
  const running = session !== undefined && isOpen(session.status);
  if (!operate) return <div className="dim">You can read conversations. To ask questions, you need the role “operator”.</div>;
  return (
    <div>
      {note !== undefined && <div role="status">{note}</div>}
      {error && <Failed error={error} />}
      <Composer
        ref={composer} onSend={send} sending={begin.isPending || goOn.isPending}
        blocked={session && !session.can_ask ? (running ? 'Your question is in progress; you can still enter commands' : 'This conversation takes no more questions; /new starts another') : undefined}
        {...(running && session.can_cancel && { onStop: () => { stop.mutate(undefined); }, stopping: stop.isPending })}
      >
        <Select
          size="xs" w={200} aria-label={session ? 'Model for the next question' : 'Model'}
          placeholder={models.isPending ? 'loading models…' : (models.data?.models.find((one) => one.default)?.name ?? 'default model')}
          data={known} value={usable} clearable={!session} onChange={pick} comboboxProps={{ position: 'top' }}
        />
      </Composer>
      <Drawer opened={listed} onClose={() => { setListed(false); }} title="Past conversations" position="right" size="sm">
        <PastChats current={session?.id} onOpen={() => { setListed(false); void queries.invalidateQueries({ queryKey: ['sessions', 'chats'] }); }} />
      </Drawer>
    </div>
  );
}

function Layout({ current, children }: { current?: string | undefined; children: ReactNode }) {
  const wide = useMediaQuery('(min-width: 80em)', true, { getInitialValueInEffect: false });
  const [page, height] = useFill<HTMLDivElement>();
  return (
    <div ref={page} className={classes.page} style={{ height }}>
      {wide && (
        <aside className={classes.side} aria-label="Past conversations">
          <Button component={Link} to="/chat" size="compact-sm" variant="default" leftSection={<Icon name="plus" size={14} />}>New conversation</Button>
          <PastChats current={current} />
        </aside>
      )}
      <section className={classes.main} aria-label="Conversation">{children}</section>
    </div>
  );
}

const MODELS = `# interlock.yaml
models:
  main:
    provider: openai               # openai, anthropic, gemini, ollama
    model: gpt-5-mini
    api_key_env: OPENAI_API_KEY    # the name of the variable, never the key`;

function NewChat() {
  useEffect(() => {
    setPageTitle('Chat');
  }, []);
  const models = useApi<Schemas['ModelList']>(['models'], '/models', undefined, { staleTime: 60_000 });
  if (models.data?.models.length === 0) {
    return (
      <Layout>
        <div className={classes.start}>
          <Title order={1} size="h3">No model is configured</Title>
          <Empty title="Questions need a model" command={MODELS}>
            Add a model to the configuration file, set the variable that contains its API key, and restart the server. Connections, tools and approvals work without a model.
          </Empty>
        </div>
      </Layout>
    );
  }
  return (
    <Layout>
      <div className={classes.start}>
        <Title order={1} size="h3">Ask about your infrastructure</Title>
        <Empty title="How it works" command="Why does @jellyfin not answer?">
          The model proposes calls, and code decides which of them run. Reads run at once, writes wait for your approval, and the report of what was done comes from receipts.
          Enter <span className="mono">/help</span> for commands.
        </Empty>
      </div>
      <Box />
    </Layout>
  );
}

function OldChat({ id }: { id: string }) {
  const { state, error, partial, ready, asking, watch } = useSessionWatch(id);
  const { detail } = state;
  const title = detail?.title ?? 'Chat';
  useEffect(() => {
    setPageTitle(title);
  }, [title]);
  if (error !== undefined) return <Layout current={id}><Title order={1} size="h4">Chat</Title><Failed error={error} retry={watch.retry} /></Layout>;
  return (
    <Layout current={id}>
      <header className={classes.head}>
        <Title order={1} size="h5" lineClamp={1} className="grow" title={title}>{title}</Title>
        {detail && <StatusBadge status={detail.status} />}
        <Anchor component={Link} size="sm" to={`/sessions/${id}`}>Evidence &amp; tools</Anchor>
      </header>
      {detail && <Altered head={detail.head} />}
      {partial !== undefined && <Failed error={partial} retry={watch.retry} />}
      {detail ? <Talk detail={detail} state={state} ready={ready} asking={asking} /> : <div className={classes.start}><Loading what="the conversation" lines={6} /></div>}
      {detail && <Box session={detail} onAsked={watch.refresh} />}
    </Layout>
  );
}

/** A conversation: `/chat` begins one, `/chat/<id>` goes on with one. */
export function Chat() {
  const { id } = useParams({ strict: false });
  return id === undefined ? <NewChat /> : <OldChat key={id} id={id} />;
}
