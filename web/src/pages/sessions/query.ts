// The list's state is its address: this is how the address becomes what is asked of the API, and how views compare.

import type { Query } from '../../api/client';
import { readUrl, writeUrl } from '../../lib/url';

export const FILTER_KEYS = ['search', 'status', 'kind', 'alert_type', 'chain', 'owner', 'from', 'to'] as const;

/** What can stand in the address of the list. */
export const LIST = { search: '', status: '', kind: '', alert_type: '', chain: '', owner: '', from: '', to: '', sort: 'created_at', order: 'desc', page: '1', page_size: '25' };
export type ListUrl = { [K in keyof typeof LIST]: string };

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
export function listQuery(url: ListUrl): Query {
  const page = Number(url.page);
  const given = (value: string) => (value === '' ? undefined : value);
  return {
    page: Number.isInteger(page) && page > 0 ? page : 1,
    page_size: SIZES.has(url.page_size) ? Number(url.page_size) : FIRST_SIZE,
    sort: SORTS.has(url.sort) ? url.sort : LIST.sort,
    order: url.order === 'asc' ? 'asc' : 'desc',
    search: given(url.search),
    status: given(url.status),
    kind: given(url.kind),
    alert_type: given(url.alert_type),
    chain: given(url.chain),
    owner: given(url.owner),
    from: dayStart(url.from),
    to: dayStart(url.to, true),
  };
}

/** What makes two addresses the same view: filters and sorting, whatever page is open. */
export function viewOf(query: string): string {
  return writeUrl('', LIST, { ...readUrl(query, LIST), page: undefined, page_size: undefined });
}

/** Everything that a view sets, and nothing for what it does not: to go from any view to this one. */
export function viewPatch(query: string): Record<string, string | undefined> {
  const params = new URLSearchParams(viewOf(query));
  const patch: Record<string, string | undefined> = { page: undefined };
  for (const key of [...FILTER_KEYS, 'sort', 'order']) patch[key] = params.get(key) ?? undefined;
  return patch;
}

/** How many filters are set. */
export function filterCount(url: ListUrl): number {
  return FILTER_KEYS.filter((key) => url[key] !== '').length;
}
