import { Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { Failed, Loading } from '../../ui/States';
import { isOpen, statusWords } from '../../ui/Status';
import { Ago } from '../../ui/Time';
import classes from './chat.module.css';

const MOST = 30;

/** Past conversations, newest first. */
export function usePastChats() {
  return useApi<Schemas['SessionList']>(['sessions', 'chats'], '/sessions', { kind: 'chat', page_size: MOST, sort: 'last_interaction_at', order: 'desc' });
}

export function PastChats({ current, onOpen }: { current?: string | undefined; onOpen?: () => void }) {
  const past = usePastChats();
  if (past.isPending) return <Loading what="past conversations" />;
  if (past.isError) return <Failed error={past.error} retry={() => void past.refetch()} />;
  if (past.data.sessions.length === 0) return <Text size="sm" c="dimmed">No conversations yet. Your questions appear here.</Text>;
  return (
    <ul className={classes.past} aria-label="Past conversations">
      {past.data.sessions.map((session) => (
        <li key={session.id}>
          <Link to="/chat/$id" params={{ id: session.id }} aria-current={session.id === current ? 'page' : undefined} {...(onOpen && { onClick: onOpen })}>
            <div className="truncate" title={session.title}>{session.title}</div>
            <div className="dim">
              {isOpen(session.status) ? `${statusWords(session.status)} · ` : ''}
              <Ago at={session.last_interaction_at} />
            </div>
          </Link>
        </li>
      ))}
    </ul>
  );
}
