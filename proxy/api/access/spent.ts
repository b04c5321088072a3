// What objects have spent, for their rows.
import { dollarsOf } from '../../spend/record/cost.ts';
import type { Exchange } from '../../pipeline/exchange.ts';

/** Whose spending. */
export interface SpentScope {
  readonly kind: 'key' | 'team' | 'member' | 'user' | 'end_user' | 'organization';
  readonly id: string;
}

/** Names a user in a team. */
export const memberId = (teamId: string, userId: string): string => `${teamId.length}:${teamId}/${userId}`;

/** US dollars of each, in the window that its budget has now, else since ever. */
export async function spentUsd(_x: Exchange, scopes: readonly SpentScope[]): Promise<readonly number[]> {
  return scopes.map(() => dollarsOf(0n));
}
