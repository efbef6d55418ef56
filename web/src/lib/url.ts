// What a page shows is in its address, so that it can be shared and opened again in the same state.

import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useCallback } from 'react';

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
