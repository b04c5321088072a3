// A sandbox as a value, and its row. The states and what may follow on each stand in docs/platform-sandboxes.md: a sandbox whose
// process lives is never given up, whatever its health check says.
import { Secret } from '../../config/secret.ts';
import type { Item } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import type { SandboxPlace } from './driver.ts';

/** What the health checks of a living sandbox say, while they do not say that all is well. */
export interface Unhealthy {
  /** Epoch milliseconds. */
  readonly sinceMs: number;
  /** Checks in a row that were answered badly or not taken; one that times out does not count. */
  readonly failedChecks: number;
}

/** ERROR with `unhealthy`: its process lives; without: it has ended, or was never there. */
export type SandboxState =
  | { readonly status: 'STARTING' | 'PAUSED' | 'MISSING'; readonly unhealthy: null }
  | { readonly status: 'RUNNING' | 'ERROR'; readonly unhealthy: Unhealthy | null };

interface SandboxFacts {
  /** 128 random bits in base 62. */
  readonly id: string;
  /** '' = the one user of a plain key. */
  readonly userId: string;
  /** The server that runs it, see replicas.ts; '' = the only one. */
  readonly owner: string;
  readonly specId: string;
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

export type Sandbox = SandboxFacts & SandboxState;
export type SandboxStatus = SandboxState['status'];

type Body = Pick<SandboxFacts, 'owner' | 'specId' | 'detail' | 'place' | 'activeMs'> & SandboxState;

/** Whether its process lives and its runtime is, or was, at work: such a one can be paused. */
export const isAwake = ({ status, unhealthy }: Sandbox): boolean =>
  status === 'RUNNING' || (status === 'ERROR' && unhealthy !== null);

/** Whether it uses up one of the places that `max_running` grants. */
export const isUp = (sandbox: Sandbox): boolean => sandbox.status === 'STARTING' || isAwake(sandbox);

export function itemOf(sandbox: Sandbox, nowMs: number, vault: Vault): Item {
  const { id, userId, owner, specId, detail, place, activeMs, createdMs, revision } = sandbox;
  const body: Body = { owner, specId, detail, place, activeMs, ...stateOf(sandbox) };
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

/** The state alone. */
function stateOf(sandbox: Sandbox): SandboxState {
  return sandbox.unhealthy === null
    ? { status: sandbox.status, unhealthy: null }
    : { status: sandbox.status, unhealthy: sandbox.unhealthy };
}

export function sandboxOf(item: Item, vault: Vault): Sandbox {
  const { id, userId, createdMs, revision } = item;
  // Rows of the first version have no owner, those before the third say nothing of health.
  const stored = JSON.parse(item.body) as Omit<Body, 'owner' | 'unhealthy'> & Partial<Body>;
  const body = { ...stored, owner: stored.owner ?? '', unhealthy: stored.unhealthy ?? null } as Body;
  return { id, userId, createdMs, revision, ...body, key: new Secret(vault.open(item)['key'] ?? '') };
}
