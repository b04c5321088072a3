// A sandbox as a value, and its row. The states and what may follow on each:
// STARTING -> RUNNING <-> PAUSED; STARTING or RUNNING -> ERROR (health, end of the command); any -> MISSING (lost).
import { Secret } from '../../config/secret.ts';
import type { Item } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import type { SandboxPlace } from './driver.ts';

export type SandboxStatus = 'STARTING' | 'RUNNING' | 'PAUSED' | 'ERROR' | 'MISSING';

export interface Sandbox {
  /** 128 random bits in base 62. */
  readonly id: string;
  /** '' = the one user of a plain key. */
  readonly userId: string;
  /** The server that runs it, see replicas.ts; '' = the only one. */
  readonly owner: string;
  readonly specId: string;
  readonly status: SandboxStatus;
  /** For people; null = nothing to say. */
  readonly detail: string | null;
  readonly place: SandboxPlace | null;
  /** What its runtime takes as `X-Session-API-Key`. */
  readonly key: Secret;
  /** Epoch milliseconds. */
  readonly createdMs: number;
  /** Of the last start, resume or sign of life. */
  readonly activeMs: number;
  readonly revision: number;
}

type Body = Pick<Sandbox, 'owner' | 'specId' | 'status' | 'detail' | 'place' | 'activeMs'>;

/** Whether it uses up one of the places that `max_running` grants. */
export const isUp = ({ status }: Sandbox): boolean => status === 'STARTING' || status === 'RUNNING';

export function itemOf(sandbox: Sandbox, nowMs: number, vault: Vault): Item {
  const { id, userId, owner, specId, status, detail, place, activeMs, createdMs, revision } = sandbox;
  const body: Body = { owner, specId, status, detail, place, activeMs };
  return {
    kind: 'sandbox',
    id,
    userId,
    createdMs,
    updatedMs: nowMs,
    title: null,
    link: null,
    parent: null,
    body: JSON.stringify(body),
    sealed: vault.seal('sandbox', id, { key: sandbox.key.reveal() }),
    revision,
  };
}

export function sandboxOf(item: Item, vault: Vault): Sandbox {
  const { id, userId, createdMs, revision } = item;
  // Rows of the first version have no owner.
  const body: Body = { owner: '', ...(JSON.parse(item.body) as Omit<Body, 'owner'>) };
  return { id, userId, createdMs, revision, ...body, key: new Secret(vault.open(item)['key'] ?? '') };
}
