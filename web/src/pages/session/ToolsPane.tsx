import { SegmentedControl, Select, TextInput } from '@mantine/core';
import { type ReactNode, type RefObject, useCallback, useMemo } from 'react';

import type { CallLife } from '../../lib/calls';
import { duration } from '../../lib/format';
import { headline, standing } from '../../lib/words';
import { Icon } from '../../ui/icons';
import { Empty } from '../../ui/States';
import { ToneIcon } from '../../ui/Tone';
import { Arguments, Life } from './Life';
import { Output } from './Output';
import classes from './session.module.css';
import { countCalls, type Filter, FILTERS, matching } from './filter';
import { type Target, VirtualList } from './VirtualList';

interface ToolsPaneProps {
  session: string;
  calls: readonly CallLife[];
  filter: Filter;
  search: string;
  status: string;
  onFilter: (change: { filter?: string; find?: string; state?: string }) => void;
  searchBox: RefObject<HTMLInputElement | null>;
  open: ReadonlySet<string>;
  onToggle: (key: string) => void;
  onEvidence: (id: string) => void;
  target: Target | undefined;
  follow: boolean;
}

const callKey = (life: CallLife) => life.key;

/** Every call with what it read: filtered, searched, unfolded one by one. */
export function ToolsPane(props: ToolsPaneProps) {
  const { session, calls, filter, search, status, onFilter, searchBox, open, onToggle, onEvidence, target, follow } = props;
  const counts = useMemo(() => countCalls(calls), [calls]);
  const shown = useMemo(() => matching(calls, filter, search, status), [calls, filter, search, status]);
  const words = useMemo(() => [...new Set(calls.map((life) => standing(life).word))].sort(), [calls]);
  const render = useCallback(
    (life: CallLife): ReactNode => {
      const unfolded = open.has(life.key);
      const { tone, word } = standing(life);
      return (
        <div className={classes.tool} id={`call-${encodeURIComponent(life.key)}`}>
          <button type="button" className={classes.toolHead} aria-expanded={unfolded} onClick={() => { onToggle(life.key); }}>
            <Icon name={unfolded ? 'chevronDown' : 'chevronRight'} size={12} />
            <ToneIcon tone={tone} size={14} label={word} />
            <strong className={`${classes.toolName ?? ''} mono truncate`}>{life.tool === '' ? 'interlock' : life.tool}</strong>
            <span className="mono truncate grow" title={headline(life)}>{headline(life)}</span>
            <span className="dim nowrap">{life.receipt?.seconds === undefined ? word : duration(life.receipt.seconds)}</span>
          </button>
          {unfolded && (
            <div className={classes.toolBody}>
              <Life life={life} onEvidence={onEvidence} />
              <Arguments value={life.ran ?? life.arguments} label={life.ran === undefined ? 'Arguments' : 'Arguments as they ran'} />
              {life.evidence.map((id) => <Output key={id} session={session} evidence={id} />)}
              {life.evidence.length === 0 && life.receipt && <span className="dim">No evidence besides the receipt.</span>}
            </div>
          )}
        </div>
      );
    },
    [open, onToggle, onEvidence, session],
  );
  return (
    <>
      <div className={classes.filters}>
        <SegmentedControl
          size="xs" value={filter} aria-label="Which calls" onChange={(value) => { onFilter({ filter: value }); }}
          data={FILTERS.map((value) => ({ value, label: `${value} ${counts[value]}` }))}
        />
        <TextInput
          ref={searchBox} size="xs" className="grow" miw={100} placeholder="Search calls (f)" aria-label="Search calls" value={search}
          onChange={(event) => { onFilter({ find: event.currentTarget.value }); }}
          onKeyDown={(event) => { if (event.key === 'Escape') event.currentTarget.blur(); }}
        />
        <Select
          size="xs" w={130} placeholder="any status" aria-label="Status" clearable data={words} value={status === '' ? null : status}
          onChange={(value) => { onFilter({ state: value ?? '' }); }}
        />
      </div>
      {shown.length === 0 ? (
        <div style={{ padding: 16 }}>
          {calls.length === 0
            ? <Empty title="No calls yet">Every tool call of the model appears here, with the gate’s decision and the output.</Empty>
            : <Empty title="No call matches">None of {calls.length} calls matches. Choose “all” and clear the search to see them.</Empty>}
        </div>
      ) : (
        <VirtualList items={shown} keyOf={callKey} render={render} estimate={32} label="Calls" follow={follow} target={target} />
      )}
    </>
  );
}
