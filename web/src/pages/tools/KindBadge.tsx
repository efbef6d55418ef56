import type { Schemas } from '../../api/client';
import { ToneBadge } from '../../ui/Tone';

/** What a tool does to the world: a read is blue, a write amber. */
export function KindBadge({ kind }: { kind: Schemas['ToolKind'] }) {
  if (kind === 'write') return <ToneBadge tone="write" title="It can change something; the gate decides each call.">write</ToneBadge>;
  if (kind === 'read') return <ToneBadge tone="read" title="It changes nothing.">read</ToneBadge>;
  return <ToneBadge tone="read" icon="search" title="It looks names up; it changes nothing.">look up</ToneBadge>;
}
