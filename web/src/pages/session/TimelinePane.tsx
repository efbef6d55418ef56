import { Text } from '@mantine/core';
import { type ReactNode, useCallback } from 'react';

import { Mono } from '../../ui/Code';
import { Empty, Loading } from '../../ui/States';
import { StatusBadge } from '../../ui/Status';
import type { Line } from './lines';
import classes from './session.module.css';
import { TimelineRow } from './TimelineRow';
import { type Target, VirtualList } from './VirtualList';

interface TimelinePaneProps {
  lines: readonly Line[];
  ready: boolean;
  follow: boolean;
  open: ReadonlySet<string>;
  onToggle: (key: string) => void;
  onEvidence: (id: string) => void;
  target: Target | undefined;
  toEnd: number;
  current: string | undefined;
  asking: ReadonlyMap<string, string>;
}

const lineKey = (line: Line) => line.key;

export function TimelinePane({ lines, ready, follow, open, onToggle, onEvidence, target, toEnd, current, asking }: TimelinePaneProps) {
  const render = useCallback(
    (line: Line): ReactNode => {
      if (line.type === 'stage') {
        const { name, status, error, columns } = line.section;
        const [only] = columns;
        return (
          <div className={classes.stage}>
            <span>{name}</span>
            {columns.length === 1 && only && <span className="dim">{only.agent}{only.model !== undefined && ` · ${only.model}`}</span>}
            {columns.length > 1 && <span className="dim">{columns.length} agents in parallel</span>}
            {status && <StatusBadge status={status} />}
            {error !== undefined && <Text size="sm" c="dimmed" fw={400}>{error}</Text>}
          </div>
        );
      }
      if (line.type === 'agents') {
        return (
          <div className={classes.cells} style={{ gridTemplateColumns: `repeat(${line.columns.length}, minmax(0, 1fr))` }}>
            {line.columns.map((column) => (
              <div key={column.execution} className={classes.agent}>
                <strong>{column.agent}</strong>
                {column.model !== undefined && <Mono>{column.model}</Mono>}
                {column.status && <StatusBadge status={column.status} />}
                {column.error !== undefined && <span>{column.error}</span>}
              </div>
            ))}
          </div>
        );
      }
      const [only] = line.rows;
      if (line.rows.length === 1 && only) {
        return (
          <div id={`row-${encodeURIComponent(only.key)}`}>
            <TimelineRow row={only} open={open.has(only.key)} onToggle={onToggle} onEvidence={onEvidence} />
          </div>
        );
      }
      return (
        <div className={classes.cells} style={{ gridTemplateColumns: `repeat(${line.rows.length}, minmax(0, 1fr))` }}>
          {line.rows.map((row, place) => (
            <div key={place} id={row && `row-${encodeURIComponent(row.key)}`}>
              {row && <TimelineRow row={row} open={open.has(row.key)} onToggle={onToggle} onEvidence={onEvidence} />}
            </div>
          ))}
        </div>
      );
    },
    [open, onToggle, onEvidence],
  );
  return (
    <>
      {lines.length === 0 ? (
        <div style={{ padding: 16 }}>
          {ready ? <Empty title="Nothing has happened yet">The session waits for a free worker. Every step appears here as it happens.</Empty> : <Loading what="the timeline" lines={8} />}
        </div>
      ) : (
        <VirtualList items={lines} keyOf={lineKey} render={render} estimate={34} label="Timeline" follow={follow} target={target} toEnd={toEnd} current={current} />
      )}
      {asking.size > 0 && (
        <div className={classes.wait} role="status">
          waiting for {[...new Set(asking.values())].join(', ')} to answer…
        </div>
      )}
    </>
  );
}
