import { Button, Group, Textarea } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, type Ref, useId, useImperativeHandle, useMemo, useRef, useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { Icon } from '../../ui/icons';
import classes from './chat.module.css';
import { type Choice, commandChoices, completed, completing, mentionChoices, oneSpace } from './compose';

export interface ComposerHandle {
  focus: () => void;
}

interface ComposerProps {
  ref?: Ref<ComposerHandle>;
  /** Sends what was written; whether it was taken. Until then the text stays. */
  onSend: (text: string) => boolean | Promise<boolean>;
  /** Why nothing can be sent now. */
  blocked?: string | undefined;
  sending: boolean;
  onStop?: (() => void) | undefined;
  stopping?: boolean;
  children?: ReactNode;
}

/** Where questions are written. Enter sends, Shift+Enter makes a new line, `@` names a resource, `/` is a command. */
export function Composer({ ref, onSend, blocked, sending, onStop, stopping = false, children }: ComposerProps) {
  // Another page may begin the question: `/chat?ask=@name`.
  const [text, setText] = useState(() => new URLSearchParams(window.location.search).get('ask') ?? '');
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  const [shut, setShut] = useState(false);
  /** Where the space after the last choice stands, until something is typed. */
  const [space, setSpace] = useState<number>();
  const area = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  useImperativeHandle(ref, () => ({ focus: () => area.current?.focus() }), []);

  const here = shut ? undefined : completing(text, caret);
  const mentioning = here?.kind === 'mention';
  const resources = useApi<Schemas['ResourceList']>(['resources', 'mention'], '/resources', undefined, { enabled: mentioning, staleTime: 60_000 });
  const choices = useMemo<Choice[]>(() => {
    if (!here) return [];
    return here.kind === 'command' ? commandChoices(here.query) : mentionChoices(resources.data?.resources ?? [], here.query);
  }, [here, resources.data]);
  const current = Math.min(at, choices.length - 1);
  const listed = here !== undefined && choices.length > 0;

  const write = (next: string, place: number) => {
    setText(next);
    setCaret(place);
    setAt(0);
    setShut(false);
    setSpace(undefined);
  };
  const choose = (choice: Choice | undefined) => {
    if (!here || !choice) return;
    const next = completed(text, here, choice.insert);
    write(next.text, next.caret);
    setSpace(next.caret - 1);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(next.caret, next.caret);
    });
  };
  const send = () => {
    if (sending || text.trim() === '') return;
    void Promise.resolve(onSend(text)).then((taken) => {
      if (taken) write('', 0);
    });
  };
  const key = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (listed && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      setAt((current + (event.key === 'ArrowDown' ? 1 : choices.length - 1)) % choices.length);
    } else if (listed && event.key === 'Escape') {
      event.preventDefault();
      setShut(true);
    } else if (listed && (event.key === 'Tab' || (event.key === 'Enter' && !event.shiftKey && choices[current]?.insert !== text.trim()))) {
      event.preventDefault();
      choose(choices[current]);
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      send();
    }
  };
  return (
    <form className={classes.composer} onSubmit={(event) => { event.preventDefault(); send(); }}>
      {here && mentioning && (
        <div className={classes.hint} role="status">
          {resources.isPending && 'Loading resources…'}
          {resources.isError && 'The resources could not be loaded. You can still type a name.'}
          {resources.data && choices.length === 0 && `No resource matches “${here.query}”.`}
        </div>
      )}
      {listed && (
        <ul className={classes.choices} role="listbox" id={`${id}-choices`} aria-label={here.kind === 'command' ? 'Commands' : 'Resources'}>
          {choices.map((choice, place) => (
            <li
              key={choice.key} id={`${id}-${place}`} role="option" aria-selected={place === current} className={classes.choice}
              // The box keeps the focus: a press must not take it.
              onMouseDown={(event) => { event.preventDefault(); choose(choice); }}
            >
              <span className="mono">{choice.label}</span> <span className="dim">{choice.words}</span>
            </li>
          ))}
        </ul>
      )}
      <Group gap={8} align="flex-end" wrap="nowrap">
        <Textarea
          ref={area} className="grow" autosize minRows={1} maxRows={10} value={text} aria-label="Question" placeholder="Ask a question; @ names a resource, / lists commands"
          role="combobox" aria-expanded={listed} aria-controls={`${id}-choices`} aria-autocomplete="list" {...(listed && { 'aria-activedescendant': `${id}-${current}` })}
          onChange={(event) => { 
            const { value, selectionStart } = event.currentTarget;
            const next = oneSpace(text, space, value);
            write(next, next === value ? selectionStart : selectionStart - 1);
          }}
          onSelect={(event) => { setCaret(event.currentTarget.selectionStart); }}
          onKeyDown={key}
        />
        {onStop ? (
          <Button variant="default" loading={stopping} onClick={onStop} leftSection={<Icon name="stop" size={14} />}>Stop</Button>
        ) : (
          <Button type="submit" loading={sending} disabled={text.trim() === ''}>Send</Button>
        )}
      </Group>
      <Group gap={8} justify="space-between" className={classes.under}>
        <span className="dim">{blocked ?? 'Enter sends, Shift+Enter makes a new line'}</span>
        {children}
      </Group>
    </form>
  );
}
