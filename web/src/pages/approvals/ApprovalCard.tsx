// One approval. The exact plan first; after the click the same card tells what came of it.

import { Anchor, Button, Group, Paper, Stack, Text, Textarea, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';

import { useApi, useChannel, useMay } from '../../api/hooks';
import { serverNow, useNow } from '../../lib/clock';
import { duration } from '../../lib/format';
import { ruleWords } from '../../lib/words';
import { Mono } from '../../ui/Code';
import { ChangeTable } from '../../ui/Json';
import { useOverview } from '../../ui/frame/overview';
import { useShortcut } from '../../ui/shortcuts';
import { Said } from '../../ui/Said';
import { ErrorCode, Failed, Loading } from '../../ui/States';
import { Ago, Countdown } from '../../ui/Time';
import { ToneBadge, ToneIcon } from '../../ui/Tone';
import { EditForm } from './EditForm';
import { Plan, Reasons } from './Plan';
import { type Decision, useDecision } from './useDecision';
import { type Approval, ending, type Known, planTitle, progress, riskWords, type Step, type Trouble, unfinished } from './words';

function Line({ step }: { step: Step }) {
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start" component="li" className={step.busy ? 'busy' : undefined}>
      <ToneIcon tone={step.tone} label={step.tone} />
      <Text size="sm"><Said text={step.words} /></Text>
    </Group>
  );
}

function Told({ told }: { told: Trouble }) {
  return (
    <Paper withBorder p="sm" role="alert" className="failed">
      <Group gap="sm" wrap="nowrap" align="flex-start">
        <ToneIcon tone="failed" label="failed" />
        <Stack gap={2}>
          <Text size="sm" fw={600}>{told.title}</Text>
          <Text size="sm"><Said text={told.meaning} /></Text>
          <Text size="sm" c="dimmed">What to do: <Said text={told.todo} /> {told.code !== undefined && <ErrorCode code={told.code} />}</Text>
        </Stack>
      </Group>
    </Paper>
  );
}

function DenyForm({ decision, onDone }: { decision: Decision; onDone: () => void }) {
  const [reason, setReason] = useState('');
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    box.current?.focus();
  }, []);
  const given = reason.trim();
  const send = () => {
    if (given !== '') void decision.deny(given).then((done) => { if (done) onDone(); });
  };
  return (
    <Stack gap="sm" component="section" aria-label="Deny">
      <Textarea
        ref={box} label="Reason" description="The agent reads this and continues without the change. Say what it should do instead." required
        autosize minRows={2} maxRows={8} value={reason} onChange={(event) => { setReason(event.currentTarget.value); }}
        placeholder="Not during backups. Check the disk first."
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
          if (event.key === 'Escape') onDone();
        }}
      />
      <Group gap="sm">
        <Button className="danger" disabled={given === ''} loading={decision.busy === 'denying'} onClick={send}>Deny</Button>
        <Button variant="subtle" color="gray" onClick={onDone}>Back</Button>
        {decision.busy === 'denying' && <Text size="sm" role="status">Sending your decision…</Text>}
      </Group>
    </Stack>
  );
}

function Buttons({ approval, decision, mode, setMode, keys }: {
  approval: Approval;
  decision: Decision;
  mode: 'look' | 'deny' | 'edit';
  setMode: (mode: 'look' | 'deny' | 'edit') => void;
  keys: boolean;
}) {
  const may = useMay('approve');
  const yes = useRef<HTMLButtonElement>(null);
  const late = useNow() > Date.parse(approval.expires_at);
  const stopped = useOverview().data?.writes.stopped ?? false;
  const can = approval.may_approve && !late && !stopped;
  const on = keys && mode === 'look' && may && !late;
  useShortcut('a', 'Approve: focuses the button, Enter then approves', () => {
    yes.current?.focus();
    yes.current?.scrollIntoView({ block: 'nearest' });
  }, { enabled: on && can });
  useShortcut('d', 'Deny with a reason', () => { setMode('deny'); }, { enabled: on });
  useShortcut('e', 'Edit the plan', () => { setMode('edit'); }, { enabled: on });

  if (late) return <Text size="sm">Expired without a decision. Nothing was done, and the session is told so.</Text>;
  if (!may) return <Text size="sm" c="dimmed">Your role can view this plan, but not decide. An approver must decide.</Text>;
  const words = decision.busy === 'approving' ? 'Sending your approval…' : undefined;
  return (
    <Stack gap="sm" className="decide">
      {(!approval.may_approve || stopped) && (
        <Group gap="sm" wrap="nowrap">
          <ToneIcon tone={approval.may_approve ? 'refused' : 'waiting'} />
          <Text size="sm">
            {approval.may_approve
              ? 'All writes are stopped, so this plan would be refused now. Deny it, or wait until an admin resumes writes.'
              : approval.may_not_because ?? 'You may not approve this plan.'}
          </Text>
        </Group>
      )}
      <Group gap="sm">
        <Button
          ref={yes} className="write" disabled={!can} loading={decision.busy === 'approving'}
          onFocus={() => { decision.prepare(); }} onClick={() => { decision.approve(); }}
        >
          Approve
        </Button>
        <Button variant="default" onClick={() => { setMode('deny'); }} disabled={decision.busy !== undefined}>Deny…</Button>
        <Button variant="default" onClick={() => { setMode('edit'); }} disabled={decision.busy !== undefined}>Edit…</Button>
        {words !== undefined && <Text size="sm" role="status">{words}</Text>}
      </Group>
    </Stack>
  );
}

function After({ approval, known }: { approval: Approval; known: Known }) {
  const steps = progress(approval, known);
  const end = ending(approval);
  const { action } = approval;
  return (
    <Stack gap="sm" aria-live="polite">
      {steps.length > 0 && <Stack gap={4} component="ol" className="plain-list">{steps.map((step, index) => <Line key={index} step={step} />)}</Stack>}
      {approval.not_run && !action && <Changed found={approval.not_run} />}
      {action?.receipt && (
        <Paper withBorder p="sm" className="receipt">
          <Text size="sm" fw={600}>Receipt <Mono>{action.receipt}</Mono></Text>
          <Text size="sm" className="prewrap">{action.summary}</Text>
          <Text size="sm" c="dimmed">
            {action.finished_at && <>took {duration((Date.parse(action.finished_at) - Date.parse(action.started_at)) / 1000)}, ended <Ago at={action.finished_at} /></>}
          </Text>
        </Paper>
      )}
      {end && <Stack gap={4} component="ul" className="plain-list"><Line step={end} /></Stack>}
      {approval.reason && <Text size="sm">Reason: “{approval.reason}”</Text>}
    </Stack>
  );
}

/** Why it did not run, with what differs now from when the plan was made. */
function Changed({ found }: { found: NonNullable<Approval['not_run']> }) {
  return (
    <Stack gap={4}>
      {found.changes.length > 0 && (
        <>
          <Text size="sm" fw={600}>What changed since the plan was made</Text>
          <ChangeTable changes={found.changes} />
        </>
      )}
      {found.code && (
        <Text size="sm" c="dimmed">
          {found.rule && <>The rule {ruleWords(found.rule)} decided, <Ago at={found.at} />. </>}
          The agent was told and can make a new plan for the current state. <ErrorCode code={found.code} />
        </Text>
      )}
    </Stack>
  );
}

function badge(approval: Approval, known: Known) {
  if (approval.status === 'pending') return <ToneBadge tone="waiting">waiting for you</ToneBadge>;
  const last = progress(approval, known).at(-1) ?? ending(approval);
  if (approval.action?.verification === 'verified') return <ToneBadge tone="verified">verified</ToneBadge>;
  if (last?.busy) return <ToneBadge tone="write">in progress</ToneBadge>;
  if (approval.not_run && !approval.action) return approval.not_run.code ? <ToneBadge tone="refused">refused</ToneBadge> : <ToneBadge tone="plain" icon="stop">not run</ToneBadge>;
  return <ToneBadge tone={last?.tone ?? 'plain'} icon={last?.tone === 'plain' ? 'check' : undefined}>{approval.status}</ToneBadge>;
}

/** One approval: the exact plan, why, what it touches, and the decision. `keys` gives it `a`, `d`, `e`. */
export function ApprovalCard({ id, compact = false, keys = !compact }: { id: string; compact?: boolean; keys?: boolean }) {
  const query = useApi<Approval>(['approval', id], `/approvals/${id}`, undefined, {
    // Events drive it; asking now and then is for a line that is down.
    refetchInterval: ({ state }) => (state.data && unfinished(state.data, { now: serverNow() }) ? (state.data.status === 'pending' ? 15_000 : 3_000) : false),
  });
  const approval = query.data;
  const now = useNow(10_000);
  const known: Known = { now };
  const decision = useDecision(approval);
  const [mode, setMode] = useState<'look' | 'deny' | 'edit'>('look');
  const [chosen, setOpen] = useState<boolean>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useChannel(approval && unfinished(approval, known) ? `session:${approval.session}` : undefined, (event) => {
    if (event.position === undefined) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void query.refetch(), 100);
  });
  useEffect(() => () => {
    clearTimeout(timer.current);
  }, []);

  if (query.isPending) return <Paper withBorder p="md"><Loading what="the approval" /></Paper>;
  if (!approval) return <Failed error={query.error} retry={() => void query.refetch()} />;
  const pending = approval.status === 'pending';
  const open = chosen ?? (!compact && approval.status !== 'edited');
  const title = planTitle(approval.plan);
  return (
    <Stack gap="sm">
      <Paper withBorder p="md" component="article" className="approval" data-tone={pending ? 'waiting' : 'plain'} aria-label={title} id={`approval-${id}`}>
        <Stack gap="md">
          <Group justify="space-between" wrap="nowrap" align="flex-start">
            <Group gap="sm" className="grow">
              {badge(approval, known)}
              <Title order={2} size="h5">
                <Anchor inherit c="inherit" underline="hover" renderRoot={(props) => <Link {...props} to="/approvals/$id" params={{ id }} />}>{title}</Anchor>
              </Title>
            </Group>
            {pending ? <Countdown until={approval.expires_at} /> : <Text size="sm" c="dimmed"><Ago at={approval.decided_at ?? approval.opened_at} /></Text>}
          </Group>
          {!pending && decision.failed && <Told told={decision.failed} />}
          {!pending && <After approval={approval} known={known} />}
          {(pending || open) && <Plan approval={approval} />}
          {open ? <Reasons approval={approval} /> : pending && (
            <Text size="sm">
              {approval.blast_radius} <span className="dim">·</span> {riskWords(approval.plan.risk)}
              {approval.why && <span className="dim block">“{approval.why}” — the agent</span>}
            </Text>
          )}
          {pending && decision.failed && <Told told={decision.failed} />}
          {pending && mode === 'deny' && <DenyForm decision={decision} onDone={() => { setMode('look'); }} />}
          {pending && mode === 'edit' && (
            <EditForm
              key={approval.plan_hash} approval={approval} busy={decision.busy === 'editing'} onCancel={() => { setMode('look'); }}
              onSend={(args) => void decision.edit(args).then((next) => { if (next) setMode('look'); })}
            />
          )}
          {pending && mode === 'look' && <Buttons approval={approval} decision={decision} mode={mode} setMode={(next) => { decision.forget(); setMode(next); }} keys={keys} />}
          {(compact || !pending) && (
            <Button variant="subtle" color="gray" size="compact-xs" className="self-start" aria-expanded={open} onClick={() => { setOpen(!open); }}>
              {open ? 'Show less' : pending ? 'Why, risk and evidence' : 'Plan and reason'}
            </Button>
          )}
        </Stack>
      </Paper>
      {approval.edited_into && (
        <div className="nested">
          <ApprovalCard id={approval.edited_into} compact={compact} keys={keys} />
        </div>
      )}
    </Stack>
  );
}
