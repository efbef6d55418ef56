// Times: relative, with the exact one on hover; all driven by one clock, by the server's time.

import { useNow } from '../lib/clock';
import { ago, clock, duration, exact } from '../lib/format';

/** How long ago; the exact time on hover. */
export function Ago({ at }: { at: string | null | undefined }) {
  const now = useNow(5000);
  if (at === null || at === undefined) return <span className="dim">–</span>;
  return (
    <time dateTime={at} title={exact(at)} className="nowrap">
      {ago(now - Date.parse(at))}
    </time>
  );
}

/** How long still: mm:ss, amber, red in the last minute. */
export function Countdown({ until, label = 'left' }: { until: string; label?: string }) {
  const now = useNow();
  const left = (Date.parse(until) - now) / 1000;
  const over = left <= 0;
  return (
    <time dateTime={until} title={`until ${exact(until)}`} className="countdown nowrap" data-tone={left < 60 ? 'failed' : 'waiting'} role="timer" aria-live="off">
      {over ? 'expired' : `${clock(left)} ${label}`}
    </time>
  );
}

/** How long it took, or takes so far. */
export function Elapsed({ from, to }: { from: string; to?: string | null | undefined }) {
  const now = useNow();
  const begin = Date.parse(from);
  const title = to ? `${exact(from)} – ${exact(to)}` : `since ${exact(from)}`;
  return (
    <span title={title} className="nowrap">
      {to ? duration((Date.parse(to) - begin) / 1000) : clock((now - begin) / 1000)}
    </span>
  );
}
