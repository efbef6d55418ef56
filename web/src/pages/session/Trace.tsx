import { Anchor, Button, Group, Paper, Select, Stack, Tabs, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { count, duration, exact, plural } from '../../lib/format';
import { useUrl } from '../../lib/url';
import type { Tone } from '../../theme';
import { CodeBlock, Mono } from '../../ui/Code';
import { Icon } from '../../ui/icons';
import { JsonView } from '../../ui/Json';
import { Page } from '../../ui/Page';
import { Empty, Failed, Loading } from '../../ui/States';
import { ToneIcon } from '../../ui/Tone';
import classes from './session.module.css';
import { type Interaction, interactionOf, type Step, stepOf } from './trace-facts';

const AT_ONCE = 100;

function InteractionRow({ found }: { found: Interaction }) {
  const [open, setOpen] = useState(false);
  const parts = [
    found.inputTokens !== undefined && `${count(found.inputTokens)} tokens in`,
    found.outputTokens !== undefined && `${count(found.outputTokens)} out`,
    found.firstSeconds !== undefined && `first token after ${duration(found.firstSeconds)}`,
    found.seconds !== undefined && `took ${duration(found.seconds)}`,
  ].filter((part) => part !== false);
  return (
    <div className={classes.tool}>
      <button type="button" className={`${classes.toolHead ?? ''} ${classes.wraps ?? ''}`} aria-expanded={open} onClick={() => { setOpen(!open); }}>
        <Icon name={open ? 'chevronDown' : 'chevronRight'} size={12} />
        <ToneIcon tone={found.failed ? 'failed' : 'plain'} size={14} label={found.failed ? 'failed' : 'answered'} />
        <strong className="nowrap">{found.number}</strong>
        <span className="mono truncate">{found.model}</span>
        <span className="dim truncate grow">{found.summary}</span>
        <span className={`dim ${classes.counts ?? ''}`}>{parts.join(' · ')}</span>
      </button>
      {open && (
        <div className={classes.toolBody}>
          {found.failed && <Text size="sm">Failed: {found.failed}</Text>}
          {found.thinking !== undefined && found.thinking !== '' && <CodeBlock text={found.thinking} label="thinking" />}
          {found.text !== undefined && found.text !== '' && <CodeBlock text={found.text} label="text" />}
          {found.calls.length > 0 && <div><div className={classes.label}>Tool calls</div><JsonView value={found.calls} label="tool calls" /></div>}
          {found.request !== undefined && <CodeBlock text={found.request} label="request" maxLines={20} />}
          {found.reply !== undefined && <CodeBlock text={found.reply} label="response" maxLines={20} />}
          <div><div className={classes.label}>Full record</div><JsonView value={found.whole} label="full record" /></div>
        </div>
      )}
    </div>
  );
}

function StepRow({ step }: { step: Step }) {
  const [open, setOpen] = useState(false);
  return (
    <div className={classes.tool}>
      <button type="button" className={`${classes.toolHead ?? ''} ${classes.wraps ?? ''}`} aria-expanded={open} onClick={() => { setOpen(!open); }}>
        <Icon name={open ? 'chevronDown' : 'chevronRight'} size={12} />
        <ToneIcon tone={step.tone} size={14} label={step.answer} />
        <strong className="nowrap">{step.number}</strong>
        <span className="nowrap">{step.ask}</span>
        <span className="mono truncate grow">{step.about}</span>
        <span className={`${classes.word ?? ''} nowrap`} data-tone={step.tone}>{step.answer}</span>
      </button>
      {open && (
        <div className={classes.toolBody}>
          {step.at !== undefined && <Text size="xs" c="dimmed">{exact(step.at)}</Text>}
          <div><div className={classes.label}>Input</div><JsonView value={step.input} label="input" /></div>
          <div><div className={classes.label}>Decision</div><JsonView value={step.outcome} label="decision" /></div>
        </div>
      )}
    </div>
  );
}

function Verdict({ trace }: { trace: Schemas['TraceForm'] }) {
  const tone: Tone = trace.replayed === true ? 'verified' : 'failed';
  return (
    <Paper withBorder p="md" role="status">
      <Group gap="sm" align="flex-start" wrap="nowrap">
        <ToneIcon tone={tone} />
        <Stack gap={4} className="grow">
          <Text size="sm" fw={600}>
            {trace.replayed === true
              ? `Replay matches: all ${plural(trace.decisions, 'decision')} are the same as in the record.`
              : `Replay differs: ${trace.differences.length === 0 ? 'some' : trace.differences.length} of ${plural(trace.decisions, 'decision')} differ from the record.`}
          </Text>
          <Text size="sm" c="dimmed">
            {trace.replayed === true
              ? 'The gate decided again on every recorded input. Nothing ran.'
              : 'Either the rules changed since this run, or the record was altered. Nothing ran. Run `interlock audit verify` to check whether the record is intact.'}
          </Text>
          {trace.differences.map((difference) => <Mono key={difference}>{difference}</Mono>)}
        </Stack>
      </Group>
    </Paper>
  );
}

function Many<T>({ items, render }: { items: readonly T[]; render: (item: T) => React.ReactNode }) {
  const [limit, setLimit] = useState(AT_ONCE);
  return (
    <div>
      {items.slice(0, limit).map(render)}
      {items.length > limit && (
        <Button variant="subtle" color="gray" size="compact-sm" mt={8} onClick={() => { setLimit(limit + 5 * AT_ONCE); }}>
          Show more of {items.length}
        </Button>
      )}
    </div>
  );
}

const DEFAULTS = { run: '', tab: 'models' };

/** Everything that was asked of models and of the gate in one run, and whether the gate would say the same again. */
export function Trace() {
  const { id = '' } = useParams({ strict: false });
  const [url, setUrl] = useUrl(DEFAULTS);
  const run = url.run === '' ? undefined : url.run;
  const detail = useApi<Schemas['SessionDetail']>(['session', id], `/sessions/${id}`);
  const trace = useApi<Schemas['TraceForm']>(['session', id, 'trace'], `/sessions/${id}/trace`, { run });
  const replay = useApi<Schemas['TraceForm']>(['session', id, 'trace'], `/sessions/${id}/trace`, { run, replay: true }, { enabled: false, gcTime: 0 });
  const runs = detail.data?.runs ?? [];
  const interactions = (trace.data?.interactions ?? []).map((one, index) => interactionOf(one, index));
  const steps = (trace.data?.steps ?? []).map((one, index) => stepOf(one, index));
  const input = interactions.reduce((sum, one) => sum + (one.inputTokens ?? 0), 0);
  const output = interactions.reduce((sum, one) => sum + (one.outputTokens ?? 0), 0);
  return (
    <Page
      title="Trace"
      heading={<>Trace of <Anchor component={Link} inherit to={`/sessions/${id}`}>{detail.data?.title ?? 'the session'}</Anchor></>}
      actions={
        <Group gap="sm">
          {runs.length > 1 && (
            <Select
              size="xs" w={220} aria-label="Run" value={run ?? runs.at(-1)?.id ?? null} allowDeselect={false}
              data={runs.map((one, place) => ({ value: one.id, label: `${place + 1}. ${one.input.trim().split('\n', 1)[0]?.slice(0, 40) ?? one.id}` }))}
              onChange={(value) => { setUrl({ run: value ?? undefined }); }}
            />
          )}
          <Button size="compact-sm" variant="default" loading={replay.isFetching} onClick={() => void replay.refetch()} leftSection={<Icon name="refresh" size={14} />}>
            Replay the gate
          </Button>
        </Group>
      }
    >
      <Text size="sm" c="dimmed">
        Every request to a model with its reply, and every question to the gate with its decision, in order. A replay computes every decision again and compares; it runs nothing.
      </Text>
      {replay.isError && <Failed error={replay.error} retry={() => void replay.refetch()} />}
      {replay.data && <Verdict trace={replay.data} />}
      {trace.isPending && <Loading what="the trace" lines={8} />}
      {trace.isError && <Failed error={trace.error} retry={() => void trace.refetch()} />}
      {trace.data && (
        <Tabs value={url.tab} onChange={(value) => { setUrl({ tab: value ?? undefined }); }}>
          <Tabs.List>
            <Tabs.Tab value="models">Models {interactions.length}</Tabs.Tab>
            <Tabs.Tab value="gate">Gate {steps.length}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="models" pt="sm">
            <Text size="xs" c="dimmed" className="prewrap">run <Mono>{trace.data.run}</Mono> · {count(input)} tokens in · {count(output)} out</Text>
            {interactions.length === 0
              ? <Empty title="No model calls">This run ended before the first request to a model.</Empty>
              : <Many items={interactions} render={(found) => <InteractionRow key={found.key} found={found} />} />}
          </Tabs.Panel>
          <Tabs.Panel value="gate" pt="sm">
            {steps.length === 0
              ? <Empty title="No decisions">No proposal reached the gate in this run.</Empty>
              : <Many items={steps} render={(step) => <StepRow key={step.key} step={step} />} />}
          </Tabs.Panel>
        </Tabs>
      )}
    </Page>
  );
}

