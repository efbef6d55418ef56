// In two seconds: does something wait for me, is anything wrong, what is it doing.

import { Anchor, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { count, plural } from '../../lib/format';
import { useOverview } from '../../ui/frame/overview';
import { LEVELS, modeSays } from '../../ui/frame/words';
import { Icon } from '../../ui/icons';
import { Page } from '../../ui/Page';
import { Said } from '../../ui/Said';
import { isOpen, StatusBadge, statusWords } from '../../ui/Status';
import { Empty, Failed, Loading } from '../../ui/States';
import { Ago, Elapsed } from '../../ui/Time';
import { ToneBadge, ToneIcon } from '../../ui/Tone';
import { ApprovalCard } from '../approvals/ApprovalCard';
import { useCards } from '../approvals/useCards';
import { IncidentRow } from '../incidents/IncidentRow';
import { Marks } from '../sessions/Marks';
import { useLatest } from './latest';

type Summary = Schemas['SessionSummary'];

function Section({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <Stack gap="sm" component="section" aria-label={title}>
      <Group justify="space-between"><Title order={2} size="h5">{title}</Title>{aside}</Group>
      {children}
    </Stack>
  );
}

/** What is wrong comes first: a session that has ended hides nothing. */
function OpenIncidents() {
  const query = useApi<Schemas['IncidentPage']>(['incidents'], '/incidents', { status: 'unresolved', limit: 5 }, { refetchInterval: 10_000 });
  if (query.isPending) return null;
  if (query.isError) return <Section title="Open incidents"><Failed error={query.error} retry={() => void query.refetch()} /></Section>;
  const { incidents, total } = query.data;
  const all = <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/incidents" />}>All incidents</Anchor>;
  if (total === 0) return <Section title="Open incidents" aside={all}><Text size="sm" c="dimmed">No open incidents.</Text></Section>;
  return (
    <Section title={`Open incidents: ${total}`} aside={all}>
      {incidents.map((incident) => <IncidentRow key={incident.id} incident={incident} />)}
      {total > incidents.length && <Text size="sm" c="dimmed">and {count(total - incidents.length)} more</Text>}
    </Section>
  );
}

function NeedsMe() {
  const { query, ids, waiting } = useCards();
  const title = waiting.size > 0 ? `Needs you now: ${waiting.size}` : 'Needs you now';
  return (
    <Section title={title} aside={<Anchor size="sm" renderRoot={(props) => <Link {...props} to="/approvals" />}>All approvals</Anchor>}>
      {query.isPending && <Loading what="approvals" lines={2} />}
      {query.isError && ids.length === 0 && <Failed error={query.error} retry={() => void query.refetch()} />}
      {query.isSuccess && ids.length === 0 && (
        <Paper withBorder p="md"><Text size="sm">No approvals waiting. When an agent wants to change something, its exact plan appears here first.</Text></Paper>
      )}
      {ids.map((id, index) => <ApprovalCard key={id} id={id} compact keys={index === 0} />)}
    </Section>
  );
}

function Running({ session }: { session: Summary }) {
  const latest = useLatest(session);
  return (
    <Paper withBorder p="sm" component="article">
      <Group justify="space-between" wrap="nowrap" gap="sm" className="running">
        <Anchor fw={600} size="sm" c="inherit" underline="hover" className="truncate" renderRoot={(props) => <Link {...props} to="/sessions/$id" params={{ id: session.id }} />}>{session.title}</Anchor>
        <Group gap="sm" wrap="nowrap">
          <Text size="sm" c="dimmed"><Elapsed from={session.started_at ?? session.created_at} /></Text>
          <StatusBadge status={session.status} />
        </Group>
      </Group>
      <Group gap={6} wrap="nowrap" className="latest">
        <ToneIcon tone={latest.tone} size={14} {...(latest.tone !== 'plain' && { label: latest.tone })} />
        <Text size="sm" c="dimmed" className="truncate">{latest.words}</Text>
      </Group>
    </Paper>
  );
}

function Recent({ sessions }: { sessions: readonly Summary[] }) {
  return (
    <Paper withBorder component="ul" className="plain-list rows">
      {sessions.map((session) => (
        <li key={session.id}>
          <Link to="/sessions/$id" params={{ id: session.id }} className="row">
            <StatusBadge status={session.status} />
            <span className="grow truncate">{session.title}</span>
            <span className="wide marks"><Marks session={session} /></span>
            <span className="dim"><Ago at={session.completed_at ?? session.last_interaction_at} /></span>
          </Link>
        </li>
      ))}
    </Paper>
  );
}

function Sessions() {
  const query = useApi<Schemas['SessionList']>(['sessions'], '/sessions', { page_size: 20, sort: 'last_interaction_at', order: 'desc' }, { refetchInterval: 30_000 });
  if (query.isPending) return <Loading what="sessions" lines={4} />;
  if (query.isError) return <Failed error={query.error} retry={() => void query.refetch()} />;
  const open = query.data.sessions.filter((each) => isOpen(each.status));
  const ended = query.data.sessions.filter((each) => !isOpen(each.status)).slice(0, 8);
  if (query.data.total === 0) {
    return (
      <Empty
        title="No sessions yet"
        command={`interlock run 'Why is jellyfin down on homepage-docker?'\n\ncurl -H "Authorization: Bearer $INTERLOCK_TOKEN" -H 'content-type: application/json' \\\n  -d '{"data":"jellyfin is down on homepage-docker"}' \\\n  ${window.location.origin}/api/v1/alerts`}
      >
        Send an alert, or <Anchor inherit renderRoot={(props) => <Link {...props} to="/chat" />}>ask a question</Anchor>. Create the API token for the alert in{' '}
        <Anchor inherit renderRoot={(props) => <Link {...props} to="/settings/$tab" params={{ tab: 'tokens' }} />}>Settings</Anchor>.
      </Empty>
    );
  }
  return (
    <>
      <Section title={open.length > 0 ? `Running: ${open.length}` : 'Running'}>
        {open.length === 0 ? <Text size="sm" c="dimmed">No session is running.</Text> : open.map((session) => <Running key={session.id} session={session} />)}
      </Section>
      <Section title="Recent" aside={<Anchor size="sm" renderRoot={(props) => <Link {...props} to="/sessions" />}>All sessions</Anchor>}>
        {ended.length === 0 ? <Text size="sm" c="dimmed">No session has ended yet.</Text> : <Recent sessions={ended} />}
      </Section>
    </>
  );
}

type Check = Schemas['Overview']['health']['checks'][number];

function Checks({ checks }: { checks: readonly Check[] }) {
  return (
    <ul className="plain-list checks">
      {checks.map((check) => (
        <li key={check.name}>
          {check.ok ? <Icon name="check" size={14} label="OK" /> : <ToneIcon tone="failed" size={14} label="failed" />}
          <span className="mono">{check.name}</span>
          <span className="dim grow"><Said text={check.detail} /></span>
        </li>
      ))}
    </ul>
  );
}

/** What works, in a line. */
function goodWords(checks: readonly Check[]): string {
  const connections = checks.filter((check) => check.name.startsWith('connection')).length;
  const others = checks.length - connections;
  const say = (value: number, one: string) => `${plural(value, one)} OK`;
  if (connections === 0) return say(others, 'component');
  return others === 0 ? say(connections, 'connection') : `${say(connections, 'connection')}, ${say(others, 'other component')}`;
}

function Health({ overview }: { overview: Schemas['Overview'] }) {
  const { health, writes } = overview;
  const bad = health.checks.filter((check) => !check.ok);
  const good = health.checks.filter((check) => check.ok);
  return (
    <Section title="Interlock’s own health">
      <Paper withBorder p="sm">
        <Stack gap="sm">
          <Group gap="sm">
            {bad.length === 0 ? <ToneBadge tone="plain" icon="check">{health.status}</ToneBadge> : <ToneBadge tone="failed">{health.status}: {plural(bad.length, 'problem')}</ToneBadge>}
            <Text size="sm" c="dimmed">up since <Ago at={overview.started_at} /></Text>
          </Group>
          {bad.length > 0 && <Checks checks={bad} />}
          {good.length > 0 && (
            <details>
              <summary>{goodWords(good)}</summary>
              <Checks checks={good} />
            </details>
          )}
        </Stack>
      </Paper>
      <Paper withBorder p="sm">
        <dl className="facts">
          <dt>Level</dt>
          <dd><b>{LEVELS[overview.level].name}</b>. {LEVELS[overview.level].says}{overview.four_eyes && ' A person other than the owner of a session must approve.'}</dd>
          <dt>Mode</dt>
          <dd><b>{overview.mode}</b>. {modeSays(overview.mode)}</dd>
          <dt>Writes</dt>
          <dd>{writes.stopped ? <ToneBadge tone="refused">stopped{writes.by ? ` by ${writes.by}` : ''}</ToneBadge> : 'allowed, subject to level and mode'}</dd>
          <dt>Sessions</dt>
          <dd>{overview.sessions.filter((each) => each.count > 0).map((each) => `${each.count} ${statusWords(each.status)}`).join(', ') || 'none yet'}</dd>
          <dt>Version</dt>
          <dd>{overview.version}</dd>
        </dl>
      </Paper>
    </Section>
  );
}

export function Overview() {
  const overview = useOverview();
  return (
    <Page title="Overview">
      <div className="overview">
        <Stack gap="xl">
          <OpenIncidents />
          <NeedsMe />
          <Sessions />
        </Stack>
        <div>
          {overview.isPending && <Loading what="the state of the server" />}
          {overview.isError && !overview.data && <Failed error={overview.error} retry={() => void overview.refetch()} />}
          {overview.data && <Health overview={overview.data} />}
        </div>
      </div>
    </Page>
  );
}
