// A small Markdown: headings, lists, quotes, code, bold, italics, links to http(s), tables, rules. Everything else is text.
// It yields a tree whose texts know where they stand in the source, so that parts of an answer can be marked. HTML is text.

export type Inline =
  | { type: 'text'; start: number; text: string }
  | { type: 'code'; start: number; text: string }
  | { type: 'strong' | 'em' | 'del'; children: Inline[] }
  | { type: 'link'; href: string; children: Inline[] };

export interface Item {
  checked: boolean | undefined;
  children: Block[];
}

export type Block =
  | { type: 'heading'; level: number; children: Inline[] }
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'code'; language: string; start: number; text: string }
  | { type: 'list'; ordered: boolean; first: number; items: Item[] }
  | { type: 'quote'; children: Block[] }
  | { type: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { type: 'rule' };

interface Line {
  text: string;
  /** Where its text begins in the source. */
  start: number;
}

const DEEPEST = 12;
/** How far an emphasis reaches: without an end, hostile text would take the square of its length. */
const FARTHEST = 1024;

/** The address of a link, if it may be one. */
export function safeHref(raw: string): string | undefined {
  if (!/^https?:\/\//i.test(raw)) return undefined;
  try {
    const url = new URL(raw);
    // A name before an @ makes another address look like this one.
    if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '' || url.password !== '') return undefined;
    return url.href;
  } catch {
    return undefined;
  }
}

const WORD = /[\p{L}\p{N}]/u;

function closing(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at !== -1 && at - from < FARTHEST; at = text.indexOf(mark, at + 1)) {
    if (at === from || /\s/.test(text.charAt(at - 1)) || text.charAt(at - 1) === '\\') continue;
    if (mark.length === 1 && (text.charAt(at + 1) === mark || text.charAt(at - 1) === mark)) continue;
    if (mark === '_' && WORD.test(text.charAt(at + 1))) continue;
    return at;
  }
  return -1;
}

/** Parses the inside of a line or a paragraph; `start` is where it stands in the source. In the text of a link is no other. */
export function parseInline(text: string, start: number, depth = 0, links = true): Inline[] {
  const out: Inline[] = [];
  let plain = '';
  let plainStart = start;
  const flush = () => {
    if (plain !== '') out.push({ type: 'text', start: plainStart, text: plain });
    plain = '';
  };
  const add = (piece: string, at: number) => {
    // An escape leaves a gap in the source: a text never spans one.
    if (plain !== '' && plainStart + plain.length !== start + at) flush();
    if (plain === '') plainStart = start + at;
    plain += piece;
  };
  let at = 0;
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === '\\' && /[\\`*_{}[\]()#+\-.!|~>]/.test(text.charAt(at + 1))) {
      add(text.charAt(at + 1), at + 1);
      at += 2;
      continue;
    }
    if (char === '`') {
      const ticks = /^`+/.exec(text.slice(at))?.[0] ?? '`';
      const end = text.indexOf(ticks, at + ticks.length);
      if (end !== -1 && text.charAt(end + ticks.length) !== '`') {
        flush();
        out.push({ type: 'code', start: start + at + ticks.length, text: text.slice(at + ticks.length, end) });
        at = end + ticks.length;
        continue;
      }
      add(ticks, at);
      at += ticks.length;
      continue;
    }
    if (depth < DEEPEST && (char === '*' || char === '_' || char === '~')) {
      const double = text.charAt(at + 1) === char;
      const mark = double ? char + char : char;
      const before = text.charAt(at - 1);
      const opens = !/\s/.test(text.charAt(at + mark.length) || ' ') && !(char === '_' && WORD.test(before)) && !(char === '~' && !double);
      const end = opens ? closing(text, mark, at + mark.length) : -1;
      if (end !== -1) {
        flush();
        const type = char === '~' ? 'del' : double ? 'strong' : 'em';
        out.push({ type, children: parseInline(text.slice(at + mark.length, end), start + at + mark.length, depth + 1, links) });
        at = end + mark.length;
        continue;
      }
      add(mark, at);
      at += mark.length;
      continue;
    }
    if (char === '[' && links && depth < DEEPEST) {
      const found = /^\[([^[\]]*)\]\(\s*([^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+"[^"]*")?\s*\)/.exec(text.slice(at, at + 4096));
      const href = found ? safeHref(found[2] ?? '') : undefined;
      if (found && href !== undefined) {
        flush();
        out.push({ type: 'link', href, children: parseInline(found[1] ?? '', start + at + 1, depth + 1, false) });
        at += found[0].length;
        continue;
      }
    }
    if (char === 'h' && links && !WORD.test(text.charAt(at - 1))) {
      const found = /^https?:\/\/[^\s<>"'`)\]]+/.exec(text.slice(at, at + 2048))?.[0].replace(/[.,;:!?]+$/, '');
      const href = found === undefined ? undefined : safeHref(found);
      if (found !== undefined && href !== undefined) {
        flush();
        out.push({ type: 'link', href, children: [{ type: 'text', start: start + at, text: found }] });
        at += found.length;
        continue;
      }
    }
    add(char, at);
    at += 1;
  }
  flush();
  return out;
}

function linesOf(source: string): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (const text of source.split('\n')) {
    lines.push({ text: text.endsWith('\r') ? text.slice(0, -1) : text, start });
    start += text.length + 1;
  }
  return lines;
}

const FENCE = /^(\s{0,3})(```+|~~~+)\s*([\w+-]*)/;
const HEADING = /^\s{0,3}(#{1,6})\s+/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+/;
const QUOTE = /^\s{0,3}>\s?/;

/** `|---|:--:|`: cells of dashes. By hand, since an expression for it takes the square of a run of spaces. */
function isTableRule(text: string): boolean {
  let row = text.trim();
  if (row.startsWith('|')) row = row.slice(1);
  if (row.endsWith('|')) row = row.slice(0, -1);
  return row.split('|').every((cell) => {
    const bare = cell.trim();
    const dashes = bare.slice(bare.startsWith(':') ? 1 : 0, bare.length > 1 && bare.endsWith(':') ? -1 : undefined);
    return dashes !== '' && /^-+$/.test(dashes);
  });
}

/** A heading without the marks that may close it. */
function withoutClosing(text: string): string {
  const whole = text.trimEnd();
  let end = whole.length;
  while (end > 0 && whole.charAt(end - 1) === '#') end -= 1;
  if (end === whole.length) return whole;
  // Marks that touch a word belong to it: `C#`.
  return end === 0 || /\s/.test(whole.charAt(end - 1)) ? whole.slice(0, end).trimEnd() : whole;
}


function cells(line: Line): Inline[][] {
  const out: Inline[][] = [];
  let from = line.text.search(/\S/);
  if (from === -1) return out;
  if (line.text.charAt(from) === '|') from += 1;
  let ticks = false;
  for (let at = from; at <= line.text.length; at += 1) {
    const char = line.text.charAt(at);
    if (char === '`') ticks = !ticks;
    if (at === line.text.length || (char === '|' && !ticks && line.text.charAt(at - 1) !== '\\')) {
      const raw = line.text.slice(from, at);
      if (at < line.text.length || raw.trim() !== '') {
        const lead = raw.length - raw.trimStart().length;
        out.push(parseInline(raw.trim(), line.start + from + lead));
      }
      from = at + 1;
    }
  }
  return out;
}

function blocksOf(lines: readonly Line[], depth: number): Block[] {
  const out: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (!line) break;
    if (line.text.trim() === '') {
      at += 1;
      continue;
    }
    const fence = FENCE.exec(line.text);
    if (fence) {
      const mark = fence[2] ?? '```';
      let end = at + 1;
      while (end < lines.length && !(lines[end]?.text.trim().startsWith(mark) === true && lines[end]?.text.trim().replaceAll(mark.charAt(0), '') === '')) end += 1;
      const inside = lines.slice(at + 1, end);
      out.push({ type: 'code', language: fence[3] ?? '', start: inside[0]?.start ?? line.start, text: inside.map((one) => one.text).join('\n') });
      at = end + 1;
      continue;
    }
    const heading = HEADING.exec(line.text);
    if (heading) {
      const text = withoutClosing(line.text.slice(heading[0].length));
      out.push({ type: 'heading', level: heading[1]?.length ?? 1, children: parseInline(text, line.start + heading[0].length) });
      at += 1;
      continue;
    }
    if (RULE.test(line.text)) {
      out.push({ type: 'rule' });
      at += 1;
      continue;
    }
    if (depth < DEEPEST && QUOTE.test(line.text)) {
      const inside: Line[] = [];
      for (let one = lines[at]; one && QUOTE.test(one.text); one = lines[at]) {
        const lead = QUOTE.exec(one.text)?.[0].length ?? 0;
        inside.push({ text: one.text.slice(lead), start: one.start + lead });
        at += 1;
      }
      out.push({ type: 'quote', children: blocksOf(inside, depth + 1) });
      continue;
    }
    const item = depth < DEEPEST ? ITEM.exec(line.text) : null;
    if (item) {
      const [list, next] = listOf(lines, at, item, depth);
      out.push(list);
      at = next;
      continue;
    }
    const under = lines[at + 1];
    if (line.text.includes('|') && under && under.text.includes('-') && isTableRule(under.text)) {
      const head = cells(line);
      const rows: Inline[][][] = [];
      at += 2;
      for (let one = lines[at]; one?.text.includes('|') === true; one = lines[at]) {
        rows.push(cells(one));
        at += 1;
      }
      out.push({ type: 'table', head, rows });
      continue;
    }
    const from = at;
    at += 1;
    for (let one = lines[at]; one && one.text.trim() !== ''; one = lines[at]) {
      if (FENCE.test(one.text) || HEADING.test(one.text) || QUOTE.test(one.text) || ITEM.test(one.text) || RULE.test(one.text)) break;
      at += 1;
    }
    out.push({ type: 'paragraph', children: paragraph(lines.slice(from, at)) });
  }
  return out;
}

/** Lines as one run of text. Where they follow each other in the source they are parsed together. */
function paragraph(lines: readonly Line[]): Inline[] {
  const out: Inline[] = [];
  let run = '';
  let start = 0;
  for (const line of lines) {
    if (run !== '' && start + run.length + 1 === line.start) {
      run += `\n${line.text}`;
      continue;
    }
    if (run !== '') out.push(...parseInline(`${run}\n`, start));
    run = line.text;
    start = line.start;
  }
  if (run !== '') out.push(...parseInline(run, start));
  return out;
}

function listOf(lines: readonly Line[], from: number, first: RegExpExecArray, depth: number): [Block, number] {
  const indent = first[1]?.length ?? 0;
  const ordered = /\d/.test(first[2] ?? '');
  const items: Item[] = [];
  let at = from;
  while (at < lines.length) {
    const line = lines[at];
    const found = line ? ITEM.exec(line.text) : null;
    if (!line || !found || (found[1]?.length ?? 0) !== indent || /\d/.test(found[2] ?? '') !== ordered) break;
    const lead = found[0].length;
    const inside: Line[] = [{ text: line.text.slice(lead), start: line.start + lead }];
    at += 1;
    for (let one = lines[at]; one; one = lines[at]) {
      const own = one.text.length - one.text.trimStart().length;
      const blank = one.text.trim() === '';
      const next = lines[at + 1];
      if (blank && !(next && next.text.trim() !== '' && next.text.length - next.text.trimStart().length > indent)) break;
      if (!blank && own <= indent) break;
      const cut = blank ? one.text.length : Math.min(own, lead);
      inside.push({ text: one.text.slice(cut), start: one.start + cut });
      at += 1;
    }
    const box = /^\[([ xX])\]\s+/.exec(inside[0]?.text ?? '');
    if (box && inside[0]) inside[0] = { text: inside[0].text.slice(box[0].length), start: inside[0].start + box[0].length };
    items.push({ checked: box ? box[1] !== ' ' : undefined, children: blocksOf(inside, depth + 1) });
    // One empty line between items is still the same list.
    if (lines[at]?.text.trim() === '' && ITEM.test(lines[at + 1]?.text ?? '')) at += 1;
  }
  return [{ type: 'list', ordered, first: ordered ? Number.parseInt(first[2] ?? '1', 10) : 1, items }, at];
}

export function parseMarkdown(source: string): Block[] {
  return blocksOf(linesOf(source), 0);
}
