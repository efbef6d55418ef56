// Data that is rows, as a table: a list of objects, or the output of a command that prints aligned columns or JSON.

import { facts, text } from './facts';

export interface Tabular {
  columns: string[];
  rows: string[][];
}

const MOST_COLUMNS = 24;

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  return JSON.stringify(value);
}

function ofObjects(list: readonly unknown[]): Tabular | undefined {
  if (list.length === 0 || !list.every((one) => typeof one === 'object' && one !== null && !Array.isArray(one))) return undefined;
  const columns = [...new Set(list.flatMap((one) => Object.keys(facts(one))))].slice(0, MOST_COLUMNS);
  if (columns.length === 0) return undefined;
  return { columns, rows: list.map((one) => columns.map((column) => cell(facts(one)[column]))) };
}

function parsed(source: string): unknown {
  try {
    return JSON.parse(source) as unknown;
  } catch {
    return undefined;
  }
}

/** Columns where every line has a gap of two spaces or more, under a head in capitals: `docker ps`, `df -h`, `kubectl get`. */
function ofAligned(source: string): Tabular | undefined {
  const lines = source.split('\n').filter((line) => line.trim() !== '');
  const [head, ...rest] = lines;
  if (head === undefined || rest.length === 0 || head !== head.toUpperCase() || !/[A-Z]/.test(head)) return undefined;
  const starts = [...head.matchAll(/(?:^|\s{2,})(\S+(?: \S+)*)/g)].map((found) => found.index + found[0].length - (found[1]?.length ?? 0));
  if (starts.length < 2) return undefined;
  const cut = (line: string) => starts.map((start, place) => line.slice(place === 0 ? 0 : start, starts[place + 1]).trim());
  // A value that runs over the border of its column means that these are no columns.
  if (rest.some((line) => starts.slice(1).some((start) => /\S\S/.test(line.slice(start - 1, start + 1))))) return undefined;
  return { columns: cut(head), rows: rest.map(cut) };
}

/** The data as a table, if it is rows. */
export function tableOf(data: unknown): Tabular | undefined {
  if (Array.isArray(data)) return ofObjects(data);
  const found = facts(data);
  const stdout = text(found, 'stdout');
  if (stdout !== undefined) {
    const whole = parsed(stdout);
    if (Array.isArray(whole)) return ofObjects(whole);
    const lines = stdout.split('\n').filter((line) => line.trim() !== '');
    if (lines.length > 0 && lines.every((line) => line.startsWith('{'))) return ofObjects(lines.map(parsed));
    return ofAligned(stdout);
  }
  const lists = Object.values(found).filter((value) => Array.isArray(value) && value.length > 0);
  const [only] = lists;
  return lists.length === 1 && Array.isArray(only) ? ofObjects(only) : undefined;
}
