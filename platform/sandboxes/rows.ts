// The rows of sandboxes: what is known of one changes when its row has changed, never before.
import type { Clock } from '../../proxy/base/clock.ts';
import { allItems } from '../../proxy/server/mount.ts';
import { refuse } from '../api/refusal.ts';
import type { PlatformStore } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import type { KnownSandboxes } from './known-sandboxes.ts';
import { itemOf, sandboxOf, type Sandbox } from './sandbox.ts';

interface RowsOptions {
  readonly known: KnownSandboxes;
  readonly store: PlatformStore;
  readonly vault: Vault;
  readonly clock: Clock;
}

export class SandboxRows {
  readonly #options: RowsOptions;

  constructor(options: RowsOptions) {
    this.#options = options;
  }

  /** Those of all servers. */
  async load(): Promise<void> {
    const { known, store, vault } = this.#options;
    for await (const item of allItems(store, 'sandbox')) known.put(sandboxOf(item, vault));
  }

  /** Nobody else writes the rows of this server's sandboxes: others only delete them. @throws Refusal 409 when that has happened */
  async write(sandbox: Sandbox): Promise<Sandbox> {
    const written = (await this.#put(sandbox)) ?? (await this.#putAgain(sandbox));
    if (written === null) throw refuse(409, 'The sandbox was deleted by another server at the same time');
    this.#options.known.put(written);
    return written;
  }

  /** A write whose answer was lost, as with the connection, was taken: the row is further than was known here. */
  async #putAgain(sandbox: Sandbox): Promise<Sandbox | null> {
    const [row = null] = await this.#options.store.get('sandbox', [sandbox.id]);
    return row === null ? null : await this.#put({ ...sandbox, revision: row.revision });
  }

  /** null = the row has another revision. */
  async #put(sandbox: Sandbox): Promise<Sandbox | null> {
    const { store, vault, clock } = this.#options;
    const applied = await store.apply([{ put: itemOf(sandbox, clock.now(), vault) }]);
    return applied === 'conflict' ? null : { ...sandbox, revision: sandbox.revision + 1 };
  }

  async remove(id: string): Promise<void> {
    await this.#options.store.apply([{ remove: { kind: 'sandbox', id } }]);
    this.#options.known.forget(id);
  }
}
