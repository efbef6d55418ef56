// Control level and mode in words.

import type { Schemas } from '../../api/client';
import type { Tone } from '../../theme';

export const LEVELS: Record<Schemas['ControlLevel'], { name: string; says: string }> = {
  read_only: { name: 'Read only', says: 'Agents look and answer. Every write is refused.' },
  controlled: { name: 'Controlled', says: 'Agents read by themselves. Every write waits until a human approves that exact plan.' },
  autonomous: { name: 'Autonomous', says: 'Writes run by themselves where risk and policies let them; what is risky still waits for a human.' },
};

const MODES: Record<string, string> = {
  normal: 'Everything works.',
  alert: 'Something is wrong; changes are watched more closely.',
  degraded: 'Part of the system is down.',
  lockdown: 'Nothing may change: every write is refused.',
  recovery: 'Coming back from a failure.',
};

export function modeSays(mode: string): string {
  return MODES[mode] ?? 'A mode that this page does not know.';
}

/** Amber where writes can happen without a human, red where nothing may change. */
export function pillTone(level: Schemas['ControlLevel'], mode: string): Tone {
  if (mode === 'lockdown') return 'refused';
  return level === 'autonomous' ? 'write' : 'plain';
}
