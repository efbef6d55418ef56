// How a resource stands: a shape and its provider's word. Only trouble has a colour: up is not verified, merely up.

import './infrastructure.css';

import { type Standing, standing } from './resources';

const SHAPES: Record<Standing, React.ReactNode> = {
  up: <circle cx={6} cy={6} r={4.25} fill="currentColor" stroke="none" />,
  down: <rect x={2} y={2} width={8} height={8} rx={1} />,
  trouble: <path d="M6 1.2 11.2 10.4H.8zM6 4.6v2.6M6 8.8h.01" />,
  changing: (
    <>
      <circle cx={6} cy={6} r={4.25} />
      <path d="M6 1.75a4.25 4.25 0 0 1 0 8.5z" fill="currentColor" stroke="none" />
    </>
  ),
  unknown: <circle cx={6} cy={6} r={4.25} strokeDasharray="2 2" />,
};

/** The shape alone, for drawings; a word must stand next to it. */
export function StateShape({ state }: { state: string | null | undefined }) {
  const how = standing(state);
  return (
    <g className="tone-icon" data-tone={how === 'trouble' ? 'failed' : 'plain'} data-standing={how}>
      <g className="state-shape">{SHAPES[how]}</g>
    </g>
  );
}

/** The shape alone, next to a word of its own. */
export function StateDot({ state }: { state: string | null | undefined }) {
  return (
    <svg width={12} height={12} viewBox="0 0 12 12" aria-hidden focusable="false">
      <StateShape state={state} />
    </svg>
  );
}

/** Shape and word. */
export function StateMark({ state }: { state: string | null | undefined }) {
  return (
    <span className="state-mark">
      <StateDot state={state} />
      <span>{state ?? 'unknown'}</span>
    </span>
  );
}
