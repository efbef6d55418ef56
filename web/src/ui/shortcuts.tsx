// Keys. Each is registered with words while its component is there, so that `?` can show what works here and now.
// Keys never fire while somebody types, nor behind an open dialog.

import { Kbd, Modal, Table } from '@mantine/core';
import { useEffect, useEffectEvent, useState, useSyncExternalStore } from 'react';

interface Shortcut {
  /** Steps one after the other, each a key with `mod+` or `shift+` in front. */
  steps: readonly string[];
  keys: string;
  words: string;
  run: (event: KeyboardEvent) => void;
}

const active: Shortcut[] = [];
let snapshot: readonly Shortcut[] = [];
const watchers = new Set<() => void>();
let pressed: string[] = [];
let pressedAt = 0;

function changed(): void {
  snapshot = [...active];
  for (const watcher of watchers) watcher();
}

/** `mod+k` for Ctrl or ⌘ with K, else the key itself; letters with shift are their capital. */
export function keyName(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>): string {
  const key = event.key.length === 1 ? event.key : event.key.toLowerCase();
  return `${event.ctrlKey || event.metaKey ? 'mod+' : ''}${event.altKey ? 'alt+' : ''}${event.ctrlKey || event.metaKey ? key.toLowerCase() : key}`;
}

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement
    && (target.isContentEditable || target.matches('input:not([type=checkbox]):not([type=radio]), textarea, select, [role=textbox], [role=combobox]'));
}

function behind(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[role=dialog], [role=menu], [role=listbox]') !== null;
}

function hear(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || ['Shift', 'Control', 'Meta', 'Alt'].includes(event.key)) return;
  const name = keyName(event);
  if (behind(event.target) || (typing(event.target) && !name.startsWith('mod+'))) return;
  if (Date.now() - pressedAt > 1200) pressed = [];
  pressedAt = Date.now();
  pressed.push(name);
  // The longest that fits wins; of equals the one registered last, which is the most particular.
  let best: Shortcut | undefined;
  for (const each of active) {
    const tail = pressed.slice(-each.steps.length);
    if (tail.length === each.steps.length && each.steps.every((step, index) => step === tail[index])) {
      if (!best || each.steps.length >= best.steps.length) best = each;
    }
  }
  const begun = active.some((each) => each.steps.length > 1 && each.steps.slice(0, -1).some((_, index) => {
    const start = each.steps.slice(0, index + 1);
    const tail = pressed.slice(-start.length);
    return tail.length === start.length && start.every((step, at) => step === tail[at]);
  }));
  if (best) {
    event.preventDefault();
    pressed = [];
    best.run(event);
  } else if (!begun) {
    pressed = [];
  }
}

/**
 * A key (`j`), a combination (`mod+k`), keys one after the other (`g o`) or alternatives (`/|mod+k`), with what it does in
 * words. `enabled: false` takes it away.
 */
export function useShortcut(keys: string, words: string, handler: (event: KeyboardEvent) => void, options: { enabled?: boolean } = {}): void {
  const run = useEffectEvent(handler);
  const enabled = options.enabled ?? true;
  useEffect(() => {
    if (!enabled) return undefined;
    const mine = keys.split('|').map<Shortcut>((each) => ({
      steps: each.split(' ').map((step) => (step.length === 1 ? step : step.toLowerCase())),
      keys: each,
      words,
      run: (event) => {
        run(event);
      },
    }));
    if (active.length === 0) window.addEventListener('keydown', hear);
    active.push(...mine);
    changed();
    return () => {
      for (const each of mine) active.splice(active.indexOf(each), 1);
      if (active.length === 0) window.removeEventListener('keydown', hear);
      changed();
    };
  }, [keys, words, enabled]);
}

const apple = typeof navigator !== 'undefined' && /Mac|iP(hone|ad)/.test(navigator.userAgent);

/** Keys as they stand on the keyboard. */
export function Keys({ keys }: { keys: string }) {
  return (
    <span className="nowrap">
      {keys.split(' ').map((step, index) => (
        <span key={index}>
          {index > 0 && ' then '}
          <Kbd size="xs">{step.replace('mod+', apple ? '⌘' : 'Ctrl+').replace(/(^|\+|⌘)([a-z])$/, (_, before: string, key: string) => before + (before === '' ? key : key.toUpperCase()))}</Kbd>
        </span>
      ))}
    </span>
  );
}

/** `?` shows every key that works here and now. Once, in the frame. */
export function ShortcutsHelp() {
  const [open, setOpen] = useState(false);
  useShortcut('?', 'Show keyboard shortcuts', () => {
    setOpen(true);
  });
  const shown = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => snapshot,
  );
  const rows = new Map<string, Set<string>>();
  // Of several with the same key the one registered last works: the page's own, not the frame's.
  const works = new Map(shown.map((each) => [each.keys, each]));
  for (const each of shown.filter((one) => works.get(one.keys) === one)) rows.set(each.words, (rows.get(each.words) ?? new Set()).add(each.keys));
  return (
    <Modal opened={open} onClose={() => { setOpen(false); }} title="Keyboard shortcuts" centered>
      <Table verticalSpacing={4}>
        <Table.Tbody>
          {[...rows].map(([words, keys]) => (
            <Table.Tr key={words}>
              <Table.Td>{words}</Table.Td>
              <Table.Td ta="right">
                {[...keys].map((each, index) => <span key={each}>{index > 0 && ' or '}<Keys keys={each} /></span>)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}
