import { Button, Group, MultiSelect, Select, TextInput } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type RefObject, useEffect, useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { Icon } from '../../ui/icons';
import { statusWords } from '../../ui/Status';
import { FILTER_KEYS, filterCount, type ListUrl } from './query';

type Change = (patch: Readonly<Record<string, string | undefined>>) => void;

const ALL: readonly Schemas['Status'][] = ['pending', 'in_progress', 'held', 'cancelling', 'completed', 'unverified', 'failed', 'cancelled', 'timed_out'];
const PAUSE = 250;

function SearchBox({ value, onChange, box }: { value: string; onChange: (value: string) => void; box: RefObject<HTMLInputElement | null> }) {
  const [text, setText] = useState(value);
  // The address changed by something else than typing here: a view, the back button.
  const [known, setKnown] = useState(value);
  if (value !== known) {
    setKnown(value);
    setText(value);
  }
  useEffect(() => {
    if (text === known) return undefined;
    const timer = setTimeout(() => {
      onChange(text);
    }, PAUSE);
    return () => {
      clearTimeout(timer);
    };
  }, [text, known, onChange]);
  return (
    <TextInput
      ref={box} size="xs" className="grow" miw={170} maw={360} type="search" value={text} placeholder="Search (/)" aria-label="Search sessions"
      leftSection={<Icon name="search" size={14} />}
      onChange={(event) => { setText(event.currentTarget.value); }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onChange(text);
        if (event.key === 'Escape') event.currentTarget.blur();
      }}
    />
  );
}

export function Filters({ url, change, box }: { url: ListUrl; change: Change; box: RefObject<HTMLInputElement | null> }) {
  const known = useApi<Schemas['SessionFilters']>(['sessions', 'filters'], '/sessions/filters', undefined, { staleTime: 60_000 });
  const set = (key: string) => (value: string | null) => { change({ [key]: value ?? undefined, page: undefined }); };
  const choose = (key: 'alert_type' | 'chain' | 'owner', words: string, values: readonly string[] | undefined) => {
    const value = url[key] === '' ? null : url[key];
    // What the address asks for can be chosen, also before the list of choices is there.
    const data = [...new Set([...(values ?? []), ...(value === null ? [] : [value])])];
    return (
      <Select
        key={key} size="xs" w={120} placeholder={words} aria-label={words} clearable searchable={data.length > 8} data={data} value={value}
        onChange={set(key)} nothingFoundMessage="None"
      />
    );
  };
  const chosen = url.status.split(',').filter((one) => one !== '');
  const narrow = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false });
  const [open, setOpen] = useState(false);
  const active = filterCount(url);
  const more = (
    <>
      <MultiSelect
        size="xs" miw={140} maw={320} placeholder={chosen.length === 0 ? 'Any status' : ''} aria-label="Status" clearable value={chosen}
        data={(known.data?.statuses ?? ALL).map((value) => ({ value, label: statusWords(value) }))}
        onChange={(values) => { change({ status: values.join(','), page: undefined }); }}
      />
      <Select
        size="xs" w={120} placeholder="Chain or chat" aria-label="Kind" clearable value={url.kind === '' ? null : url.kind} onChange={set('kind')}
        data={[{ value: 'chain', label: 'chain' }, { value: 'chat', label: 'chat' }]}
      />
      {choose('alert_type', 'Alert type', known.data?.alert_types)}
      {choose('chain', 'Chain', known.data?.chains)}
      {choose('owner', 'Owner', known.data?.owners)}
      <TextInput size="xs" type="date" w={132} aria-label="From date" value={url.from} max={url.to === '' ? undefined : url.to} onChange={(event) => { set('from')(event.currentTarget.value); }} />
      <TextInput size="xs" type="date" w={132} aria-label="To date" value={url.to} min={url.from === '' ? undefined : url.from} onChange={(event) => { set('to')(event.currentTarget.value); }} />
    </>
  );
  return (
    <Group gap={8}>
      <SearchBox box={box} value={url.search} onChange={set('search')} />
      {narrow && (
        <Button size="xs" variant="default" aria-expanded={open} leftSection={<Icon name="filter" size={14} />} onClick={() => { setOpen(!open); }}>
          {active === 0 ? 'Filters' : `Filters: ${active}`}
        </Button>
      )}
      {(!narrow || open) && more}
      {active > 0 && (
        <Button
          size="compact-xs" variant="subtle" color="gray"
          onClick={() => { change({ ...Object.fromEntries(FILTER_KEYS.map((key) => [key, undefined])), page: undefined }); }}
        >
          Clear
        </Button>
      )}
    </Group>
  );
}
