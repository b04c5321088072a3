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

  /** @throws Refusal 409 when another server has changed it meanwhile */
  async write(sandbox: Sandbox): Promise<Sandbox> {
    const { known, store, vault, clock } = this.#options;
    const applied = await store.apply([{ put: itemOf(sandbox, clock.now(), vault) }]);
    if (applied === 'conflict')
      throw refuse(409, 'The sandbox was changed by another server at the same time');
    const written = { ...sandbox, revision: sandbox.revision + 1 };
    known.put(written);
    return written;
  }

  async remove(id: string): Promise<void> {
    await this.#options.store.apply([{ remove: { kind: 'sandbox', id } }]);
    this.#options.known.forget(id);
  }
}
