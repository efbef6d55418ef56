import type { Schemas } from '../../api/client';
import { writeMark } from '../../lib/writes';
import { ToneBadge } from '../../ui/Tone';

/** What happened in a session, as far as a colour says it: what waits, what was written, what was refused. */
export function Marks({ session }: { session: Schemas['SessionSummary'] }) {
  const written = writeMark(session);
  return (
    <>
      {session.open_holds > 0 && <ToneBadge tone="waiting">{session.open_holds} waiting</ToneBadge>}
      {written && <ToneBadge tone={written.tone}>{written.words}</ToneBadge>}
      {session.refusals > 0 && <ToneBadge tone="refused">{session.refusals} refused</ToneBadge>}
    </>
  );
}
