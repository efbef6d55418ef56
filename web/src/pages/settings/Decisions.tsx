// What the gate answered, newest first. A refusal is the product at work: its rule, its code and its sentence stand here.

import { Anchor, Button, Group, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../api/client';
import { shortId } from '../../lib/format';
import type { Tone } from '../../theme';
import { useUrl } from '../../lib/url';
import { Mono } from '../../ui/Code';
import { Empty, ErrorCode, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { usePages } from './pages';

type Decision = Schemas['DecisionForm'];

const DEFAULTS = { answer: 'refused', code: '', session: '' };

const ANSWERS: Record<string, { tone: Tone; words: string }> = {
  allowed: { tone: 'plain', words: 'allowed' },
  answer_allowed: { tone: 'plain', words: 'answer allowed' },
  held: { tone: 'waiting', words: 'held for approval' },
  refused: { tone: 'refused', words: 'refused' },
};

const COLUMNS: Column<Decision>[] = [
  { key: 'at', title: 'Time', sortable: false, value: ({ at }) => at, render: ({ at }) => <Ago at={at} /> },
  {
    key: 'answer',
    title: 'Decision',
    sortable: false,
    value: ({ answer }) => answer,
    render: ({ answer }) => {
      const look = ANSWERS[answer] ?? { tone: 'plain' as const, words: answer };
      return <ToneBadge tone={look.tone}>{look.words}</ToneBadge>;
    },
  },
  { key: 'tool', title: 'Tool', sortable: false, value: ({ tool }) => tool, render: ({ tool }) => <span className="nowrap">{tool ? <Mono>{tool}</Mono> : <span className="dim">final answer</span>}</span> },
  {
    key: 'why',
    title: 'Reason',
    sortable: false,
    value: ({ message }) => message,
    render: ({ code, message, rule }) => (
      <>
        <Group gap="sm">
          {code ? <ErrorCode code={code} /> : null}
          {rule ? <Text size="xs" c="dimmed">rule {rule}</Text> : null}
        </Group>
        {message ? <Text size="sm" miw={240}>{message}</Text> : null}
      </>
    ),
  },
  {
    key: 'session',
    title: 'Session',
    sortable: false,
    value: ({ session }) => session,
    render: ({ session }) => (
      <Anchor size="sm" title={session} renderRoot={(props) => <Link to="/sessions/$id" params={{ id: session }} {...props} />}>
        {shortId(session)}
      </Anchor>
    ),
  },
];

export function Decisions() {
  const [url, setUrl] = useUrl(DEFAULTS);
  const [code] = useDebouncedValue(url.code, 300);
  const [session] = useDebouncedValue(url.session, 300);
  const list = usePages<Schemas['DecisionPage']>('decisions', '/decisions', {
    answer: url.answer === 'all' ? undefined : url.answer,
    code: code.trim().toUpperCase(),
    session: session.trim(),
  });
  const rows = list.data?.flatMap(({ decisions }) => decisions) ?? [];
  return (
    <Stack gap="sm">
      <Group gap="sm" align="flex-end" wrap="wrap">
        <SegmentedControl
          size="xs" aria-label="Decision" value={url.answer} onChange={(answer) => { setUrl({ answer }); }}
          data={[
            { value: 'refused', label: 'Refused' }, { value: 'held', label: 'Held' }, { value: 'allowed', label: 'Allowed' },
            { value: 'answer_allowed', label: 'Answers' }, { value: 'all', label: 'All' },
          ]}
        />
        <TextInput size="xs" w={200} label="Code" placeholder="ROUTING_MISMATCH" value={url.code} onChange={(event) => { setUrl({ code: event.currentTarget.value }); }} />
        <TextInput size="xs" w={220} label="Session" placeholder="id" value={url.session} onChange={(event) => { setUrl({ session: event.currentTarget.value }); }} />
      </Group>
      {list.error ? (
        <Failed error={list.error} retry={() => void list.refetch()} />
      ) : !list.data ? (
        <Loading what="decisions" lines={6} />
      ) : (
        <DataTable
          name="decisions" label="Decisions" columns={COLUMNS} rows={rows} rowKey={({ position }) => String(position)}
          empty={
            <Empty title={url.answer === 'refused' ? 'No refusals' : 'No decision matches'}>
              The gate decides on each proposal of a model. Refusals are listed here with the rule that decided.
            </Empty>
          }
        />
      )}
      {list.hasNextPage && (
        <Button variant="default" size="xs" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>Load older</Button>
      )}
    </Stack>
  );
}
