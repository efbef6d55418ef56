// Sentences of the gate and the server, for people: `code` between backticks is code, and a tag before the sentence is left out.

import { Fragment } from 'react';

import { saidParts } from '../lib/said';

export function Said({ text }: { text: string }) {
  return (
    <>
      {saidParts(text).map((part, index) => <Fragment key={index}>{part.code ? <code className="mono">{part.text}</code> : part.text}</Fragment>)}
    </>
  );
}
