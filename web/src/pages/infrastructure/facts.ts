// What a provider says about a resource, as words and numbers with units. The name of a fact says its unit.

import { bytes, count, duration, percent } from '../../lib/format';

export interface Fact {
  label: string;
  /** As text, where it is one. */
  text?: string;
  /** As it is, where it is more than a text. */
  value?: unknown;
}

const NAMES: Record<string, string> = { cpu: 'CPU', cpus: 'CPUs', ip: 'IP', id: 'ID', url: 'URL', vmid: 'VM ID' };

/** `memory_total_bytes` → `Memory total`. */
export function factLabel(name: string): string {
  const words = name.replace(/_(bytes|percent|seconds)$/, '').split('_');
  const first = words[0] ?? '';
  const begin = NAMES[first] ?? first.charAt(0).toUpperCase() + first.slice(1);
  return [begin, ...words.slice(1).map((word) => NAMES[word] ?? word)].join(' ');
}

const RATES = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** What goes over a line, in powers of ten: `1536` is `1.5 kB`. */
function decimal(value: number): string {
  let left = Math.abs(value);
  let unit = 0;
  while (left >= 999.5 && unit < RATES.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${value < 0 ? '−' : ''}${left.toFixed(left >= 100 || Number.isInteger(left) || unit === 0 ? 0 : 1)} ${RATES[unit] ?? 'B'}`;
}

/** The same at an axis: no words that the heading has already. */
export function tick(value: number, unit: string): string {
  if (unit === 'bytes/s' || unit === 'bytes_per_second') return decimal(value);
  if (unit === 'bool') return value === 0 || value === 1 ? amount(value, unit) : '';
  return amount(value, ['bytes', 'percent', 'seconds'].includes(unit) ? unit : '');
}

/** A number in the unit that its name or its series says. */
export function amount(value: number, unit: string): string {
  switch (unit) {
    case 'bytes':
      return bytes(value);
    case 'percent':
      return percent(value);
    case 'seconds':
      return duration(value);
    case 'bool':
      return value === 0 ? 'down' : value === 1 ? 'up' : percent(value * 100);
    case 'bytes/s':
    case 'bytes_per_second':
      return `${decimal(value)}/s`;
    default: {
      const number = Number.isInteger(value) ? count(value) : String(Math.round(value * 1000) / 1000);
      return unit === '' || unit === 'count' ? number : `${number} ${unit.replaceAll('_', ' ')}`;
    }
  }
}

function fact(name: string, value: unknown): Fact {
  const label = factLabel(name);
  if (typeof value === 'number') return { label, text: amount(value, /_(bytes|percent|seconds)$/.exec(name)?.[1] ?? '') };
  if (typeof value === 'boolean') return { label, text: value ? 'yes' : 'no' };
  if (typeof value === 'string') return { label, text: value };
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' || typeof one === 'number'))
    return { label, text: value.length === 0 ? 'none' : value.join(', ') };
  return { label, value };
}

/** Every fact, in order; a used amount and its total are one line: `1.5 GiB of 4.0 GiB (38 %)`. */
export function facts(raw: Record<string, unknown>): Fact[] {
  const found: Fact[] = [];
  for (const [name, value] of Object.entries(raw)) {
    if (value === null || value === undefined) continue;
    const used = /^(.*)_total_bytes$/.exec(name)?.[1];
    if (used !== undefined && typeof raw[`${used}_bytes`] === 'number') continue;
    const what = /^(.*)_bytes$/.exec(name)?.[1];
    const total = what === undefined ? undefined : raw[`${what}_total_bytes`];
    if (typeof value === 'number' && typeof total === 'number' && total > 0) {
      const part = percent(Math.round((value / total) * 100));
      found.push({ label: factLabel(name), text: `${bytes(value)} of ${bytes(total)} (${part})` });
    } else found.push(fact(name, value));
  }
  return found;
}
