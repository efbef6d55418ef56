import { count, percent } from '../../lib/format';
import { ToneBadge } from '../../ui/Tone';

/** How many failed, with their part of all. Red only where something failed. */
export function FailedCount({ failed, calls }: { failed: number; calls: number }) {
  if (failed === 0) return <span className="dim">0</span>;
  const part = (failed / Math.max(1, calls)) * 100;
  return (
    <ToneBadge tone="failed" title={`${failed} of ${calls} calls`}>
      {`${count(failed)} (${part < 1 ? '< 1 %' : percent(Math.round(part))})`}
    </ToneBadge>
  );
}
