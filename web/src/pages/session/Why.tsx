import { Anchor } from '@mantine/core';
import { useState } from 'react';

import type { Refusal } from '../../lib/calls';
import { ruleWords } from '../../lib/words';
import { JsonView } from '../../ui/Json';
import { Said } from '../../ui/Said';
import { ErrorCode } from '../../ui/States';
import classes from './session.module.css';

/** A refusal: the code, the sentence, what to do next; "why?" shows the rule and its facts. It is the product at work. */
export function Why({ refusal, before }: { refusal: Refusal; before?: string }) {
  const [open, setOpen] = useState(false);
  const { details } = refusal;
  return (
    <div className={classes.why}>
      <div>
        {before !== undefined && <span>{before} </span>}
        <ErrorCode code={refusal.code} /> — <Said text={refusal.message} />{' '}
        <button type="button" className={classes.link} aria-expanded={open} onClick={() => { setOpen(!open); }}>
          {open ? 'less' : 'why?'}
        </button>
      </div>
      {refusal.hint !== undefined && <div className="dim">What to do: <Said text={refusal.hint} /></div>}
      {open && (
        <div className={classes.whyFacts}>
          <div>
            The rule <strong>{ruleWords(refusal.rule)}</strong> decided. The model was told this and could try another way.{' '}
            <Anchor href={`/docs/errors/${encodeURIComponent(refusal.code)}`} target="_blank" rel="noreferrer" size="sm">
              What {refusal.code} means
            </Anchor>
          </div>
          {details !== undefined && Object.keys(details).length > 0 && <JsonView value={details} label="facts of the decision" />}
        </div>
      )}
    </div>
  );
}
