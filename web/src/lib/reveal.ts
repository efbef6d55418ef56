// Text as people may see it before they decide: what does not print, or changes how other text prints, is written out as
// ⟦U+202E⟧. The same as `reveal` of the server; both are tested with reveal.cases.json.

/** What never prints by itself: controls, format and direction marks, other spaces, fillers, selectors, private use. */
const HIDDEN = /^(?:[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufffb]|[\u{e0100}-\u{e01ef}])$/u;
const MARK = /^\p{M}$/u;
/** How many combining marks may follow one character. More of them cover their neighbours. */
const MARKS = 2;

export interface Revealed {
  text: string;
  /** How many characters were written out. */
  hidden: number;
}

/** A text of several lines: line feeds and tabs stay, everything else that does not print is written out. */
export function reveal(text: string): Revealed {
  let shown = '';
  let hidden = 0;
  let marks = MARKS;
  for (const character of text) {
    let plain = true;
    if (character === '\n' || character === '\t') {
      marks = MARKS;
    } else if (character === '⟦' || HIDDEN.test(character)) {
      marks = MARKS;
      plain = false;
    } else if (MARK.test(character)) {
      marks += 1;
      plain = marks <= MARKS;
    } else {
      marks = 0;
    }
    if (plain) {
      shown += character;
    } else {
      hidden += 1;
      shown += `⟦U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`;
    }
  }
  return { text: shown, hidden };
}

/** The exact text that was shown; nothing if it is not of the form that `reveal` makes. */
export function unreveal(shown: string): string | undefined {
  if (shown.replace(/⟦U\+[0-9A-F]{4,6}⟧/gu, '').includes('⟦')) return undefined;
  return shown.replace(/⟦U\+([0-9A-F]{4,6})⟧/gu, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
}
