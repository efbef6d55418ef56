import { Anchor, Group, Paper, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../api/client';
import { Said } from '../../ui/Said';
import { Ago } from '../../ui/Time';
import { ToneBadge, ToneIcon } from '../../ui/Tone';
import { ResourceLink } from '../infrastructure/ResourceLink';
import { doingTone, doingWords, SEVERITY, standingWords, STATUS } from './words';

type Incident = Schemas['IncidentSummary'];

export function SeverityBadge({ severity }: { severity: Schemas['Severity'] }) {
  const look = SEVERITY[severity];
  return <ToneBadge tone={look.tone} icon={look.icon}>{look.words}</ToneBadge>;
}

/** One incident: how bad, since when, what it is, what is being done. */
export function IncidentRow({ incident }: { incident: Incident }) {
  const { session } = incident;
  const tone = doingTone(incident);
  return (
    <Paper withBorder p="sm" component="article" className="incident" data-severity={incident.status === 'resolved' ? undefined : incident.severity}>
      <Group justify="space-between" wrap="nowrap" gap="sm" className="running">
        <Anchor fw={600} size="sm" c="inherit" underline="hover" className="truncate" renderRoot={(props) => <Link {...props} to="/incidents/$id" params={{ id: incident.id }} />}>{incident.title}</Anchor>
        <Group gap="sm" wrap="nowrap">
          <Text size="sm" c="dimmed"><Ago at={incident.starts_at ?? incident.opened_at} /></Text>
          <SeverityBadge severity={incident.severity} />
          <span title={STATUS[incident.status].title}><ToneBadge tone="plain" icon={incident.status === 'resolved' ? 'check' : 'clock'}>{standingWords(incident)}</ToneBadge></span>
        </Group>
      </Group>
      <Group gap={8} wrap="wrap" className="latest">
        <ToneIcon tone={tone} size={14} />
        {session ? (
          <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/sessions/$id" params={{ id: session.id }} />}>{doingWords(incident)}</Anchor>
        ) : (
          <Text size="sm" c="dimmed">{doingWords(incident)}</Text>
        )}
        {incident.resource && <Text size="sm" c="dimmed"><ResourceLink id={incident.resource} name={incident.resource} /></Text>}
        {incident.repeats > 0 && <Text size="sm" c="dimmed">repeated {incident.repeats}×</Text>}
        {incident.summary !== '' && !incident.title.includes(incident.summary) && <Text size="sm" c="dimmed" className="truncate grow"><Said text={incident.summary} /></Text>}
      </Group>
    </Paper>
  );
}
