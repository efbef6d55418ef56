// The state of a page in its address, so that it can be shared and opened again as it is.

import { useRouter, useRouterState } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';

/** What can stand in the address of a page, with what is meant where it does not. */
export type UrlDefaults = Readonly<Record<string, string>>;
/** Some of it, changed; nothing goes back to the default. */
export type UrlChange<T extends UrlDefaults> = { readonly [K in keyof T]?: string | undefined };

/** What the address says; what it does not say is the default. */
export function readUrl<T extends UrlDefaults>(query: string, defaults: T): { [K in keyof T]: string } {
  const params = new URLSearchParams(query);
  return Object.fromEntries(Object.entries(defaults).map(([key, value]) => [key, params.get(key) ?? value])) as { [K in keyof T]: string };
}

/** The address with a change: it names only what differs from the default, and keeps what belongs to others. */
export function writeUrl<T extends UrlDefaults>(query: string, defaults: T, change: UrlChange<T>): string {
  const params = new URLSearchParams(query);
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined || value === defaults[key]) params.delete(key);
    else params.set(key, value);
  }
  params.sort();
  return params.toString();
}

/**
 * State that lives in the address, and how to change some of it. `push` makes the back button lead here. `defaults` must
 * be the same object each time.
 */
export function useUrl<T extends UrlDefaults>(defaults: T): [{ [K in keyof T]: string }, (change: UrlChange<T>, push?: boolean) => void] {
  const router = useRouter();
  const query = useRouterState({ select: (state) => state.location.searchStr });
  const url = useMemo(() => readUrl(query, defaults), [query, defaults]);
  const set = useCallback(
    (change: UrlChange<T>, push = false) => {
      const { pathname, searchStr, hash } = router.state.location;
      const next = writeUrl(searchStr, defaults, change);
      if (next === writeUrl(searchStr, defaults, {})) return;
      const href = `${pathname}${next === '' ? '' : `?${next}`}${hash === '' ? '' : `#${hash}`}`;
      if (push) router.history.push(href);
      else router.history.replace(href);
    },
    [router, defaults],
  );
  return [url, set];
}
