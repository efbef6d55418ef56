// The time as the server sees it, and one clock for everything on the page that shows how long ago or how long still.

import { useSyncExternalStore } from 'react';

let offset = 0;

/** The server said what time it is. */
export function setServerNow(iso: string | undefined): void {
  if (iso === undefined) return;
  const at = Date.parse(iso);
  if (!Number.isNaN(at)) offset = at - Date.now();
}

/** Milliseconds since 1970 by the server's clock. */
export function serverNow(): number {
  return Date.now() + offset;
}

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function listen(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer !== undefined) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time, in steps of `step` milliseconds: who needs minutes is not drawn again each second. */
export function useNow(step = 1000): number {
  return useSyncExternalStore(listen, () => Math.floor(serverNow() / step) * step);
}
