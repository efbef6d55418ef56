// One resource: what is known about it, how it stands, its numbers over time, what Interlock did to it.

import { Anchor, Breadcrumbs, Button, Group, Paper, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';

import { ApiError, type Schemas } from '../../api/client';
import { useApi, useMay } from '../../api/hooks';
import { plural } from '../../lib/format';
import { useUrl } from '../../lib/url';
import { CopyButton, Mono } from '../../ui/Code';
import { Icon } from '../../ui/icons';
import { JsonView } from '../../ui/Json';
import { Page } from '../../ui/Page';
import { Empty, Failed, Loading } from '../../ui/States';
import { Ago } from '../../ui/Time';
import { facts } from './facts';
import { History } from './History';
import { Metrics } from './Metrics';
import { ResourceLink } from './ResourceLink';
import { ancestors, children, kindWords, type Resource } from './resources';
import { StateMark } from './StateMark';

const DEFAULTS = { hours: '6' };

export function ResourcePage() {
  const { id = '' } = useParams({ strict: false });
  const [url, setUrl] = useUrl(DEFAULTS);
  const resource = useApi<Resource>(['resource', id], `/resources/${encodeURIComponent(id)}`, undefined, { refetchInterval: 15_000 });
  const all = useApi<Schemas['ResourceList']>(['resources'], '/resources');
  const mayAsk = useMay('operate');

  if (resource.error) {
    const gone = resource.error instanceof ApiError && resource.error.status === 404;
    return (
      <Page title={id}>
        {gone ? (
          <Empty title="Resource not found">
            <p><Mono>{id}</Mono> does not exist or was not discovered. It may have been deleted, or moved to another host: an id contains the host.</p>
            <Anchor size="sm" renderRoot={(props) => <Link to="/infrastructure" search={{}} {...props} />}>All resources</Anchor>
          </Empty>
        ) : (
          <Failed error={resource.error} retry={() => void resource.refetch()} />
        )}
      </Page>
    );
  }
  if (!resource.data) return <Page title={id}><Loading what="the resource" lines={6} /></Page>;

  const { name, kind, state, source, aliases } = resource.data;
  const raw = resource.data.facts as Record<string, unknown>;
  const stale = typeof raw.stale_since === 'string' ? raw.stale_since : undefined;
  const known = all.data?.resources ?? [];
  const above = ancestors(known, id);
  const below = children(known, id);
  return (
    <Page
      title={name}
      actions={
        mayAsk && (
          <Button
            size="xs" leftSection={<Icon name="chat" size={14} />}
            renderRoot={(props) => <Link to="/chat" search={{ ask: `@${name} ` } as never} {...props} />}
          >
            Ask about this
          </Button>
        )
      }
    >
      <Breadcrumbs separator="›" aria-label="Hosts of this resource">
        <Anchor size="sm" renderRoot={(props) => <Link to="/infrastructure" search={{}} {...props} />}>Infrastructure</Anchor>
        {above.toReversed().map((parent) => <ResourceLink key={parent.id} id={parent.id} name={parent.name} />)}
        <Text size="sm">{name}</Text>
      </Breadcrumbs>
      {stale !== undefined && (
        <Paper withBorder p="sm">
          <Text size="sm">
            The connection <Mono>{source}</Mono> is not reachable. This data is from <Ago at={stale} />.
          </Text>
        </Paper>
      )}
      <div className="resource-top">
        <Paper withBorder p="md" component="section" aria-labelledby="facts">
          <Title order={2} size="h5" mb="sm" id="facts">Details</Title>
          <dl className="facts">
            <dt>State</dt>
            <dd><StateMark state={state} /></dd>
            <dt>Type</dt>
            <dd>{kindWords(kind)}</dd>
            <dt>Id</dt>
            <dd><Group gap={4}><Mono>{id}</Mono><CopyButton text={id} label="Copy the id" /></Group></dd>
            <dt>Source</dt>
            <dd>{source}</dd>
            {resource.data.read_sandbox && (
              <>
                <dt>Read sandbox</dt>
                <dd>{resource.data.read_sandbox.phrase}</dd>
              </>
            )}
            {aliases.length > 0 && (
              <>
                <dt>Also known as</dt>
                <dd><Mono>{aliases.join(', ')}</Mono></dd>
              </>
            )}
            {facts(raw).filter(({ label }) => label !== 'Stale since').map((fact) => (
              <FactRow key={fact.label} label={fact.label} text={fact.text} value={fact.value} />
            ))}
          </dl>
        </Paper>
        <Paper withBorder p="md" component="section" aria-labelledby="around">
          <Title order={2} size="h5" mb="sm" id="around">Related resources</Title>
          {above.length === 0 && below.length === 0 && <Text size="sm" c="dimmed">No related resources.</Text>}
          {above.length > 0 && (
            <Stack gap={4} mb="sm">
              {above.map((parent) => <Around key={parent.id} resource={parent} word="on" />)}
            </Stack>
          )}
          {below.length > 0 && (
            <>
              <Text size="sm" c="dimmed" mb={4}>{plural(below.length, 'resource')} on it</Text>
              <Stack gap={4} className="scroll-list" tabIndex={0} role="region" aria-label="Resources on it">
                {below.map((child) => <Around key={child.id} resource={child} />)}
              </Stack>
            </>
          )}
        </Paper>
      </div>
      <section aria-labelledby="metrics">
        <Group justify="space-between" mb="sm">
          <Title order={2} size="h5" id="metrics">Metrics</Title>
          <SegmentedControl
            size="xs" aria-label="Time range" value={url.hours} onChange={(hours) => { setUrl({ hours }); }}
            data={[{ value: '1', label: '1 h' }, { value: '6', label: '6 h' }, { value: '24', label: '24 h' }]}
          />
        </Group>
        <Metrics id={id} hours={['1', '6', '24'].includes(url.hours) ? Number(url.hours) : 6} />
      </section>
      <section aria-labelledby="history">
        <Title order={2} size="h5" id="history">Interlock history</Title>
        <History id={id} />
      </section>
    </Page>
  );
}

function FactRow({ label, text, value }: { label: string; text: string | undefined; value: unknown }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{text ?? <JsonView value={value} label={label} />}</dd>
    </>
  );
}

function Around({ resource, word }: { resource: Resource; word?: string }) {
  return (
    <Group gap="sm" wrap="wrap">
      {word !== undefined && <Text size="sm" c="dimmed">{word}</Text>}
      <ResourceLink id={resource.id} name={resource.name} />
      <Text size="sm" c="dimmed">{kindWords(resource.kind)}</Text>
      <StateMark state={resource.state} />
    </Group>
  );
}
