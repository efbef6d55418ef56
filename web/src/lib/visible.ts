// Text from outside, for people to read: what a screen hides, acts on, turns around or makes look like something else is
// written out as ⟦U+202E⟧. A plan is ASCII: every other character of it is written out, with the letter itself where it can be
// read, ⟦é U+00E9⟧. The same rules as `crates/protocol/src/visible.rs`; both are tested with
// `crates/protocol/tests/visible.json`.

export interface Piece {
  text: string;
  /** Whether it is one hidden character, written out. */
  hidden: boolean;
}

export interface Revealed {
  text: string;
  /** How many characters were written out. */
  hidden: number;
}

const IGNORABLE =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
const LOOKS_LATIN =
  /[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονακιρυχϲϳАВЕКМНОРСТУХЅІЈҮԀԚԜавекмнорстухѕіјԁԛԝһӏӀүѵгпьЬօոսհցզՍՕ\u13a0-\u13f5ıǀǁǃ\u0250-\u02af\u02b0-\u02b8\u1d00-\u1dbf\u2071\u207f\u2090-\u209c\u210a-\u2115\u2118-\u211d\u2124\u2128-\u2149\u2160-\u2188\u24b6-\u24e9\ufb00-\ufb06\u2c60-\u2cff\ua4d0-\ua4ff\ua720-\ua7ff\uab30-\uabbf\u1400-\u167f\u{10300}-\u{1032f}\u{10400}-\u{1044f}\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}]/u;
/** Letters that turn the order of what stands beside them around. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const MARK = /\p{Grapheme_Extend}/u;
const LETTER = /[\p{Alphabetic}\p{N}]/u;
const WORD = /[\p{Alphabetic}\p{N}]+/uy;
const SHAPELESS = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;
const SPACE = /\p{White_Space}/u;
const TYPOGRAPHY = new Set(['\u00a0', '\u202f', '\u3000']);
const MOST_MARKS = 3;
/** Nothing else needs a closer look. */
const PLAIN = /^[\n\t\x20-\x7e]*$/;

/** What is left as it is, besides line feeds and tabs. */
interface Kept {
  /** Spaces of typography. */
  typography: boolean;
  /** Characters other than ASCII, unless they are hidden or pose as a Latin letter. */
  others: boolean;
  /** The brackets of an escape: only in a text whose parts were written out before. */
  brackets: boolean;
}

const PLAN: Kept = { typography: false, others: false, brackets: false };
const PROSE: Kept = { typography: true, others: true, brackets: false };
const COMPOSED: Kept = { ...PROSE, brackets: true };

/** Whether it can be shown beside its code point. */
function readable(char: string): boolean {
  return !(IGNORABLE.test(char) || MARK.test(char) || SPACE.test(char) || SHAPELESS.test(char) || RIGHT_TO_LEFT.test(char) || char === '⟦' || char === '⟧');
}

function writtenOut(char: string, kept: Kept): string {
  const letter = !kept.others && readable(char) ? `${char} ` : '';
  return `⟦${letter}U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`;
}

function read(text: string, kept: Kept): Piece[] {
  if (PLAIN.test(text)) return text === '' ? [] : [{ text, hidden: false }];
  const out: Piece[] = [];
  let plain = '';
  let before = '';
  let marks = 0;
  let wordEnd = 0;
  let pretends = false;
  let at = 0;
  const hides = (char: string): boolean => {
    if (!kept.others && char > '\x7f') return true;
    if (IGNORABLE.test(char)) {
      const emoji = before !== '' && before > '\x7f' && !LETTER.test(before) && !SPACE.test(before) && !SHAPELESS.test(before);
      return !(char === '\ufe0f' && emoji);
    }
    if (MARK.test(char)) {
      marks += 1;
      return !(marks > 1 || LETTER.test(before)) || marks > MOST_MARKS;
    }
    marks = 0;
    if (char === ' ' || char === '\n' || char === '\t') return false;
    if (char === '⟦' || char === '⟧') return !kept.brackets;
    if (TYPOGRAPHY.has(char)) return !kept.typography;
    return SPACE.test(char) || SHAPELESS.test(char) || (pretends && LOOKS_LATIN.test(char));
  };
  for (const char of text) {
    if (at >= wordEnd && LETTER.test(char)) {
      WORD.lastIndex = at;
      const word = WORD.exec(text)?.[0] ?? char;
      wordEnd = at + word.length;
      pretends = /[a-z]/i.test(word) && LOOKS_LATIN.test(word);
    }
    if (hides(char)) {
      if (plain !== '') out.push({ text: plain, hidden: false });
      plain = '';
      out.push({ text: writtenOut(char, kept), hidden: true });
    } else {
      plain += char;
    }
    at += char.length;
    if (at >= wordEnd) pretends = false;
    before = char;
  }
  if (plain !== '') out.push({ text: plain, hidden: false });
  return out;
}

function joined(parts: Piece[]): string {
  return parts.map((piece) => piece.text).join('');
}

/** Prose in pieces: what prints, and each hidden character by itself. Line breaks, tabs and wide spaces stay. */
export function pieces(text: string): Piece[] {
  return read(text, PROSE);
}

/** Prose with hidden characters written out. */
export function visible(text: string): string {
  return joined(pieces(text));
}

/** A text that was put together from parts which were written out. */
export function composed(text: string): string {
  return joined(read(text, COMPOSED));
}

/** Part of a plan: line feeds and tabs stay, everything else that is hidden or looks like something else is written out. */
export function reveal(text: string): Revealed {
  const parts = read(text, PLAN);
  return { text: joined(parts), hidden: parts.filter((piece) => piece.hidden).length };
}

/** The exact text that was shown; nothing if it is not of the form that this module makes. */
export function unreveal(shown: string): string | undefined {
  const escape = /⟦(?:(.) )?U\+([0-9A-F]{4,6})⟧/gsu;
  if (/[⟦⟧]/u.test(shown.replace(escape, ''))) return undefined;
  const fits = [...shown.matchAll(escape)].every(
    ([, letter, code]) => letter === undefined || letter === charOf(code),
  );
  return fits ? shown.replace(escape, (_, _letter, code: string) => charOf(code)) : undefined;
}

function charOf(code: string | undefined): string {
  return String.fromCodePoint(Number.parseInt(code ?? '', 16));
}
