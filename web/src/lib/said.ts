// A sentence in parts: words, and what stands between backticks. A tag like `[gate]` in front of it says nothing to people.

export interface Part {
  text: string;
  code: boolean;
}

/** The sentence without the tag in front. */
export function untagged(text: string): string {
  const rest = text.replace(/^\[[\w.:/-]{1,40}\] +/, '');
  return rest === '' ? text : rest;
}

export function saidParts(text: string): Part[] {
  const pieces = untagged(text).split('`');
  // An odd mark at the end opens nothing.
  if (pieces.length % 2 === 0) pieces.splice(-2, 2, `${pieces.at(-2) ?? ''}\`${pieces.at(-1) ?? ''}`);
  return pieces.map((piece, index) => ({ text: piece, code: index % 2 === 1 })).filter((part) => part.text !== '');
}
