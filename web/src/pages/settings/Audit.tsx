// Who did what, each entry bound to the one before it. The verdict over the whole is asked for, not assumed.

import { Button, Group, Paper, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, type ApiError, type Schemas } from '../../api/client';
import { serverNow } from '../../lib/clock';
import { count, plural } from '../../lib/format';
import { useUrl } from '../../lib/url';
import { Mono } from '../../ui/Code';
import { JsonView } from '../../ui/Json';
import { Empty, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { ToneIcon } from '../../ui/Tone';
import { usePages } from './pages';
import { type Verdict, verifyAll } from './verify';

type Entry = Schemas['AuditEntry'];

const DEFAULTS = { actor: '', action: '', subject: '' };

const COLUMNS: Column<Entry>[] = [
  { key: 'number', title: 'No.', align: 'right', sortable: false, value: ({ number }) => number, render: ({ number }) => count(number) },
  { key: 'at', title: 'Time', sortable: false, value: ({ at }) => at, render: ({ at }) => <Ago at={at} /> },
  { key: 'actor', title: 'User', sortable: false, value: ({ actor }) => actor, render: ({ actor, action }) => actor ?? <span className="dim">{action === 'sign_in.failed' ? 'not signed in' : 'the server'}</span> },
  { key: 'action', title: 'Action', sortable: false, value: ({ action }) => action, render: ({ action }) => <span className="nowrap"><Mono>{action}</Mono></span> },
  { key: 'subject', title: 'Subject', sortable: false, value: ({ subject }) => subject, render: ({ subject }) => (subject ? <Mono>{subject}</Mono> : <span className="dim">–</span>) },
  {
    key: 'details',
    title: 'Details',
    sortable: false,
    value: ({ details }) => JSON.stringify(details),
    render: ({ details }) =>
      Object.keys(details).length === 0 ? <span className="dim">–</span> : <details><summary>{Object.keys(details).join(', ')}</summary><JsonView value={details} label="details" /></details>,
  },
  { key: 'hash', title: 'Hash', sortable: false, hidden: true, value: ({ hash }) => hash, render: ({ hash }) => <Mono title={hash}>{hash.slice(0, 12)}</Mono> },
];

export function Audit() {
  const [url, setUrl] = useUrl(DEFAULTS);
  const [asked] = useDebouncedValue(url, 300);
  const list = usePages<Schemas['AuditPage']>('audit', '/audit', { actor: asked.actor.trim(), action: asked.action.trim(), subject: asked.subject.trim() });
  const rows = list.data?.flatMap(({ entries }) => entries) ?? [];
  return (
    <Stack gap="sm">
      <Verify />
      <Group gap="sm" wrap="wrap">
        <TextInput size="xs" w={160} label="User" value={url.actor} onChange={(event) => { setUrl({ actor: event.currentTarget.value }); }} />
        <TextInput size="xs" w={200} label="Action" placeholder="hold.approved" value={url.action} onChange={(event) => { setUrl({ action: event.currentTarget.value }); }} />
        <TextInput size="xs" w={240} label="Subject" value={url.subject} onChange={(event) => { setUrl({ subject: event.currentTarget.value }); }} />
      </Group>
      {list.error ? (
        <Failed error={list.error} retry={() => void list.refetch()} />
      ) : !list.data ? (
        <Loading what="the audit log" lines={6} />
      ) : (
        <DataTable
          name="audit" label="Audit log" columns={COLUMNS} rows={rows} rowKey={({ number }) => String(number)}
          empty={<Empty title="No entry matches">Enter the whole name, for example <Mono>hold.approved</Mono>.</Empty>}
        />
      )}
      {list.hasNextPage && (
        <Button variant="default" size="xs" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>Load older</Button>
      )}
    </Stack>
  );
}

function Verify() {
  const [at, setAt] = useState<string>();
  const [soFar, setSoFar] = useState(0);
  const check = useMutation<Verdict, ApiError>({
    mutationFn: () => { setSoFar(0); return verifyAll((path) => api.get<Schemas['AuditCheck']>(path), setSoFar); },
    onSuccess: () => { setAt(new Date(serverNow()).toISOString()); },
  });
  const verdict = check.data;
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" wrap="wrap" gap="sm">
        <Group gap="sm" wrap="nowrap" className="grow" role="status">
          {verdict && <ToneIcon tone={verdict.intact ? 'verified' : 'failed'} />}
          <Text size="sm">
            {check.isPending
              ? soFar === 0 ? 'Checking the log and the sessions…' : `Checking the sessions: ${count(soFar)} so far…`
              : !verdict
                ? 'Each entry contains the hash of the previous one, and the rows of each session are signed, so a change is detected.'
                : verdict.intact
                  ? <>Verified: all {count(verdict.entries)} entries are intact{verdict.signed ? `, and so ${verdict.sessions === 1 ? 'is' : 'are'} ${plural(verdict.sessions, 'session')}` : ''}; the last hash is <Mono title={verdict.head}>{verdict.head.slice(0, 16)}</Mono>. Checked <Ago at={at} />.{verdict.signed ? '' : ' The store is not signed, so sessions were not checked.'}</>
                  : <>Not intact: {verdict.problems[0] ?? 'an entry does not match'}{verdict.problems.length > 1 ? ` (${count(verdict.problems.length)} problems)` : ''}. The record was changed by a person or by a disk error. First make a copy of the store, then run <Mono>interlock audit verify</Mono>.</>}
          </Text>
        </Group>
        <Button size="xs" variant="default" loading={check.isPending} onClick={() => { check.mutate(); }}>Verify record</Button>
      </Group>
      {check.error && <Failed error={check.error} />}
    </Paper>
  );
}
