// Text from outside, for people to read: what a screen hides, acts on or turns around is written out. The same rules as
// `crates/protocol/src/visible.rs`; both are tested with `crates/protocol/tests/visible.json`.

export interface Piece {
  text: string;
  /** Whether it is one hidden character, written out. */
  hidden: boolean;
}

const IGNORABLE =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
const LOOKS_LATIN =
  /[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονακιρυχϲϳАВЕКМНОРСТУХЅІЈҮԀԚԜавекмнорстухѕіјԁԛԝһӏӀүѵгпьЬօոսհցզՍՕ\u13a0-\u13f5ıɑɡǀꞁ\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}]/u;
const MARK = /\p{Grapheme_Extend}/u;
const LETTER = /[\p{Alphabetic}\p{N}]/u;
const WORD = /[\p{Alphabetic}\p{N}]+/uy;
const SHAPELESS = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;
const SPACE = /\p{White_Space}/u;
const KEPT = new Set(['\n', '\t', '\u00a0', '\u202f', '\u3000']);
const MOST_MARKS = 3;
/** Nothing else needs a closer look. */
const PLAIN = /^[\n\t\x20-\x7e]*$/;

function writtenOut(char: string): string {
  if (char === '\r') return '\\r';
  if (char === '\0') return '\\0';
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** The text in pieces: what prints, and each hidden character by itself. Line breaks, tabs and wide spaces stay. */
export function pieces(text: string): Piece[] {
  if (PLAIN.test(text)) return text === '' ? [] : [{ text, hidden: false }];
  const out: Piece[] = [];
  let plain = '';
  let before = '';
  let marks = 0;
  let wordEnd = 0;
  let mixed = false;
  let at = 0;
  const hides = (char: string): boolean => {
    if (IGNORABLE.test(char)) {
      const emoji = before !== '' && before > '\x7f' && !LETTER.test(before) && !SPACE.test(before) && !SHAPELESS.test(before);
      return !(char === '\ufe0f' && emoji);
    }
    if (MARK.test(char)) {
      marks += 1;
      return !(marks > 1 || LETTER.test(before)) || marks > MOST_MARKS;
    }
    marks = 0;
    if (char === ' ' || KEPT.has(char)) return false;
    return SPACE.test(char) || SHAPELESS.test(char) || (mixed && LOOKS_LATIN.test(char));
  };
  for (const char of text) {
    if (at >= wordEnd && LETTER.test(char)) {
      WORD.lastIndex = at;
      const word = WORD.exec(text)?.[0] ?? char;
      wordEnd = at + word.length;
      mixed = /[a-z]/i.test(word) && LOOKS_LATIN.test(word);
    }
    if (hides(char)) {
      if (plain !== '') out.push({ text: plain, hidden: false });
      plain = '';
      out.push({ text: writtenOut(char), hidden: true });
    } else {
      plain += char;
    }
    at += char.length;
    if (at >= wordEnd) mixed = false;
    before = char;
  }
  if (plain !== '') out.push({ text: plain, hidden: false });
  return out;
}

/** The whole text with hidden characters written out. */
export function visible(text: string): string {
  return pieces(text).map((piece) => piece.text).join('');
}
