// A one-time sign-in link carries its secret behind `#`. It is taken out of the address bar before anything else runs, so
// that neither the history nor a screenshot nor the router keeps it. Imported first of all.

let held: string | undefined;
const watchers = new Set<() => void>();

function take(): void {
  if (window.location.pathname !== '/sign-in') return;
  const found = /^#link=([^&]+)/.exec(window.location.hash);
  if (!found) return;
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search);
  held = found[1];
  for (const watcher of watchers) watcher();
}

take();
// A link that is pasted into a tab where the page is open already only changes the hash.
window.addEventListener('hashchange', take);

/** The link's secret, once. */
export function takeLink(): string | undefined {
  const link = held;
  held = undefined;
  return link;
}

/** To be told of a link that is there, or comes later. */
export function watchLink(watcher: () => void): () => void {
  watchers.add(watcher);
  if (held !== undefined) {
    queueMicrotask(() => {
      if (watchers.has(watcher)) watcher();
    });
  }
  return () => watchers.delete(watcher);
}
