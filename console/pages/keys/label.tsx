// What a key is called and what state it is in, for its list and its drawer.
import type { JSX } from 'preact';
import type { KeyRow } from '../../api/access.ts';
import { now } from '../../base/now.ts';
import { t } from '../../text/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';

export const STATES = ['active', 'expired', 'revoked'] as const;

/** How people tell it from others. */
export const nameOf = ({
  key_alias: alias,
  key_name: name,
}: Pick<KeyRow, 'key_alias' | 'key_name'>): string => alias ?? name;

const TONES: Readonly<Record<(typeof STATES)[number], Tone>> = {
  active: 'good',
  expired: 'idle',
  revoked: 'bad',
};

export function KeyState({ row }: { row: Pick<KeyRow, 'blocked' | 'expires'> }): JSX.Element {
  const isOver = row.expires !== null && Date.parse(row.expires) <= now.value;
  const unblocked = isOver ? 'expired' : 'active';
  const state = row.blocked ? 'revoked' : unblocked;
  return <Badge tone={TONES[state]}>{t().keysPage.states[state]}</Badge>;
}
