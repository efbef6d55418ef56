import type { ReactNode } from 'react';

import type { CallLife, Hold } from '../../lib/calls';
import type { Facts } from '../../lib/facts';
import { duration, exact } from '../../lib/format';
import { expectationWords } from '../../lib/words';
import type { Tone } from '../../theme';
import { Mono } from '../../ui/Code';
import { JsonView } from '../../ui/Json';
import { Said } from '../../ui/Said';
import { Ago } from '../../ui/Time';
import { ToneIcon } from '../../ui/Tone';
import classes from './session.module.css';
import { Why } from './Why';

function holdWords(hold: Hold): { tone: Tone; words: ReactNode } {
  const by = hold.by ?? 'an unknown person';
  switch (hold.state) {
    case 'open':
      return { tone: 'waiting', words: 'waiting for approval' };
    case 'approved':
      return { tone: 'write', words: <>approved by <strong>{by}</strong></> };
    case 'denied':
      return { tone: 'refused', words: <>denied by <strong>{by}</strong>{hold.reason ? `: ${hold.reason}` : ''}</> };
    case 'edited':
      return { tone: 'plain', words: <>plan edited by <strong>{by}</strong>; the gate checked the new plan</> };
    case 'expired':
      return { tone: 'refused', words: 'expired without a decision' };
  }
}

function Step({ tone, at, children }: { tone: Tone; at?: string | undefined; children: ReactNode }) {
  return (
    <li className={classes.step}>
      <ToneIcon tone={tone} size={14} />
      <div className="grow">{children}</div>
      {at !== undefined && at !== '' && (
        <time className="dim nowrap" dateTime={at} title={exact(at)}>{new Date(at).toLocaleTimeString([], { hour12: false })}</time>
      )}
    </li>
  );
}

/** Everything that happened to one call, in order. */
export function Life({ life, onEvidence }: { life: CallLife; onEvidence: (id: string) => void }) {
  const kind: Tone = life.kind === 'write' ? 'write' : 'read';
  const { receipt, verification } = life;
  const rewritten = life.refusals.length > 0 && life.permit !== undefined && life.holds.length === 0;
  return (
    <ol className={classes.life} aria-label="What happened to this call">
      {life.proposed && <Step tone="plain" at={life.at}>proposed by the model</Step>}
      {life.refusals.map((refusal) => (
        <Step key={refusal.at + refusal.code} tone="refused" at={refusal.at}>
          <Why refusal={refusal} before={rewritten ? 'the original proposal was refused:' : 'refused:'} />
          {rewritten && life.ran !== undefined && <div>Code rewrote the call. The rewritten call is shown.</div>}
        </Step>
      ))}
      {life.holds.map((hold) => {
        const { tone, words } = holdWords(hold);
        return (
          <Step key={hold.id} tone={tone} at={hold.decidedAt ?? hold.openedAt}>
            {words}
            {hold.state === 'open' && life.reasons.length > 0 && <span className="dim"> — <Said text={life.reasons.join('; ')} /></span>}
          </Step>
        );
      })}
      {life.permit !== undefined && life.holds.length === 0 && <Step tone={kind}>allowed by the gate as a {life.kind ?? 'read'}</Step>}
      {life.startedAt !== undefined && !receipt && <Step tone={kind} at={life.startedAt}>running since <Ago at={life.startedAt} /></Step>}
      {receipt && (
        <Step tone={receipt.outcome === 'succeeded' ? kind : 'failed'} at={receipt.finishedAt}>
          receipt: {receipt.outcome.replaceAll('_', ' ')}{receipt.seconds !== undefined && ` after ${duration(receipt.seconds)}`} — {receipt.summary}
          {receipt.id !== '' && <div className="dim"><Mono>{receipt.id}</Mono></div>}
        </Step>
      )}
      {verification && (
        <Step tone={verification.outcome === 'verified' ? 'verified' : verification.outcome === 'failed' ? 'failed' : kind} at={verification.at}>
          {verification.outcome === undefined && <>to be verified: {expectationWords(verification.expectation)}</>}
          {verification.outcome === 'verified' && <>verified: {expectationWords(verification.expectation)}</>}
          {verification.outcome === 'failed' && <>not as expected: {expectationWords(verification.expectation)} was not observed</>}
          {verification.outcome === 'observed' && <>observed: the resource was read afterwards; no particular state was expected</>}
          {verification.outcome === 'inconclusive' && <>inconclusive: the reading does not show the result</>}
          {verification.evidence !== undefined && (
            <>
              {' '}
              <button type="button" className={classes.link} onClick={() => { if (verification.evidence !== undefined) onEvidence(verification.evidence); }}>
                show the reading
              </button>
            </>
          )}
        </Step>
      )}
    </ol>
  );
}

/** The arguments of a call, with what they are. */
export function Arguments({ value, label }: { value: Facts; label: string }) {
  return (
    <div>
      <div className={classes.label}>{label}</div>
      <JsonView value={value} label={label.toLowerCase()} />
    </div>
  );
}
