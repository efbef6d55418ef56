// Small drawings, 16 by 16, in the colour of the text. A drawing is never the only sign: a word stands next to it.

import type { CSSProperties, ReactNode } from 'react';

const DRAWINGS = {
  overview: <path d="M2 8.5 8 3l6 5.5M4 7.5V13h8V7.5" />,
  approvals: <path d="M5 8.5 7 10.5 11.5 6M3 2.5h10v11H3z" />,
  sessions: <path d="M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01" />,
  chat: <path d="M2.5 3h11v8H8l-3 2.5V11H2.5z" />,
  infrastructure: <path d="M3 2.5h10v4H3zM3 9.5h10v4H3zM5.5 4.5h.01M5.5 11.5h.01" />,
  tools: <path d="M10 2.5a3.5 3.5 0 0 0-3.2 4.9L2.5 11.7l1.8 1.8 4.3-4.3A3.5 3.5 0 0 0 13.5 6l-2 1-1.8-1.8 1-2a3.5 3.5 0 0 0-.7-.7z" />,
  models: <path d="M8 2 13.5 5v6L8 14l-5.5-3V5zM8 8v6M8 8 2.5 5M8 8l5.5-3" />,
  settings: <path d="M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3" />,
  search: <path d="M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3 3" />,
  stop: <path d="M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM6 6h4v4H6z" />,
  play: <path d="M5 3.5v9l7.5-4.5z" />,
  copy: <path d="M6 6h7v7H6zM3.5 10H3V3h7v.5" />,
  check: <path d="m3 8.5 3.5 3.5L13 4.5" />,
  cross: <path d="m4 4 8 8M12 4l-8 8" />,
  chevronRight: <path d="m6 3.5 4.5 4.5L6 12.5" />,
  chevronDown: <path d="M3.5 6 8 10.5 12.5 6" />,
  up: <path d="M8 13V3M4 7l4-4 4 4" />,
  down: <path d="M8 3v10M4 9l4 4 4-4" />,
  sort: <path d="m5 6 3-3 3 3M5 10l3 3 3-3" />,
  external: <path d="M6.5 3H3v10h10V9.5M9 3h4v4M13 3 7.5 8.5" />,
  link: <path d="M6.5 9.5 9.5 6.5M7 4.5 8.5 3a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5 7.5 13a2.8 2.8 0 0 1-4-4L5 7.5" />,
  sun: <path d="M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7" />,
  moon: <path d="M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z" />,
  system: <path d="M2 3h12v8H2zM6 14h4M8 11v3" />,
  menu: <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" />,
  plus: <path d="M8 3v10M3 8h10" />,
  clock: <path d="M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.3l2 1.7" />,
  question: <path d="M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.3 6.3a1.7 1.7 0 1 1 2.4 1.5c-.5.3-.7.6-.7 1.2M8 11.2h.01" />,
  user: <path d="M8 2.5a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM2.8 13.5c.6-2.4 2.7-3.7 5.2-3.7s4.6 1.3 5.2 3.7" />,
  download: <path d="M8 2.5V10M5 7.5l3 3 3-3M3 13.5h10" />,
  columns: <path d="M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10" />,
  bell: <path d="M4 11V7a4 4 0 0 1 8 0v4l1 1H3zM7 14h2" />,
  filter: <path d="M2.5 3.5h11L9.5 8.5V13l-3-1.5v-3z" />,
  refresh: <path d="M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2.5V6H9.5" />,
  trash: <path d="M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5 5 13.5h6l.5-9" />,
  edit: <path d="M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z" />,
  key: <path d="M5.5 7.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM7.7 8.3 13.5 2.5M11 5l2 2" />,
  line: <path d="M2 8h3l2-4 2.5 8L11 8h3" />,
  read: <path d="M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z" />,
  write: <path d="M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z" />,
  waiting: <path d="M4.5 2.5h7M4.5 13.5h7M5 2.5c0 3.5 3 4 3 5.5s-3 2-3 5.5M11 2.5c0 3.5-3 4-3 5.5s3 2 3 5.5" />,
  refused: <path d="M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4" />,
  failed: <path d="M8 2.5 14.5 13.5h-13zM8 6.5v3M8 11.5h.01" />,
  verified: <path d="M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM5.3 8.2l2 2 3.5-4" />,
  plain: <path d="M8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z" />,
  running: <path d="M8 2a6 6 0 1 1-6 6M8 8h.01" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof DRAWINGS;

/** A drawing. Without `label` it says nothing to screen readers: the word next to it does. */
export function Icon({ name, size = 16, label, style }: { name: IconName; size?: number; label?: string; style?: CSSProperties }) {
  return (
    <svg
      width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth={1.5}
      strokeLinecap="round" strokeLinejoin="round" focusable="false" className="icon" style={style}
      {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      {DRAWINGS[name]}
    </svg>
  );
}
