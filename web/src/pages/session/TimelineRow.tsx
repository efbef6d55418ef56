import { memo, type ReactNode, useEffect } from 'react';

import type { CallLife } from '../../lib/calls';
import { exact } from '../../lib/format';
import { Markdown } from '../../lib/markdown';
import type { Row } from '../../lib/rows';
import { headline, standing } from '../../lib/words';
import type { Tone } from '../../theme';
import { CodeBlock, Mono } from '../../ui/Code';
import { Icon } from '../../ui/icons';
import { ToneIcon } from '../../ui/Tone';
import { ApprovalCard } from '../approvals/ApprovalCard';
import { HeadLines, ModelFrame } from './Answer';
import { Arguments, Life } from './Life';
import classes from './session.module.css';
import { Why } from './Why';

function At({ at, anchor }: { at: string; anchor: string }) {
  return (
    <a className={classes.at} href={`#${anchor}`} title={`${exact(at)}: link to this row`}>
      {new Date(at).toLocaleTimeString([], { hour12: false })}
    </a>
  );
}

interface LineProps {
  anchor: string;
  at: string;
  tone: Tone;
  head: ReactNode;
  children?: ReactNode;
  /** Whether it can be unfolded, and is. */
  open?: boolean | undefined;
  onToggle?: (() => void) | undefined;
}

function Line({ anchor, at, tone, head, children, open, onToggle }: LineProps) {
  return (
    <article className={classes.row} data-tone={tone}>
      <ToneIcon tone={tone} />
      <div className={classes.rowBody}>
        <div className={classes.rowHead}>
          {onToggle ? (
            <button type="button" className={classes.fold} aria-expanded={open === true} onClick={onToggle}>
              <span className={classes.headline}>{head}</span>
              <Icon name={open ? 'chevronDown' : 'chevronRight'} size={12} />
            </button>
          ) : (
            <span className={classes.headline}>{head}</span>
          )}
          <At at={at} anchor={anchor} />
        </div>
        {children}
      </div>
    </article>
  );
}

export function CallHead({ life }: { life: CallLife }) {
  const { word } = standing(life);
  const { receipt } = life;
  return (
    <>
      <strong className={classes.word}>{word}</strong> <Mono>{headline(life) || life.tool}</Mono>
      {life.resource !== undefined && <span className="dim"> on {life.resource}</span>}
      {receipt?.outcome === 'succeeded' && receipt.exitCode !== 0 && <span className="dim"> — {receipt.summary}</span>}
    </>
  );
}

/** The holds that waited while this page was open. */
const watched = new Set<string>();

const VERIFIED: Record<string, string> = { verified: 'verified', failed: 'not as expected', observed: 'observed', inconclusive: 'inconclusive' };

function CallRow({ life, anchor, at, open, onToggle, onEvidence }: { life: CallLife; anchor: string; at: string; open: boolean; onToggle: () => void; onEvidence: (id: string) => void }) {
  const now = standing(life);
  const hold = life.holds.at(-1);
  // What was decided while the page is open stays in its card: progress, receipt and verification follow in the same place.
  const card = life.holds.find((one) => one.state === 'open' || watched.has(one.id))?.id;
  const waiting = hold?.state === 'open' ? hold.id : undefined;
  useEffect(() => {
    if (waiting !== undefined) watched.add(waiting);
  }, [waiting]);
  const { verification } = life;
  const refusal = now.word === 'refused' ? life.refusals.at(-1) : undefined;
  const rewritten = life.ran !== undefined && life.refusals.length > 0 ? life.refusals[0] : undefined;
  return (
    <Line anchor={anchor} at={at} tone={now.tone} head={<CallHead life={life} />} open={open} onToggle={onToggle}>
      {!open && refusal && <Why refusal={refusal} />}
      {!open && rewritten && (
        <div className="dim">
          rewritten by code: the model proposed <Mono>{headline({ ...life, ran: undefined })}</Mono> ({rewritten.code})
        </div>
      )}
      {!open && card === undefined && hold?.state === 'denied' && <div>denied by {hold.by ?? 'an unknown person'}{hold.reason ? `: ${hold.reason}` : ''}</div>}
      {!open && card === undefined && hold?.state === 'expired' && <div className="dim">expired without a decision; nothing ran</div>}
      {!open && card === undefined && hold?.state === 'approved' && <div className="dim">approved by {hold.by ?? 'an unknown person'}</div>}
      {!open && card === undefined && life.receipt && life.receipt.outcome !== 'succeeded' && <div>{life.receipt.summary}</div>}
      {!open && verification?.at !== undefined && verification.outcome !== undefined && (
        <div className="dim">
          {VERIFIED[verification.outcome] ?? 'checked'} at {new Date(verification.at).toLocaleTimeString([], { hour12: false })}{' '}
          {verification.evidence === undefined ? 'by reading' : <button type="button" className={classes.link} onClick={() => { onEvidence(verification.evidence ?? ''); }}>by reading</button>}
        </div>
      )}
      {card !== undefined && (
        <div className={classes.card}>
          <ApprovalCard id={card} compact />
        </div>
      )}
      {open && (
        <div className={classes.opened}>
          <Life life={life} onEvidence={onEvidence} />
          <Arguments value={life.arguments} label="Arguments as proposed" />
          {life.ran !== undefined && <Arguments value={life.ran} label="Arguments as they ran" />}
          {life.evidence.map((id) => (
            <button key={id} type="button" className={classes.link} onClick={() => { onEvidence(id); }}>
              show the output
            </button>
          ))}
        </div>
      )}
    </Line>
  );
}

function firstLine(text: string): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

const NOTES: Record<string, string> = {
  error: 'error',
  mention: 'mentioned',
  provider_fallback: 'another model took over',
  google_search_result: 'searched the web',
  code_execution: 'the provider ran code for the model',
};

interface TimelineRowProps {
  row: Row;
  open: boolean;
  onToggle: (key: string) => void;
  onEvidence: (id: string) => void;
}

/** One row: what kind of thing it is in colour, icon and word; one line, and more when it is unfolded. */
export const TimelineRow = memo(function TimelineRow({ row, open, onToggle, onEvidence }: TimelineRowProps) {
  const anchor = `row-${encodeURIComponent(row.key)}`;
  const toggle = () => {
    onToggle(row.key);
  };
  switch (row.type) {
    case 'question':
      return (
        <Line anchor={anchor} at={row.at} tone="plain" head={<><strong>{row.by === undefined ? 'asked' : `${row.by} asked`}</strong> {firstLine(row.text) === '{' ? 'by an alert' : firstLine(row.text)}</>} open={open} onToggle={row.text.includes('\n') || row.text.length > 160 ? toggle : undefined}>
          {open && <CodeBlock text={row.text} label="the question" maxLines={40} />}
        </Line>
      );
    case 'thinking': {
      const shown = open !== row.live;
      return (
        <Line
          anchor={anchor} at={row.at} tone="plain" open={shown} onToggle={toggle}
          head={<span className="dim">{row.live ? 'thinking…' : <>thought: {shown ? '' : firstLine(row.text)}</>}</span>}
        >
          {shown && <div className={`${classes.thinking ?? ''} prewrap`}>{row.text}</div>}
        </Line>
      );
    }
    case 'text':
      return (
        <Line anchor={anchor} at={row.at} tone="plain" head={<strong>{row.live ? 'the model is writing…' : 'model'}</strong>}>
          <div className={classes.prose} aria-busy={row.live}><Markdown text={row.text} /></div>
        </Line>
      );
    case 'call':
      return <CallRow life={row.life} anchor={anchor} at={row.at} open={open} onToggle={toggle} onEvidence={onEvidence} />;
    case 'refused_answer':
      return (
        <Line anchor={anchor} at={row.at} tone="refused" head={<><strong className={classes.word}>refused</strong> {row.text === '' ? 'a reply of the model' : 'an answer'}</>}>
          {row.text !== '' && <blockquote className={classes.claim}>{row.text}</blockquote>}
          <Why refusal={row.refusal} />
        </Line>
      );
    case 'answer':
      return (
        <Line anchor={anchor} at={row.at} tone={row.replaced ? 'refused' : 'plain'} open={open} onToggle={toggle} head={<><strong className={row.replaced ? classes.word : undefined}>{row.replaced ? 'refused and replaced' : 'answered'}</strong> {!open && <span className="dim">{firstLine(row.text)}</span>}</>}>
          {row.replaced && (
            <div>
              The model claimed a result that no receipt shows ({row.replaced.category}):
              {row.proposed !== undefined && <blockquote className={classes.claim}>{row.proposed}</blockquote>}
              The answer was withheld.
            </div>
          )}
          {open && row.head && <HeadLines head={row.head} />}
          {open && !row.replaced && <div className={classes.prose}><ModelFrame><Markdown text={row.text} /></ModelFrame></div>}
        </Line>
      );
    case 'note':
      return (
        <Line anchor={anchor} at={row.at} tone={row.failed ? 'failed' : 'plain'} head={<><strong className={row.failed ? classes.word : undefined}>{NOTES[row.kind] ?? row.kind.replaceAll('_', ' ')}</strong> {firstLine(row.text)}</>} open={open} onToggle={row.text.includes('\n') ? toggle : undefined}>
          {open && <CodeBlock text={row.text} />}
        </Line>
      );
  }
});
