// The state of a page in its address, so that it can be shared and opened again as it is.

import { useNavigate, useRouter, useRouterState } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';

/** The query with these changed; what is empty or nothing is left out. */
export function patchedQuery(query: string, patch: Readonly<Record<string, string | undefined>>): string {
  const params = new URLSearchParams(query);
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || value === '') params.delete(key);
    else params.set(key, value);
  }
  params.sort();
  return params.toString();
}

/** What stands in the query, and how to change some of it. `push` makes the back button lead here. */
export function useUrlState(): [URLSearchParams, (patch: Readonly<Record<string, string | undefined>>, push?: boolean) => void] {
  const router = useRouter();
  const query = useRouterState({ select: (state) => state.location.searchStr });
  const params = useMemo(() => new URLSearchParams(query), [query]);
  const change = useCallback(
    (patch: Readonly<Record<string, string | undefined>>, push = false) => {
      const { pathname, searchStr, hash } = router.state.location;
      const next = patchedQuery(searchStr, patch);
      if (next === patchedQuery(searchStr, {})) return;
      const href = `${pathname}${next === '' ? '' : `?${next}`}${hash === '' ? '' : `#${hash}`}`;
      if (push) router.history.push(href);
      else router.history.replace(href);
    },
    [router],
  );
  return [params, change];
}

/** What the address says, as text; what it does not say is the default. */
export function readUrl<T extends Record<string, string>>(search: Record<string, unknown>, defaults: T): T {
  const found: Record<string, string> = { ...defaults };
  for (const key of Object.keys(defaults)) {
    const value = search[key];
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') found[key] = String(value);
  }
  return found as T;
}

/** What goes into the address: only what differs from the default; what belongs to others stays. */
export function writeUrl<T extends Record<string, string>>(
  search: Record<string, unknown>,
  defaults: T,
  change: Partial<T>,
): Record<string, unknown> {
  const next: Record<string, unknown> = { ...search };
  for (const [key, value] of Object.entries(change) as [string, string | undefined][]) {
    const same = value === undefined || value === defaults[key];
    // A number stays a number, so that the address has no quotes around it.
    next[key] = same ? undefined : /^\d{1,9}$/.test(value) && String(Number(value)) === value ? Number(value) : value;
  }
  return next;
}

/** State that lives in the address. `defaults` must be the same object each time. */
export function useUrl<T extends Record<string, string>>(defaults: T): [T, (change: Partial<T>) => void] {
  const search = useRouterState({ select: (state) => state.location.search }) as Record<string, unknown>;
  const navigate = useNavigate();
  const set = useCallback(
    (change: Partial<T>) => {
      void navigate({
        to: '.',
        search: ((old: Record<string, unknown>) => writeUrl(old, defaults, change)) as never,
        replace: true,
        resetScroll: false,
      });
    },
    [navigate, defaults],
  );
  return [readUrl(search, defaults), set];
}
