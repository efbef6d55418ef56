import { ActionIcon, Button, Group, Tooltip } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';

import { visible } from '../lib/visible';
import { Icon } from './icons';

/** Commands and ids. */
export function Mono({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <code className="mono" title={title}>
      {children}
    </code>
  );
}

/** Puts a text on the clipboard; says whether that worked. What a terminal would act on or hide is written out. */
export async function copy(raw: string): Promise<boolean> {
  const text = visible(raw);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS a browser has no clipboard for scripts: the old way still works.
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'off-screen';
    document.body.append(area);
    area.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other way without TLS
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

/** Copies a text and says that it did. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle');
  useEffect(() => {
    if (state === 'idle') return undefined;
    const timer = setTimeout(() => {
      setState('idle');
    }, 1500);
    return () => {
      clearTimeout(timer);
    };
  }, [state]);
  const words = state === 'done' ? 'Copied' : state === 'failed' ? 'Copying failed: select the text instead' : label;
  return (
    <Tooltip label={words} withArrow>
      <ActionIcon
        variant="subtle" size="sm" color="gray" aria-label={words}
        onClick={() => void copy(text).then((done) => { setState(done ? 'done' : 'failed'); })}
      >
        <Icon name={state === 'done' ? 'check' : state === 'failed' ? 'cross' : 'copy'} size={14} />
      </ActionIcon>
    </Tooltip>
  );
}

/** A long text, complete on the page and folded: the browser's own search opens it where it finds something. */
export function Folded({ text, open }: { text: string; open: boolean }) {
  const lines = text.split('\n').length;
  return (
    <details className="code folded" open={open && lines <= 30}>
      <summary>{lines > 1 ? `${lines} lines, ${text.length} characters` : `${text.length} characters`}</summary>
      <CopyButton text={text} />
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

/** Text as it is: selectable, copyable, folded when it is long. */
export function CodeBlock({ text, maxLines = 12, label }: { text: string; maxLines?: number; label?: string }) {
  const [open, setOpen] = useState(false);
  const lines = text.split('\n');
  const long = lines.length > maxLines + 2;
  const shown = open || !long ? text : lines.slice(0, maxLines).join('\n');
  return (
    <figure className="code" aria-label={label}>
      <Group justify="space-between" className="code-head" wrap="nowrap">
        <span className="dim">{label}</span>
        <CopyButton text={text} label={label === undefined ? 'Copy' : `Copy ${label}`} />
      </Group>
      <pre tabIndex={0}>{visible(shown)}</pre>
      {long && (
        <Button variant="subtle" size="compact-xs" color="gray" onClick={() => { setOpen(!open); }} aria-expanded={open}>
          {open ? 'Fold' : `Show all ${lines.length} lines`}
        </Button>
      )}
    </figure>
  );
}
