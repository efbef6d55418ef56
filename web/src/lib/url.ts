// The state of a page in its address, so that it can be shared and opened again as it is.

import { useRouter, useRouterState } from '@tanstack/react-router';
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
