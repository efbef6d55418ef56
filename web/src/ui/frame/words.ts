// Control level and mode in words.

import type { Schemas } from '../../api/client';
import type { Tone } from '../../theme';

export const LEVELS: Record<Schemas['ControlLevel'], { name: string; says: string }> = {
  read_only: { name: 'Read only', says: 'Agents read and answer. Every write is refused.' },
  controlled: { name: 'Controlled', says: 'Agents read without approval. Every write waits until a person approves its exact plan.' },
  autonomous: { name: 'Autonomous', says: 'Writes run without approval if risk and policies allow it. High-risk writes still wait for a person.' },
};

const MODES: Record<string, string> = {
  normal: 'Everything works.',
  alert: 'There is a problem; changes are checked more strictly.',
  degraded: 'Part of the system is down.',
  lockdown: 'Every write is refused.',
  recovery: 'Recovering from a failure.',
};

export function modeSays(mode: string): string {
  return MODES[mode] ?? 'Unknown mode.';
}

/** Amber where writes can happen without a human, red where nothing may change. */
export function pillTone(level: Schemas['ControlLevel'], mode: string): Tone {
  if (mode === 'lockdown') return 'refused';
  return level === 'autonomous' ? 'write' : 'plain';
}
