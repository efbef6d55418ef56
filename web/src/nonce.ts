// The server lets only those style elements in that carry its number, used once and written into the page.

declare global {
  // What libraries that put style elements into the page look for by this name.
  var __webpack_nonce__: string | undefined;
}

/** The number; empty where the page was not served by the server. */
export function styleNonce(): string {
  const found = document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? '';
  return found.startsWith('__') ? '' : found;
}

globalThis.__webpack_nonce__ = styleNonce();
