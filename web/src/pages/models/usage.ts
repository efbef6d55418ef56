// The usage report as rows and bars: which time, which number, how long each bar is.

import type { Schemas } from '../../api/client';

export type UsageRow = Schemas['UsageRow'];

export const RANGES = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
] as const;

export const GROUPS = [
  { value: 'day', label: 'Day' },
  { value: 'model', label: 'Model' },
  { value: 'alert_type', label: 'Alert type' },
] as const;

export const MEASURES = [
  { value: 'tokens', label: 'Tokens' },
  { value: 'calls', label: 'Calls' },
  { value: 'sessions', label: 'Sessions' },
  { value: 'cost', label: 'Cost' },
] as const;

export type Measure = (typeof MEASURES)[number]['value'];
export type Group = (typeof GROUPS)[number]['value'];

const DAY = 86_400_000;

/** From the beginning of a day, so that the same question asked twice is the same question. */
export function range(days: number, now: Date): { from: string; to: string } {
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  return { from: new Date(today - (days - 1) * DAY).toISOString(), to: new Date(today + DAY).toISOString() };
}

export function value(row: UsageRow, measure: Measure): number {
  switch (measure) {
    case 'tokens':
      return row.input_tokens + row.output_tokens;
    case 'calls':
      return row.calls;
    case 'sessions':
      return row.sessions;
    case 'cost':
      return row.cost ?? 0;
  }
}

/** Days on which nothing happened are days too: a chart without them lies about time. */
export function everyDay(rows: readonly UsageRow[], from: string, to: string): UsageRow[] {
  const byDay = new Map(rows.map((row) => [row.group.slice(0, 10), row]));
  const filled: UsageRow[] = [];
  const last = Date.parse(to);
  for (let at = Date.parse(from); at < last && filled.length < 400; at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10);
    filled.push(
      byDay.get(day) ?? { group: day, calls: 0, failed: 0, sessions: 0, input_tokens: 0, output_tokens: 0, cost: null },
    );
  }
  return filled;
}

export interface Total {
  calls: number;
  failed: number;
  sessions: number;
  input_tokens: number;
  output_tokens: number;
  /** Nothing where no prices are configured: not the same as free. */
  cost: number | undefined;
}

export function total(rows: readonly UsageRow[]): Total {
  const sum: Total = { calls: 0, failed: 0, sessions: 0, input_tokens: 0, output_tokens: 0, cost: undefined };
  for (const row of rows) {
    sum.calls += row.calls;
    sum.failed += row.failed;
    sum.sessions += row.sessions;
    sum.input_tokens += row.input_tokens;
    sum.output_tokens += row.output_tokens;
    if (row.cost !== null && row.cost !== undefined) sum.cost = (sum.cost ?? 0) + row.cost;
  }
  return sum;
}

/** A number that a person would put at the top of an axis: 1, 2 or 5 times a power of ten, not below the largest. */
export function roundUp(largest: number): number {
  if (!(largest > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  for (const step of [1, 2, 5, 10]) if (largest <= step * power) return step * power;
  return 10 * power;
}
