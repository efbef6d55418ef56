// The server lets style elements in that carry its number used once; nothing else may bring styles of its own.

/** The number of this page. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
}
