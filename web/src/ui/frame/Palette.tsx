// Search: sessions, resources, pages, commands. `/` or Ctrl/⌘ K from anywhere.

import { Modal, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useId, useRef, useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { Icon, type IconName } from '../icons';
import { Keys, useShortcut } from '../shortcuts';
import { statusWords } from '../Status';
import { Ago } from '../Time';
import { PLACES } from './Nav';
import { useSignOut } from './UserMenu';

interface Hit {
  id: string;
  group: 'Pages' | 'Commands' | 'Sessions' | 'Resources';
  icon: IconName;
  words: string;
  aside?: React.ReactNode;
  run: () => void;
}

/** Whether every word that was typed is somewhere in the text. */
export function matches(text: string, typed: string): boolean {
  const low = text.toLowerCase();
  return typed.toLowerCase().split(/\s+/).every((word) => low.includes(word));
}

function useHits(typed: string): { hits: Hit[]; busy: boolean } {
  const navigate = useNavigate();
  const signOut = useSignOut();
  const { setColorScheme } = useMantineColorScheme();
  const [asked] = useDebouncedValue(typed.trim(), 150);
  const on = asked !== '';
  const sessions = useApi<Schemas['SessionList']>(['sessions'], '/sessions', on ? { search: asked, page_size: 7 } : { page_size: 5 }, { staleTime: 15_000 });
  const resources = useApi<Schemas['ResourceList']>(['resources'], '/resources', { search: asked }, { enabled: on, staleTime: 30_000 });
  const hits: Hit[] = [];
  for (const session of sessions.data?.sessions ?? []) {
    hits.push({
      id: `session-${session.id}`, group: 'Sessions', icon: session.kind === 'chat' ? 'chat' : 'sessions', words: session.title,
      aside: <>{statusWords(session.status)} · <Ago at={session.created_at} /></>,
      run: () => void navigate({ to: '/sessions/$id', params: { id: session.id } }),
    });
  }
  if (on) {
    for (const resource of (resources.data?.resources ?? []).filter((each) => matches(`${each.id} ${each.name} ${each.aliases.join(' ')}`, asked)).slice(0, 7)) {
      hits.push({
        id: `resource-${resource.id}`, group: 'Resources', icon: 'infrastructure', words: resource.name, aside: <code>{resource.id}</code>,
        run: () => void navigate({ to: '/infrastructure/$id', params: { id: resource.id } }),
      });
    }
  }
  for (const place of PLACES) {
    hits.push({ id: `page-${place.to}`, group: 'Pages', icon: place.icon, words: place.words, aside: <Keys keys={`g ${place.key}`} />, run: () => void navigate({ to: place.to }) });
  }
  const commands: [string, string, IconName, () => void][] = [
    ['chat', 'Ask a question', 'chat', () => void navigate({ to: '/chat' })],
    ['light', 'Theme: light', 'sun', () => { setColorScheme('light'); }],
    ['dark', 'Theme: dark', 'moon', () => { setColorScheme('dark'); }],
    ['auto', 'Theme: system', 'system', () => { setColorScheme('auto'); }],
    ['out', 'Sign out', 'user', signOut],
  ];
  for (const [id, words, icon, run] of commands) hits.push({ id: `command-${id}`, group: 'Commands', icon, words, run });
  const fits = hits.filter((hit) => hit.group === 'Sessions' || hit.group === 'Resources' || matches(`${hit.group} ${hit.words}`, typed.trim()));
  return { hits: fits, busy: on && (sessions.isFetching || resources.isFetching) };
}

function Results({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const { hits, busy } = useHits(typed);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const current = Math.min(at, hits.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    onClose();
    hit.run();
  };
  return (
    <>
      <div className="palette-head">
        <Icon name="search" />
        <input
          type="text" role="combobox" aria-expanded aria-controls={id} aria-label="Search sessions, resources, pages and commands" data-autofocus
          aria-activedescendant={hits[current] ? `${id}-${hits[current].id}` : undefined} placeholder="Sessions, resources, pages, commands" value={typed}
          onChange={(event) => { setTyped(event.currentTarget.value); setAt(0); }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') { event.preventDefault(); setAt(Math.min(hits.length - 1, current + 1)); }
            else if (event.key === 'ArrowUp') { event.preventDefault(); setAt(Math.max(0, current - 1)); }
            else if (event.key === 'Enter' && !event.nativeEvent.isComposing) { event.preventDefault(); choose(hits[current]); }
          }}
        />
        {busy && <span className="dim" role="status">searching…</span>}
      </div>
      <div ref={list} id={id} role="listbox" aria-label="Results" className="palette-list">
        {hits.length === 0 && <p className="dim palette-none">Nothing found{busy ? ' yet' : ''}.</p>}
        {hits.map((hit, index) => (
          <div key={hit.id} role="presentation">
            {hits[index - 1]?.group !== hit.group && <div className="palette-group" role="presentation">{hit.group}</div>}
            <div
              id={`${id}-${hit.id}`} role="option" aria-selected={index === current} className="palette-hit"
              onMouseMove={() => { setAt(index); }} onClick={() => { choose(hit); }}
            >
              <Icon name={hit.icon} />
              <span className="grow truncate">{hit.words}</span>
              <span className="dim nowrap palette-aside">{hit.aside}</span>
            </div>
          </div>
        ))}
      </div>
    </>
  );
}

/** The button in the top bar and the dialog. */
export function Palette() {
  const [open, setOpen] = useState(false);
  useShortcut('/|mod+k', 'Search', () => { setOpen(true); });
  return (
    <>
      <button type="button" className="search-button" onClick={() => { setOpen(true); }} aria-label="Search">
        <Icon name="search" /><span className="wide">Search</span><span className="wide"><Keys keys="/" /></span>
      </button>
      <Modal.Root opened={open} onClose={() => { setOpen(false); }} padding={0} size={560} yOffset="10dvh" transitionProps={{ duration: 0 }}>
        <Modal.Overlay />
        <Modal.Content aria-label="Search">
          <Results onClose={() => { setOpen(false); }} />
        </Modal.Content>
      </Modal.Root>
    </>
  );
}
