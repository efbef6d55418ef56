// Data, changes and diffs as people read them. Only text is ever put on the page, never markup.

import { Table } from '@mantine/core';
import { useState } from 'react';

import { reveal, visible } from '../lib/visible';
import { CopyButton } from './Code';
import { Icon } from './icons';

const AT_ONCE = 100;

function oneLine(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  return text ?? String(value);
}

function Leaf({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span className="dim">{value === null ? 'null' : 'nothing'}</span>;
  if (typeof value === 'string') return <span className="json-text">{value === '' ? '""' : visible(value)}</span>;
  return <span className="json-number">{oneLine(value)}</span>;
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const [open, setOpen] = useState(depth < 2);
  const [limit, setLimit] = useState(AT_ONCE);
  if (typeof value !== 'object' || value === null) {
    return (
      <div className="json-row">
        {name !== undefined && <span className="json-key">{name}</span>}
        <Leaf value={value} />
      </div>
    );
  }
  const list = Array.isArray(value);
  const entries: [string, unknown][] = list ? value.map((each, index) => [String(index), each]) : Object.entries(value);
  const size = list ? `${entries.length} items` : `${entries.length} fields`;
  if (entries.length === 0) {
    return (
      <div className="json-row">
        {name !== undefined && <span className="json-key">{name}</span>}
        <span className="dim">{list ? 'empty list' : 'no fields'}</span>
      </div>
    );
  }
  return (
    <div>
      <button type="button" className="json-fold" aria-expanded={open} onClick={() => { setOpen(!open); }}>
        <Icon name={open ? 'chevronDown' : 'chevronRight'} size={12} />
        {name !== undefined && <span className="json-key">{name}</span>}
        <span className="dim">{size}</span>
      </button>
      {open && (
        <div className="json-children">
          {entries.slice(0, limit).map(([key, each]) => (
            <Node key={key} name={key} value={each} depth={depth + 1} />
          ))}
          {entries.length > limit && (
            <button type="button" className="json-fold" onClick={() => { setLimit(limit + 10 * AT_ONCE); }}>
              show more of {entries.length}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** Any JSON: folds, can be selected and copied. */
export function JsonView({ value, label = 'data' }: { value: unknown; label?: string }) {
  return (
    <div className="json" role="group" aria-label={label}>
      <span className="json-copy">
        <CopyButton text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)} label={`Copy ${label}`} />
      </span>
      {typeof value === 'string' ? <pre tabIndex={0}>{value}</pre> : <Node value={value} depth={0} />}
    </div>
  );
}

export interface ChangeRow {
  field: string;
  before?: unknown;
  after?: unknown;
}

function Value({ value }: { value: unknown }) {
  if (value === undefined || value === null) return <span className="dim">nothing</span>;
  return <span className="mono prewrap">{reveal(typeof value === 'string' ? value : JSON.stringify(value, null, 2)).text}</span>;
}

/** What differs, field by field. */
export function ChangeTable({ changes }: { changes: readonly ChangeRow[] }) {
  if (changes.length === 0) return <p className="dim">No differences.</p>;
  return (
    <Table.ScrollContainer minWidth={320}>
      <Table className="changes" verticalSpacing={4} withTableBorder>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Field</Table.Th>
            <Table.Th>Before</Table.Th>
            <Table.Th>After</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changes.map((change) => (
            <Table.Tr key={change.field}>
              <Table.Th scope="row" className="mono">{change.field}</Table.Th>
              <Table.Td className="change-before"><Value value={change.before} /></Table.Td>
              <Table.Td className="change-after"><Value value={change.after} /></Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** A unified diff. What would be written is amber as every write; what goes away is struck through. */
export function UnifiedDiff({ text }: { text: string }) {
  const lines = text.replace(/\n$/, '').split('\n');
  return (
    <figure className="diff" aria-label="diff">
      <span className="json-copy"><CopyButton text={text} label="Copy diff" /></span>
      <pre tabIndex={0}>
        {lines.map((line, index) => {
          // Only the first two lines name the file: a line of the file may begin with the same signs.
          const kind = (index < 2 && (line.startsWith('+++') || line.startsWith('---'))) || line.startsWith('@@')
            ? 'head' : line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same';
          return <span key={index} className="diff-line" data-kind={kind}>{line === '' ? ' ' : line}{'\n'}</span>;
        })}
      </pre>
    </figure>
  );
}
