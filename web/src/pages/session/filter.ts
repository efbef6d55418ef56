// Which calls the pane of tools shows.

import type { CallLife } from '../../lib/calls';
import { headline, standing } from '../../lib/words';

export const FILTERS = ['all', 'errors', 'writes', 'refused'] as const;
export type Filter = (typeof FILTERS)[number];

export function isFilter(value: string | null): value is Filter {
  return FILTERS.some((one) => one === value);
}

function fits(life: CallLife, filter: Filter): boolean {
  const { tone } = standing(life);
  switch (filter) {
    case 'all':
      return true;
    case 'errors':
      return tone === 'failed';
    case 'writes':
      return life.kind === 'write';
    case 'refused':
      return life.refusals.length > 0 || tone === 'refused';
  }
}

export function countCalls(calls: readonly CallLife[]): Record<Filter, number> {
  const counts: Record<Filter, number> = { all: 0, errors: 0, writes: 0, refused: 0 };
  for (const life of calls) for (const filter of FILTERS) if (fits(life, filter)) counts[filter] += 1;
  return counts;
}

/** The calls that fit all of it; every word of the search must be somewhere in the call. */
export function matching(calls: readonly CallLife[], filter: Filter, search: string, status: string): CallLife[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== '');
  return calls.filter((life) => {
    if (!fits(life, filter) || (status !== '' && standing(life).word !== status)) return false;
    if (words.length === 0) return true;
    const refused = life.refusals.map((one) => `${one.code} ${one.rule} ${one.message}`).join(' ');
    const whole = `${life.tool} ${headline(life)} ${life.resource ?? ''} ${life.receipt?.summary ?? ''} ${refused} ${JSON.stringify(life.arguments)}`.toLowerCase();
    return words.every((word) => whole.includes(word));
  });
}
