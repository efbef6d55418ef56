// The list's state is its address: this is how the address becomes what is asked of the API, and how views compare.

import type { Query } from '../../api/client';

export const FILTER_KEYS = ['search', 'status', 'kind', 'alert_type', 'chain', 'owner', 'from', 'to'] as const;
export type FilterKey = (typeof FILTER_KEYS)[number];

const SORTS = new Set(['created_at', 'last_interaction_at', 'status', 'title', 'duration']);
const SIZES = new Set(['25', '50', '100']);
export const FIRST_SIZE = 25;

/** The beginning of a day in the reader's own zone, or the beginning of the one after it. */
export function dayStart(day: string, after = false): string | undefined {
  const found = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day);
  if (!found) return undefined;
  const at = new Date(Number(found[1]), Number(found[2]) - 1, Number(found[3]) + (after ? 1 : 0));
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** What the API is asked. What is not understood is left out, never sent. */
export function listQuery(url: URLSearchParams): Query {
  const page = Number(url.get('page') ?? '1');
  const size = url.get('page_size') ?? '';
  const sort = url.get('sort') ?? '';
  return {
    page: Number.isInteger(page) && page > 0 ? page : 1,
    page_size: SIZES.has(size) ? Number(size) : FIRST_SIZE,
    sort: SORTS.has(sort) ? sort : 'created_at',
    order: url.get('order') === 'asc' ? 'asc' : 'desc',
    search: url.get('search') ?? undefined,
    status: url.get('status') ?? undefined,
    kind: url.get('kind') ?? undefined,
    alert_type: url.get('alert_type') ?? undefined,
    chain: url.get('chain') ?? undefined,
    owner: url.get('owner') ?? undefined,
    from: dayStart(url.get('from') ?? ''),
    to: dayStart(url.get('to') ?? '', true),
  };
}

/** What makes two addresses the same view: filters and sorting, whatever page is open. */
export function viewOf(query: string): string {
  const params = new URLSearchParams(query);
  const kept = new URLSearchParams();
  for (const key of [...FILTER_KEYS, 'sort', 'order']) {
    const value = params.get(key);
    if (value !== null && value !== '') kept.set(key, value);
  }
  if (kept.get('sort') === 'created_at') kept.delete('sort');
  if (kept.get('order') === 'desc') kept.delete('order');
  kept.sort();
  return kept.toString();
}

/** Everything that a view sets, and nothing for what it does not: to go from any view to this one. */
export function viewPatch(query: string): Record<string, string | undefined> {
  const params = new URLSearchParams(viewOf(query));
  const patch: Record<string, string | undefined> = { page: undefined };
  for (const key of [...FILTER_KEYS, 'sort', 'order']) patch[key] = params.get(key) ?? undefined;
  return patch;
}

/** How many filters are set. */
export function filterCount(url: URLSearchParams): number {
  return FILTER_KEYS.filter((key) => (url.get(key) ?? '') !== '').length;
}
