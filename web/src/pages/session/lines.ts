// The timeline as lines of a list: agents side by side where there is room, one after the other where there is not.

import type { Row } from '../../lib/rows';
import type { Column, Section } from '../../lib/timeline';

export type Line =
  | { type: 'stage'; key: string; section: Section }
  | { type: 'agents'; key: string; columns: readonly Column[] }
  | { type: 'rows'; key: string; rows: readonly (Row | undefined)[] };

export function linesOf(sections: readonly Section[], wide: boolean): Line[] {
  const lines: Line[] = [];
  for (const section of sections) {
    lines.push({ type: 'stage', key: `stage-${section.key}`, section });
    const { columns } = section;
    if (columns.length > 1 && wide) {
      lines.push({ type: 'agents', key: `agents-${section.key}`, columns });
      const longest = Math.max(...columns.map((column) => column.rows.length));
      for (let place = 0; place < longest; place += 1) {
        lines.push({ type: 'rows', key: `${section.key}-${place}`, rows: columns.map((column) => column.rows[place]) });
      }
      continue;
    }
    for (const column of columns) {
      if (columns.length > 1) lines.push({ type: 'agents', key: `agent-${column.execution}`, columns: [column] });
      for (const row of column.rows) lines.push({ type: 'rows', key: row.key, rows: [row] });
    }
  }
  return lines;
}

/** The line that has the row. */
export function lineOfRow(lines: readonly Line[], row: string): string | undefined {
  return lines.find((line) => line.type === 'rows' && line.rows.some((one) => one?.key === row))?.key;
}

/** The next or the one before among the lines that have rows. */
export function step(lines: readonly Line[], current: string | undefined, by: 1 | -1): string | undefined {
  const rows = lines.filter((line) => line.type === 'rows');
  const at = rows.findIndex((line) => line.key === current);
  if (at === -1) return by === 1 ? rows[0]?.key : rows.at(-1)?.key;
  return rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.key;
}
