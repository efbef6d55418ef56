// A list of which only what is seen is there, so that thousands of rows scroll as well as ten. Rows may have any height.
// It follows its end only while the reader is at the end: what comes in elsewhere never moves what is being read.

import { Button } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react';

import { plural } from '../../lib/format';
import { Icon } from '../../ui/icons';
import classes from './session.module.css';

export interface Target {
  key: string;
  /** Another number means: go there again. */
  turn: number;
  /** Whether its head must be seen, or it suffices that it is somewhere in view. */
  near?: boolean;
}

interface VirtualListProps<T> {
  items: readonly T[];
  keyOf: (item: T) => string;
  render: (item: T) => ReactNode;
  estimate: number;
  label: string;
  /** Where to begin: at the end, and stay there, or at the top. */
  follow: boolean;
  target?: Target | undefined;
  /** Another number means: go to the end, and follow it. */
  toEnd?: number;
  /** The row that keys go to. */
  current?: string | undefined;
}

const NEAR = 32;

export function VirtualList<T>({ items, keyOf, render, estimate, label, follow, target, toEnd = 0, current }: VirtualListProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const lastTop = useRef(0);
  const [atEnd, setAtEnd] = useState(follow);
  const [seen, setSeen] = useState(0);
  const [sentToEnd, setSentToEnd] = useState(toEnd);
  if (toEnd !== sentToEnd) {
    setSentToEnd(toEnd);
    setAtEnd(true);
  }
  // eslint-disable-next-line react-hooks/incompatible-library -- it is drawn anew on every change; nothing here is kept between
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item);
    },
    overscan: 8,
  });
  const total = virtual.getTotalSize();

  useLayoutEffect(() => {
    const element = scroller.current;
    if (atEnd && element) element.scrollTop = element.scrollHeight;
  }, [atEnd, total, items.length]);

  const goTo = useEffectEvent(({ key, near }: Target) => {
    const index = items.findIndex((item) => keyOf(item) === key);
    if (index === -1) return;
    setAtEnd(false);
    setSeen(items.length);
    virtual.scrollToIndex(index, { align: near ? 'auto' : 'start' });
  });
  const present = target !== undefined && items.some((item) => keyOf(item) === target.key);
  useEffect(() => {
    if (target && present) goTo(target);
  }, [target, present]);

  const scrolled = () => {
    const element = scroller.current;
    if (!element) return;
    const end = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    // Only a reader moves up. What grows below moves nothing, and is followed.
    const up = element.scrollTop < lastTop.current - 1;
    lastTop.current = element.scrollTop;
    if (end) setAtEnd(true);
    else if (up) setAtEnd(false);
    if (end || (up && atEnd)) setSeen(items.length);
  };
  const fresh = atEnd || seen === 0 ? 0 : items.length - seen;

  return (
    <>
      <div ref={scroller} className={classes.scroll} onScroll={scrolled} tabIndex={0} role="list" aria-label={label}>
        <div className={classes.inner} style={{ height: total }}>
          {virtual.getVirtualItems().map((place) => {
            const item = items[place.index];
            if (item === undefined) return null;
            const key = keyOf(item);
            return (
              <div
                key={place.key} ref={virtual.measureElement} data-index={place.index} className={classes.item} role="listitem"
                data-current={current === key || undefined} data-target={target?.key === key || undefined} style={{ transform: `translateY(${place.start}px)` }}
              >
                {render(item)}
              </div>
            );
          })}
        </div>
      </div>
      {fresh > 0 && (
        <Button
          className={classes.below ?? ''} size="compact-sm" radius="xl" leftSection={<Icon name="down" size={14} />}
          onClick={() => { setAtEnd(true); setSeen(items.length); }}
        >
          {plural(fresh, 'new row')} below
        </Button>
      )}
    </>
  );
}
