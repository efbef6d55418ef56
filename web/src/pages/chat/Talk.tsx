import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useCallback, useMemo, useState } from 'react';

import type { Schemas } from '../../api/client';
import { Markdown } from '../../lib/markdown';
import { callsOf, sectionsOf, type TimelineState } from '../../lib/timeline';
import { Icon } from '../../ui/icons';
import { Loading } from '../../ui/States';
import { isOpen } from '../../ui/Status';
import { ToneIcon } from '../../ui/Tone';
import { GroundedText, HeadLines, ModelFrame, WhatWasDone } from '../session/Answer';
import { Output } from '../session/Output';
import { TimelineRow } from '../session/TimelineRow';
import { VirtualList } from '../session/VirtualList';
import classes from './chat.module.css';
import { conversation, stepWords, type Turn } from './conversation';

interface TalkProps {
  detail: Schemas['SessionDetail'];
  state: TimelineState;
  ready: boolean;
  asking: ReadonlyMap<string, string>;
}

const turnKey = (turn: Turn) => turn.key;

/** The conversation: questions, what was done about each, answers with what they rest on. */
export function Talk({ detail, state, ready, asking }: TalkProps) {
  const sections = useMemo(() => sectionsOf(state), [state]);
  const turns = useMemo(() => conversation(sections), [sections]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [evidence, setEvidence] = useState<string>();
  const toggle = useCallback((key: string) => {
    setOpen((set) => {
      const next = new Set(set);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }, []);
  const showEvidence = useCallback((id: string) => { setEvidence((before) => (before === id ? undefined : id)); }, []);
  const known = useMemo(() => new Set(callsOf(sections).flatMap((life) => life.evidence)), [sections]);

  const render = useCallback(
    (turn: Turn): ReactNode => {
      if (turn.type === 'question') {
        return (
          <div className={classes.turn}>
            <div className={classes.who}>{turn.row.by ?? detail.owner ?? 'asked'}</div>
            <div className={classes.asked}>{turn.row.text}</div>
          </div>
        );
      }
      if (turn.type === 'steps') {
        // What waits for a human is never folded away.
        const shown = turn.over ? open.has(turn.key) : !open.has(turn.key);
        return (
          <div className={classes.turn}>
            <button type="button" className={classes.fold} aria-expanded={shown} onClick={() => { toggle(turn.key); }}>
              <Icon name={shown ? 'chevronDown' : 'chevronRight'} size={12} />
              {turn.over ? stepWords(turn.rows) : `in progress: ${stepWords(turn.rows)}`}
            </button>
            <div className={classes.steps}>
              {turn.rows
                .filter((row) => shown || (row.type === 'call' && row.life.holds.at(-1)?.state === 'open'))
                .map((row) => <TimelineRow key={row.key} row={row} open={open.has(row.key)} onToggle={toggle} onEvidence={showEvidence} />)}
              {shown && evidence !== undefined && known.has(evidence) && turn.rows.some((row) => row.type === 'call' && row.life.evidence.includes(evidence)) && (
                <Output session={detail.id} evidence={evidence} />
              )}
            </div>
          </div>
        );
      }
      const grounded = turn.last && detail.full_answer === turn.row.text;
      // The newest is as the record says now.
      const head = grounded ? detail.head : turn.row.head ?? (turn.last ? detail.head : undefined);
      const withheld = turn.row.replaced !== undefined || head?.withheld === 'claim';
      return (
        <div className={classes.turn}>
          <div className={classes.who}>Interlock</div>
          {turn.row.replaced && (
            <div data-tone="refused">
              <ToneIcon tone="refused" label="refused" /> The model’s answer was refused: it claimed a result that no receipt shows ({turn.row.replaced.category}).
            </div>
          )}
          {head && <HeadLines head={head} />}
          {!withheld && (
            <ModelFrame>
              {grounded ? <GroundedText text={turn.row.text} grounds={detail.grounds} onEvidence={showEvidence} /> : <Markdown text={turn.row.text} />}
            </ModelFrame>
          )}
          {grounded && evidence !== undefined && <Output session={detail.id} evidence={evidence} />}
          {grounded && detail.actions.some((action) => action.kind === 'write') && <div className={classes.done}><WhatWasDone actions={detail.actions} running={isOpen(detail.status)} /></div>}
        </div>
      );
    },
    [detail, open, evidence, known, toggle, showEvidence],
  );
  if (turns.length === 0) return <div className={classes.start}>{ready ? <Loading what="the first steps" /> : <Loading what="the conversation" lines={6} />}</div>;
  return (
    <div className={classes.talk}>
      <VirtualList items={turns} keyOf={turnKey} render={render} estimate={90} label="Conversation" follow />
      {asking.size > 0 && <div className={classes.hint} role="status">waiting for {[...new Set(asking.values())].join(', ')} to answer…</div>}
      {detail.error !== undefined && detail.error !== null && (
        <div role="alert">
          <ToneIcon tone="failed" label="failed" /> {detail.error} <Anchor component={Link} size="sm" to={`/sessions/${detail.id}`}>Open the session</Anchor>
        </div>
      )}
    </div>
  );
}
