// The sandboxes that this server knows: its own, and those of other servers on the same store. Those of others can only be
// listed and deleted here, because their processes run elsewhere.
import { refuse } from '../api/refusal.ts';
import type { Replicas } from '../../proxy/server/mount.ts';
import type { Sandbox, SandboxStatus } from './sandbox.ts';

export class KnownSandboxes {
  readonly #replicas: Replicas;
  readonly #own = new Map<string, Sandbox>();
  readonly #others = new Map<string, Sandbox>();
  /** Ids by the SHA-256 of the key: a key that is compared by its hash tells nothing by the time that takes. */
  readonly #idByKeyHash = new Map<string, string>();

  constructor(replicas: Replicas) {
    this.#replicas = replicas;
  }

  put(sandbox: Sandbox): void {
    const map = sandbox.owner === this.#replicas.own ? this.#own : this.#others;
    map.set(sandbox.id, sandbox);
    this.#idByKeyHash.set(sandbox.key.sha256(), sandbox.id);
  }

  /** Takes a change from another server; ignores changes of this server's own sandboxes. */
  updateFromPeer(sandbox: Sandbox): void {
    if (sandbox.owner !== this.#replicas.own) this.put(sandbox);
  }

  forget(id: string): void {
    const sandbox = this.#own.get(id) ?? this.#others.get(id);
    if (sandbox !== undefined) this.#idByKeyHash.delete(sandbox.key.sha256());
    this.#own.delete(id);
    this.#others.delete(id);
  }

  /** One of this server. */
  own(id: string): Sandbox | undefined {
    return this.#own.get(id);
  }

  /** Of any server. @param keyHash SHA-256 hex of its key */
  byKey(keyHash: string): Sandbox | null {
    const id = this.#idByKeyHash.get(keyHash) ?? '';
    return this.#own.get(id) ?? this.#others.get(id) ?? null;
  }

  /** Those of this server. */
  get ofThisServer(): readonly Sandbox[] {
    return [...this.#own.values()];
  }

  /** How many of this server there are in each state. */
  get counts(): ReadonlyMap<SandboxStatus, number> {
    const byStatus = Map.groupBy(this.#own.values(), ({ status }) => status);
    return new Map([...byStatus].map(([status, all]) => [status, all.length]));
  }

  /** Of any server. */
  find(userId: string, id: string): Sandbox | null {
    const sandbox = this.#own.get(id) ?? this.#others.get(id);
    return sandbox?.userId === userId ? this.#withLiveStatus(sandbox) : null;
  }

  /** Of all servers, newest first. */
  list(userId: string): readonly Sandbox[] {
    const all = [...this.#own.values(), ...this.#others.values()];
    const sandboxes = all
      .filter((sandbox) => sandbox.userId === userId)
      .map((one) => this.#withLiveStatus(one));
    return sandboxes.sort((a, b) => b.createdMs - a.createdMs || (a.id < b.id ? 1 : -1));
  }

  /** A sandbox of this server. @throws Refusal 404, 409 */
  require(userId: string, id: string): Sandbox {
    const found = this.find(userId, id);
    if (found === null) throw refuse(404, 'Sandbox not found');
    const own = this.#own.get(id);
    if (own !== undefined) return own;
    const name = this.#replicas.nameOf(found.owner);
    throw refuse(409, `The sandbox belongs to the server ${name}; only that one can reach it`);
  }

  #withLiveStatus(sandbox: Sandbox): Sandbox {
    if (this.#replicas.isAlive(sandbox.owner)) return sandbox;
    return { ...sandbox, status: 'MISSING', unhealthy: null, detail: 'the server that ran it is gone' };
  }
}
