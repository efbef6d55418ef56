import { Button, Textarea } from '@mantine/core';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useSend } from '../../api/hooks';
import { Failed } from '../../ui/States';
import classes from './session.module.css';

/** A follow-up question. Enter sends, Shift+Enter makes a new line. */
export function AskBox({ session, onAsked }: { session: string; onAsked: () => void }) {
  const [message, setMessage] = useState('');
  const ask = useSend<Schemas['NewMessage'], Schemas['Accepted']>('POST', `/sessions/${session}/messages`, {
    invalidates: [['sessions']],
    onSuccess: () => {
      setMessage('');
      onAsked();
    },
  });
  const send = () => {
    const text = message.trim();
    if (text !== '' && !ask.isPending) ask.mutate({ message: text });
  };
  return (
    <div>
      {ask.isError && <Failed error={ask.error} />}
      <form className={classes.ask} onSubmit={(event) => { event.preventDefault(); send(); }}>
        <Textarea
          className="grow" autosize minRows={1} maxRows={6} aria-label="Follow-up question" placeholder="Ask a follow-up question"
          value={message} onChange={(event) => { setMessage(event.currentTarget.value); }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              send();
            }
          }}
        />
        <Button type="submit" loading={ask.isPending} disabled={message.trim() === ''}>Ask</Button>
      </form>
    </div>
  );
}
