// Bars of a usage report: days next to each other, other groups one under the other. The table beside them has the numbers.

import { useElementSize } from '@mantine/hooks';

import { roundUp, type UsageRow, value, type Measure } from './usage';

const HIGH = 160;
const LEFT = 56;
const BOTTOM = 20;
const TOP = 8;

interface Props {
  rows: readonly UsageRow[];
  measure: Measure;
  say: (value: number) => string;
}

/** One bar for each day. */
export function DayBars({ rows, measure, say }: Props) {
  const { ref, width } = useElementSize();
  const wide = Math.max(280, Math.round(width));
  const top = roundUp(Math.max(0, ...rows.map((row) => value(row, measure))));
  const step = (wide - LEFT) / Math.max(1, rows.length);
  const room = HIGH - BOTTOM - TOP;
  const every = Math.ceil(rows.length / Math.max(1, Math.floor((wide - LEFT) / 72)));
  return (
    <div ref={ref}>
      <svg className="bars" width={wide} height={HIGH} viewBox={`0 0 ${wide} ${HIGH}`} aria-hidden focusable="false">
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <line x1={LEFT} x2={wide} y1={TOP + room * (1 - part)} y2={TOP + room * (1 - part)} />
            <text x={LEFT - 8} y={TOP + room * (1 - part) + 4} textAnchor="end">{say(top * part)}</text>
          </g>
        ))}
        {rows.map((row, index) => {
          const number = value(row, measure);
          const height = (number / top) * room;
          const x = LEFT + index * step;
          return (
            <g key={row.group}>
              <rect className="bars-hit" x={x} y={TOP} width={step} height={room} />
              <rect x={x + step * 0.15} y={TOP + room - height} width={step * 0.7} height={height} />
              {index % every === 0 && <text x={x + step / 2} y={HIGH - 5} textAnchor="middle">{row.group.slice(5)}</text>}
              <title>{`${row.group}: ${say(number)}`}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** One bar for each group, the largest first. */
export function GroupBars({ rows, measure, say }: Props) {
  const sorted = rows.toSorted((left, right) => value(right, measure) - value(left, measure)).slice(0, 12);
  const most = Math.max(0, ...sorted.map((row) => value(row, measure)));
  return (
    <div className="bar-rows" aria-hidden>
      {sorted.map((row) => (
        <Bar key={row.group} name={row.group} part={most === 0 ? 0 : value(row, measure) / most} text={say(value(row, measure))} />
      ))}
    </div>
  );
}

function Bar({ name, part, text }: { name: string; part: number; text: string }) {
  return (
    <>
      <span>{name === '' ? 'none' : name}</span>
      <span className="bar-row-track"><span className="bar-row-fill" style={{ width: `${part * 100}%`, display: 'block' }} /></span>
      <span>{text}</span>
    </>
  );
}
