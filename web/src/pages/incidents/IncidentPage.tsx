// One incident: where it stands, what is being done, what happened to it, and what the alert says.

import { Anchor, Button, Group, Modal, Paper, Stack, Text, Textarea, Title } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi, useMay, useSend } from '../../api/hooks';
import { Mono } from '../../ui/Code';
import { Page } from '../../ui/Page';
import { Said } from '../../ui/Said';
import { Failed, Loading } from '../../ui/States';
import { StatusBadge } from '../../ui/Status';
import { Ago } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { ResourceLink } from '../infrastructure/ResourceLink';
import { SeverityBadge } from './IncidentRow';
import { doingTone, doingWords, eventWords, standingWords, STATUS } from './words';

type Detail = Schemas['IncidentDetail'];
type Act = 'acknowledge' | 'resolve' | 'reopen';

const ACTS: Record<Act, { words: string; title: string; body: string }> = {
  acknowledge: { words: 'Acknowledge', title: 'Acknowledge this incident?', body: 'Others see that somebody is looking after it. Sessions go on as before.' },
  resolve: { words: 'Resolve', title: 'Resolve this incident?', body: 'Use this when it is over, or not worth more work. If its alert still fires, that stays visible.' },
  reopen: { words: 'Reopen', title: 'Reopen this incident?', body: 'A new session starts for it.' },
};

function actsFor(status: Schemas['IncidentStatus']): Act[] {
  switch (status) {
    case 'open': return ['acknowledge', 'resolve'];
    case 'acknowledged':
    case 'mitigated': return ['resolve'];
    case 'resolved': return ['reopen'];
  }
}

function Acts({ incident }: { incident: Detail }) {
  const operate = useMay('operate');
  const [act, setAct] = useState<Act>();
  const [reason, setReason] = useState('');
  const close = () => { setAct(undefined); setReason(''); };
  const send = useSend<{ act: Act; reason?: string }, Detail>('POST', (input) => `/incidents/${incident.id}/${input.act}`, {
    body: (input) => (input.reason === undefined ? {} : { reason: input.reason }),
    invalidates: [['incidents'], ['incident', incident.id], ['overview'], ['sessions']],
    onSuccess: close,
  });
  if (!operate) return null;
  return (
    <>
      <Group gap="xs">
        {actsFor(incident.status).map((each) => <Button key={each} size="xs" variant="default" onClick={() => { setAct(each); }}>{ACTS[each].words}</Button>)}
      </Group>
      <Modal opened={act !== undefined} onClose={close} centered title={act && ACTS[act].title}>
        {act && (
          <form onSubmit={(event) => { event.preventDefault(); send.mutate({ act, ...(reason.trim() !== '' && { reason: reason.trim() }) }); }}>
            <Stack gap="sm">
              <Text size="sm">{ACTS[act].body}</Text>
              <Textarea label="Reason (optional)" maxLength={500} value={reason} onChange={(event) => { setReason(event.currentTarget.value); }} data-autofocus />
              {send.isError && <Failed error={send.error} />}
              <Group justify="end"><Button variant="default" onClick={close}>Cancel</Button><Button type="submit" loading={send.isPending}>{ACTS[act].words}</Button></Group>
            </Stack>
          </form>
        )}
      </Modal>
    </>
  );
}

function Facts({ incident }: { incident: Detail }) {
  return (
    <Paper withBorder p="sm">
      <dl className="facts">
        <dt>Status</dt>
        <dd title={STATUS[incident.status].title}>{standingWords(incident)}</dd>
        <dt>Alert</dt>
        <dd>{incident.firing ? <ToneBadge tone="failed">firing</ToneBadge> : 'not firing'}{incident.repeats > 0 && `, repeated ${incident.repeats}×`}</dd>
        {incident.summary !== '' && (<><dt>Summary</dt><dd><Said text={incident.summary} /></dd></>)}
        <dt>Resource</dt>
        <dd>{incident.resource ? <ResourceLink id={incident.resource} name={incident.resource} /> : incident.about ? <><Said text={incident.about} /> <span className="dim">(not known here)</span></> : <span className="dim">none named</span>}</dd>
        {incident.starts_at && (<><dt>Firing since</dt><dd><Ago at={incident.starts_at} /></dd></>)}
        <dt>Opened</dt>
        <dd><Ago at={incident.opened_at} /></dd>
        {incident.resolved_at && (<><dt>Resolved</dt><dd><Ago at={incident.resolved_at} /></dd></>)}
        <dt>Source</dt>
        <dd>{incident.source}{incident.alert_type && <>, type <Mono>{incident.alert_type}</Mono></>}</dd>
      </dl>
    </Paper>
  );
}

export function IncidentPage() {
  const { id } = useParams({ from: '/frame/incidents/$id' });
  const query = useApi<Detail>(['incident', id], `/incidents/${id}`, undefined, { refetchInterval: 10_000 });
  if (query.isPending) return <Page title="Incident"><Loading what="the incident" lines={6} /></Page>;
  if (query.isError && !query.data) return <Page title="Incident"><Failed error={query.error} retry={() => void query.refetch()} /></Page>;
  const incident = query.data;
  const tone = doingTone(incident);
  return (
    <Page title={incident.title} actions={<Acts incident={incident} />}>
      <Group gap="sm"><SeverityBadge severity={incident.severity} /><ToneBadge tone={tone}>{doingWords(incident)}</ToneBadge></Group>
      <Facts incident={incident} />
      <Stack gap="xs" component="section" aria-label="Sessions">
        <Title order={2} size="h5">Sessions</Title>
        {incident.sessions.length === 0 && <Text size="sm" c="dimmed">{incident.waiting ? 'No session has started yet: the queue is full, or the chain cannot run. It is retried every second; the server’s log gives the reason.' : 'No session worked on it.'}</Text>}
        {incident.sessions.map((session) => (
          <Group key={session.id} gap="sm" wrap="nowrap">
            <StatusBadge status={session.status} />
            <Anchor size="sm" className="truncate" renderRoot={(props) => <Link {...props} to="/sessions/$id" params={{ id: session.id }} />}>{session.title}</Anchor>
            <Text size="sm" c="dimmed"><Ago at={session.created_at} /></Text>
          </Group>
        ))}
      </Stack>
      <Stack gap="xs" component="section" aria-label="What happened">
        <Title order={2} size="h5">What happened</Title>
        <ol className="plain-list incident-events" reversed>
          {incident.events.map((event) => (
            <li key={event.number}>
              <span className="dim"><Ago at={event.last_at} /></span>
              <span>{eventWords(event)}</span>
              {event.session && <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/sessions/$id" params={{ id: event.session ?? '' }} />}>Open session</Anchor>}
              {event.text !== '' && <span className="dim"><Said text={event.text} /></span>}
            </li>
          ))}
        </ol>
      </Stack>
      <details>
        <summary>The alert as it came last</summary>
        <pre className="mono prewrap incident-alert"><Said text={incident.alert} /></pre>
      </details>
    </Page>
  );
}
