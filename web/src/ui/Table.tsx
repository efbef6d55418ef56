// A table for many rows of one kind: sorted, with the keyboard, with remembered columns, exported as CSV.

import { ActionIcon, Checkbox, Group, Menu, Table, Tooltip } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type KeyboardEvent, type MouseEvent, type ReactNode, type Ref, useId, useRef, useState } from 'react';

import { csv, download } from '../lib/csv';
import { Icon } from './icons';
import { useShortcut } from './shortcuts';

export interface Column<T> {
  key: string;
  title: string;
  render: (row: T) => ReactNode;
  /** What CSV has for it, and what sorting on the page goes by; left out, the column is not exported. */
  value?: (row: T) => string | number | null | undefined;
  sortable?: boolean;
  align?: 'left' | 'right';
  width?: number | string;
  /** Not shown until somebody asks for it. */
  hidden?: boolean;
}

export interface Sort {
  key: string;
  order: 'asc' | 'desc';
}

export interface DataTableProps<T> {
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  sort?: Sort | undefined;
  /** Left out, the table sorts by itself, by `value`. */
  onSort?: (sort: Sort) => void;
  onOpen?: (row: T) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (selected: Set<string>) => void;
  empty: ReactNode;
  /** What the remembered columns and the exported file are called. */
  name?: string;
  /** What it is a table of, for screen readers. */
  label?: string;
  /** To the left of the buttons above the table: filters. */
  tools?: ReactNode;
  /** A row on a phone, where columns have no room; left out, the table scrolls there. */
  card?: (row: T) => ReactNode;
}

function remembered(name: string): string[] | undefined {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(`interlock.columns.${name}`) ?? 'null');
    return Array.isArray(kept) ? kept.filter((each) => typeof each === 'string') : undefined;
  } catch {
    return undefined;
  }
}

function remember(name: string, hidden: readonly string[]): void {
  try {
    localStorage.setItem(`interlock.columns.${name}`, JSON.stringify(hidden));
  } catch {
    // Private windows have no storage; then it is forgotten.
  }
}

/** Rows in the order of one column; what has no value comes last. */
export function sortRows<T>(rows: readonly T[], column: Column<T> | undefined, order: 'asc' | 'desc'): T[] {
  if (!column?.value) return [...rows];
  const value = column.value;
  const sign = order === 'asc' ? 1 : -1;
  return [...rows].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === null || left === undefined) return right === null || right === undefined ? 0 : 1;
    if (right === null || right === undefined) return -1;
    if (typeof left === 'number' && typeof right === 'number') return sign * (left - right);
    return sign * String(left).localeCompare(String(right), undefined, { numeric: true });
  });
}

export function DataTable<T>(props: DataTableProps<T>) {
  const { columns, rowKey, onSort, onOpen, selected, onSelect, empty, label } = props;
  const name = props.name ?? columns.map((each) => each.key).join('.');
  const [hidden, setHidden] = useState<string[]>(() => remembered(name) ?? columns.filter((each) => each.hidden).map((each) => each.key));
  const [ownSort, setOwnSort] = useState<Sort | undefined>(props.sort);
  const [at, setAt] = useState(-1);
  const body = useRef<HTMLElement>(null);
  const narrow = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false });
  const id = useId();

  const sort = onSort ? props.sort : ownSort;
  const rows = onSort || !sort ? props.rows : sortRows(props.rows, columns.find((each) => each.key === sort.key), sort.order);
  const shown = columns.filter((each) => !hidden.includes(each.key));
  const current = Math.min(at, rows.length - 1);

  const go = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    setAt(next);
    const row = body.current?.children[next];
    if (!(row instanceof HTMLElement)) return;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: 'nearest' });
  };
  const toggle = (row: T) => {
    if (!onSelect) return;
    const next = new Set(selected);
    if (!next.delete(rowKey(row))) next.add(rowKey(row));
    onSelect(next);
  };
  const some = rows.length > 0;
  useShortcut('j', 'Next row', () => { go(current + 1); }, { enabled: some });
  useShortcut('k', 'Previous row', () => { go(current - 1); }, { enabled: some });
  useShortcut('x', 'Select the row', () => {
    const row = rows[current];
    if (row !== undefined) toggle(row);
  }, { enabled: some && onSelect !== undefined });

  const turn = (column: Column<T>) => {
    const next: Sort = { key: column.key, order: sort?.key === column.key && sort.order === 'desc' ? 'asc' : 'desc' };
    if (onSort) onSort(next);
    else setOwnSort(next);
  };
  const all = some && rows.every((row) => selected?.has(rowKey(row)));
  const can = (column: Column<T>) => column.sortable ?? (onSort === undefined && column.value !== undefined);
  /** What a row is besides its content, in a table as on a card. */
  const place = (row: T, index: number) => ({
    id: `${id}-${rowKey(row)}`,
    tabIndex: index === Math.max(0, current) ? 0 : -1,
    'data-open': onOpen ? true : undefined,
    'data-selected': selected?.has(rowKey(row)) ? true : undefined,
    onFocus: () => { setAt(index); },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.target !== event.currentTarget) return;
      if (event.key === 'Enter' && onOpen) onOpen(row);
      else if (event.key === 'ArrowDown') { event.preventDefault(); go(index + 1); }
      else if (event.key === 'ArrowUp') { event.preventDefault(); go(index - 1); }
    },
    onClick: (event: MouseEvent) => {
      const target = event.target as Element;
      const text = window.getSelection()?.toString() ?? '';
      if (onOpen && text === '' && target.closest('a, button, input, label') === null) onOpen(row);
    },
  });
  const selects = (row: T) => <Checkbox size="xs" aria-label="Select row" checked={selected?.has(rowKey(row)) ?? false} onChange={() => { toggle(row); }} />;
  const { card } = props;
  const cards = narrow && card !== undefined;

  return (
    <div className="data-table">
      <Group justify="space-between" gap="xs" className="data-table-tools">
        <div className="grow">{props.tools}</div>
        <Group gap={4} wrap="nowrap">
          {cards && some && (
            <Menu position="bottom-end">
              <Menu.Target>
                <ActionIcon variant="subtle" color="gray" aria-label="Sort"><Icon name="sort" /></ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                {columns.filter(can).map((column) => (
                  <Menu.Item
                    key={column.key} onClick={() => { turn(column); }}
                    leftSection={<span className="menu-check">{sort?.key === column.key && <Icon name={sort.order === 'asc' ? 'up' : 'down'} size={14} />}</span>}
                  >
                    {column.title}
                  </Menu.Item>
                ))}
              </Menu.Dropdown>
            </Menu>
          )}
          {!cards && <Menu position="bottom-end" closeOnItemClick={false}>
            <Menu.Target>
              <Tooltip label="Choose columns"><ActionIcon variant="subtle" color="gray" aria-label="Choose columns"><Icon name="columns" /></ActionIcon></Tooltip>
            </Menu.Target>
            <Menu.Dropdown>
              {columns.map((column) => (
                <Menu.CheckboxItem
                  key={column.key} checked={!hidden.includes(column.key)}
                  onChange={() => {
                    const next = hidden.includes(column.key) ? hidden.filter((each) => each !== column.key) : [...hidden, column.key];
                    if (next.length === columns.length) return;
                    setHidden(next);
                    remember(name, next);
                  }}
                >
                  {column.title}
                </Menu.CheckboxItem>
              ))}
            </Menu.Dropdown>
          </Menu>}
          <Tooltip label="Save as CSV">
            <ActionIcon
              variant="subtle" color="gray" aria-label="Save as CSV" disabled={!some}
              onClick={() => {
                const out = shown.filter((each) => each.value);
                download(`${props.name ?? 'table'}.csv`, csv(out.map((each) => each.title), rows.map((row) => out.map((each) => each.value?.(row)))));
              }}
            >
              <Icon name="download" />
            </ActionIcon>
          </Tooltip>
        </Group>
      </Group>
      {some && cards && (
        <ul className="plain-list cards-list" aria-label={label} ref={body as Ref<HTMLUListElement>}>
          {rows.map((row, index) => (
            <li key={rowKey(row)} {...place(row, index)}>
              {onSelect && selects(row)}
              <div className="grow">{card(row)}</div>
            </li>
          ))}
        </ul>
      )}
      {some && !cards && (
        <Table.ScrollContainer minWidth={Math.min(640, shown.length * 110)} type="native" className="scrolls">
          <Table highlightOnHover verticalSpacing={4} stickyHeader aria-label={label}>
            <Table.Thead>
              <Table.Tr>
                {onSelect && (
                  <Table.Th w={32}>
                    <Checkbox
                      size="xs" aria-label="Select all rows" checked={all} indeterminate={!all && (selected?.size ?? 0) > 0}
                      onChange={() => { onSelect(all ? new Set() : new Set(rows.map(rowKey))); }}
                    />
                  </Table.Th>
                )}
                {shown.map((column) => {
                  const on = sort?.key === column.key;
                  return (
                    <Table.Th
                      key={column.key} ta={column.align ?? 'left'} w={column.width}
                      {...(on && { 'aria-sort': sort.order === 'asc' ? 'ascending' as const : 'descending' as const })}
                    >
                      {can(column) ? (
                        <button type="button" className="sort" data-on={on || undefined} onClick={() => { turn(column); }}>
                          {column.title}
                          <Icon name={on ? (sort.order === 'asc' ? 'up' : 'down') : 'sort'} size={12} />
                        </button>
                      ) : column.title}
                    </Table.Th>
                  );
                })}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody ref={body as Ref<HTMLTableSectionElement>}>
              {rows.map((row, index) => (
                <Table.Tr key={rowKey(row)} {...place(row, index)}>
                  {onSelect && <Table.Td>{selects(row)}</Table.Td>}
                  {shown.map((column) => <Table.Td key={column.key} ta={column.align ?? 'left'}>{column.render(row)}</Table.Td>)}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {!some && empty}
    </div>
  );
}
