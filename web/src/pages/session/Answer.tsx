import { Anchor, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';

import type { Schemas } from '../../api/client';
import { count, duration, money, plural } from '../../lib/format';
import { Markdown } from '../../lib/markdown';
import type { Tone } from '../../theme';
import { Mono } from '../../ui/Code';
import { isOpen } from '../../ui/Status';
import { ToneIcon } from '../../ui/Tone';
import { type Answered, answersOf } from './answers';
import { numbered } from './grounds';
import classes from './session.module.css';

function verificationWords(action: Schemas['ActionTaken'], running: boolean): { tone: Tone; words: string } {
  if (action.outcome !== undefined && action.outcome !== null && action.outcome !== 'succeeded') {
    return { tone: 'failed', words: action.outcome.replaceAll('_', ' ') };
  }
  switch (action.verification) {
    case 'verified':
      return { tone: 'verified', words: 'verified' };
    case 'failed':
      return { tone: 'failed', words: 'not as expected' };
    case 'observed':
      return { tone: 'write', words: 'done; observed afterwards' };
    case 'inconclusive':
      return { tone: 'write', words: 'done; could not be verified' };
    default:
      if (action.receipt === undefined || action.receipt === null) {
        return running ? { tone: 'write', words: 'running…' } : { tone: 'failed', words: 'started; no receipt, outcome unknown' };
      }
      if (running) return { tone: 'write', words: 'done; not verified yet' };
      return { tone: 'write', words: 'done; not verified' };
  }
}

const HEAD_TONES: Record<Schemas['HeadTone'], Tone> = { verified: 'verified', failed: 'failed', unknown: 'write', fact: 'plain' };

/** What code knows about an answer: always before it, never inside its frame. */
export function HeadLines({ head }: { head: Schemas['Head'] }) {
  return (
    <section className={classes.head} aria-label="What was done and read">
      <ul>
        {head.lines.map((line, index) => (
          <li key={index} data-tone={HEAD_TONES[line.tone]}>
            <ToneIcon tone={HEAD_TONES[line.tone]} label={line.tone} /> <span>{line.text}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The frame around what a model wrote. Nothing of the page's own stands in it. */
export function ModelFrame({ children }: { children: ReactNode }) {
  return (
    <section className={classes.model} aria-label="Written by the model">
      <div className={classes.modelLabel}>Written by the model</div>
      <div className={classes.modelText} data-model>{children}</div>
    </section>
  );
}

/** What was really done, from receipts alone: whatever the answer says, this is what happened. */
export function WhatWasDone({ actions, running }: { actions: readonly Schemas['ActionTaken'][]; running: boolean }) {
  const writes = actions.filter((action) => action.kind === 'write');
  return (
    <section className={classes.done} aria-label="What was done">
      <h3>What was done</h3>
      {writes.length === 0 && <span className="dim">No action was taken. {actions.length > 0 && `Reads only (${plural(actions.length, 'call')}).`}</span>}
      <ul>
        {writes.map((action) => {
          const { tone, words } = verificationWords(action, running);
          const took = action.finished_at ? (Date.parse(action.finished_at) - Date.parse(action.started_at)) / 1000 : undefined;
          return (
            <li key={action.permit} data-tone={tone}>
              <Group gap={8} wrap="nowrap" align="flex-start">
                <ToneIcon tone={tone} label={words} />
                <div className="grow">
                  <Mono>{action.command ?? action.action?.replaceAll('_', ' ') ?? action.tool}</Mono>
                  {action.resource_name !== undefined && action.resource_name !== null && ` on ${action.resource_name}`}
                  {action.resource !== undefined && action.resource !== null && <span className="dim"> ({action.resource})</span>}
                  <div><strong className={classes.word}>{words}</strong>{took !== undefined && ` · ${duration(took)}`}{action.summary && ` · ${action.summary}`}</div>
                  <div className="dim">
                    {action.approved_by ? <>approved by {action.approved_by}</> : 'no approval was needed'}
                    {action.hold && <> · <Anchor component={Link} size="xs" c="dimmed" to={`/approvals/${action.hold}`}>the plan</Anchor></>}
                    {action.receipt && <> · receipt <Mono title={action.receipt}>{action.receipt.slice(0, 12)}</Mono></>}
                  </div>
                </div>
              </Group>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** The text of an answer: every part that evidence shows has a number that leads there, every other claim is marked. */
export function GroundedText({ text, grounds, onEvidence }: { text: string; grounds: readonly Schemas['Ground'][]; onEvidence: (id: string) => void }) {
  const { marks, order } = useMemo(() => numbered(grounds, text), [grounds, text]);
  const renderMark = (mark: (typeof marks)[number], children: ReactNode, last: boolean): ReactNode => {
    if (mark.evidence.length === 0) {
      return (
        <span className={classes.unsupported} title="No evidence of this session shows this.">
          {children}
          {last && <span className="off-screen"> (unsupported)</span>}
        </span>
      );
    }
    return (
      <>
        {children}
        {last && (
          <sup className={classes.sup}>
            {mark.evidence.map((id) => (
              <a key={id} href={`#evidence-${id}`} aria-label={`Evidence ${order.get(id) ?? ''}`} title="Show the evidence" onClick={(event) => { event.preventDefault(); onEvidence(id); }}>
                {order.get(id)}
              </a>
            ))}
          </sup>
        )}
      </>
    );
  };
  return <Markdown text={text} marks={marks} renderMark={renderMark} />;
}

interface AnswerProps {
  detail: Schemas['SessionDetail'];
  entries: readonly Schemas['TimelineEntry'][];
  onEvidence: (id: string) => void;
}

function OneAnswer({ answered, onEvidence }: { answered: Answered; onEvidence: (id: string) => void }) {
  const unsupported = answered.grounds.filter((ground) => ground.evidence.length === 0).length;
  return (
    <>
      {answered.head && <HeadLines head={answered.head} />}
      {answered.text !== undefined && <ModelFrame><GroundedText text={answered.text} grounds={answered.grounds} onEvidence={onEvidence} /></ModelFrame>}
      {unsupported > 0 && (
        <Text size="xs" c="dimmed" mt={8}>
          <span className={classes.unsupported}>Dotted</span> parts ({unsupported}) are not supported by any evidence of this session.
        </Text>
      )}
    </>
  );
}

/** The answer to what began the session; under it what was asked afterwards, each with its answer. */
export function Answer({ detail, entries, onEvidence }: AnswerProps) {
  const { usage } = detail;
  const [first, ...later] = useMemo(() => answersOf(detail, entries), [detail, entries]);
  return (
    <>
      <div>
        {first && <OneAnswer answered={first} onEvidence={onEvidence} />}
        {first?.text === undefined && <Text size="sm" c="dimmed">{detail.error ?? 'No answer yet.'}</Text>}
        {first?.text !== undefined && detail.error !== undefined && detail.error !== null && <Text size="sm">{detail.error}</Text>}
        {later.map((one) => (
          <section key={one.run} className={classes.followUp} aria-label={`Follow-up: ${one.question}`}>
            <Text size="sm" fw={600} className="prewrap">{one.by !== undefined && <span className="dim">{one.by}: </span>}{one.question}</Text>
            <OneAnswer answered={one} onEvidence={onEvidence} />
            {one.text === undefined && <Text size="sm" c="dimmed">{isOpen(one.status) ? 'Answer in progress…' : 'The session ended without an answer.'}</Text>}
          </section>
        ))}
      </div>
      <div>
        <WhatWasDone actions={detail.actions} running={isOpen(detail.status)} />
        <Text size="xs" c="dimmed" mt={8}>
          {plural(usage.calls, 'model call')} · {count(usage.input_tokens)} tokens in · {count(usage.output_tokens)} out
          {usage.cost !== undefined && usage.cost !== null && ` · cost ${money(usage.cost)}`}
        </Text>
      </div>
    </>
  );
}
