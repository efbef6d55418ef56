import type { Schemas } from '../../api/client';
import { ToneBadge } from '../../ui/Tone';

/** What a tool does to the world: a read is blue, a write amber. */
export function KindBadge({ kind }: { kind: Schemas['ToolKind'] }) {
  if (kind === 'write') return <ToneBadge tone="write" title="This tool can change something. The gate decides on each call.">write</ToneBadge>;
  if (kind === 'read') return <ToneBadge tone="read" title="This tool changes nothing.">read</ToneBadge>;
  return <ToneBadge tone="read" icon="search" title="This tool looks up names. It changes nothing.">look up</ToneBadge>;
}
