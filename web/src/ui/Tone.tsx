// What a thing means: icon, word and colour together, so that no one of them has to be seen.

import type { ReactNode } from 'react';

import type { Tone } from '../theme';
import { Icon, type IconName } from './icons';

const ICONS: Record<Tone, IconName> = {
  read: 'read', write: 'write', waiting: 'waiting', refused: 'refused', failed: 'failed', verified: 'verified', plain: 'plain',
};

const WORDS: Record<Tone, string> = {
  read: 'read', write: 'write', waiting: 'waiting', refused: 'refused', failed: 'failed', verified: 'verified', plain: '',
};

/** The icon of a tone, in its colour. With `label` it is read out. */
export function ToneIcon({ tone, size = 16, label }: { tone: Tone; size?: number; label?: string | undefined }) {
  return (
    <span className="tone-icon" data-tone={tone}>
      <Icon name={ICONS[tone]} size={size} {...(label !== undefined && { label })} />
    </span>
  );
}

/** Icon and word on a quiet ground. Without children it says the tone's own word. */
export function ToneBadge({ tone, icon, title, children }: { tone: Tone; icon?: IconName | undefined; title?: string | undefined; children?: ReactNode }) {
  return (
    <span className="tone-badge" data-tone={tone} title={title}>
      <Icon name={icon ?? ICONS[tone]} size={13} />
      <span>{children ?? WORDS[tone]}</span>
    </span>
  );
}
