// Where to go after signing in: only ever a place on this page, whatever the address says.

/** The path if it is a local one, else `/`. */
export function localPath(wanted: unknown): string {
  if (typeof wanted !== 'string' || !wanted.startsWith('/')) return '/';
  // Browsers read `\` as `/` and drop tabs and line ends: `/\evil` and `/<tab>/evil` leave this host.
  if (/[\\\u0000-\u0020\u007f]/.test(wanted) || wanted.startsWith('//')) return '/';
  let url: URL;
  try {
    url = new URL(wanted, window.location.origin);
  } catch {
    return '/';
  }
  if (url.origin !== window.location.origin || url.pathname.startsWith('//')) return '/';
  if (url.pathname === '/sign-in' || url.pathname.startsWith('/api/')) return '/';
  return `${url.pathname}${url.search}${url.hash}`;
}
