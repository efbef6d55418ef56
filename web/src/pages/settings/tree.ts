// The effective configuration as lines that read like the file: a key, its value, what lies under it. For reading,
// searching and copying; never for editing.

export interface Line {
  /** Where it is: `server.listen`. */
  path: string;
  depth: number;
  /** The key, or `-` in a list. */
  key: string;
  /** The value; nothing for what only has things under it. */
  value: string | undefined;
}

const PLAIN = /^[A-Za-z0-9_./@~ ()-]*[A-Za-z0-9_./)]$/;
const RESERVED = new Set(['true', 'false', 'null', 'yes', 'no', 'on', 'off', '~']);

function scalar(value: unknown): string {
  if (typeof value === 'string') {
    const plain = PLAIN.test(value) && !RESERVED.has(value.toLowerCase()) && !/^[-\d.]/.test(value) && value.trim() === value;
    return plain ? value : JSON.stringify(value);
  }
  return JSON.stringify(value);
}

function isTree(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** Every line of a tree, in its order. */
export function lines(value: unknown): Line[] {
  const found: Line[] = [];
  const walk = (at: unknown, path: string, depth: number): void => {
    if (!isTree(at)) return;
    const list = Array.isArray(at);
    for (const [key, below] of Object.entries(at) as [string, unknown][]) {
      const here = list ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      found.push({ path: here, depth, key: list ? '-' : key, value: isTree(below) ? undefined : scalar(below) });
      walk(below, here, depth + 1);
    }
  };
  walk(value, '', 0);
  return found;
}

/** Lines that contain the search, with what they lie under, so that a value is never seen without its place. */
export function search(all: readonly Line[], text: string): Line[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [...all];
  const keep = new Set<number>();
  const open: number[] = [];
  all.forEach((line, index) => {
    open.length = line.depth;
    open[line.depth] = index;
    if (line.path.toLowerCase().includes(wanted) || (line.value ?? '').toLowerCase().includes(wanted)) {
      for (const above of open) keep.add(above);
    }
  });
  return all.filter((_, index) => keep.has(index));
}

/** The tree as text that the configuration reader would take. */
export function yaml(all: readonly Line[]): string {
  let text = '';
  let after = false;
  for (const line of all) {
    const lead = after ? '' : '  '.repeat(line.depth);
    const head = line.key === '-' ? '-' : `${line.key}:`;
    // The first key of an entry stands on the line of its dash.
    after = line.key === '-' && line.value === undefined;
    text += `${lead}${head}${line.value === undefined ? '' : ` ${line.value}`}${after ? ' ' : '\n'}`;
  }
  return text;
}
