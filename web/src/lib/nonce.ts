// The server lets style elements in that carry its number used once; nothing else may bring styles of its own.

import { setNonce } from 'get-nonce';

/** The number of this page. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
}

// Mantine locks the page's scrolling behind a dialog with a style element that asks here.
setNonce(styleNonce());
