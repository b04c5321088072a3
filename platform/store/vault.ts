// The platform's secrets at rest: an encrypted JSON object next to each item with secrets, bound to the item's kind and id.
// The only file that decrypts them; callers keep the result as Secret.
import { sealerWith, type Sealer } from '../../proxy/server/mount.ts';
import type { Secret } from '../../config/secret.ts';
import { allItems } from '../../proxy/server/mount.ts';
import { StoreUnavailable } from '../../proxy/server/mount.ts';
import type { Change, Item, Kind, PlatformStore } from './store.ts';

/** Names and texts of an item's secrets. */
type SecretTexts = Readonly<Record<string, string>>;

const CHECK = 'secret-key-check';

/** The data was sealed under another key. */
export class WrongSecretKey extends Error {
  override readonly name = 'WrongSecretKey';
}

/** Seals and opens under one key. */
export class Vault {
  readonly #sealer: Sealer;

  /** @param key base64 of 32 bytes */
  constructor(key: Secret) {
    this.#sealer = sealerWith(Buffer.from(key.reveal(), 'base64'));
  }

  /** null when there is nothing to seal. */
  seal(kind: Kind, id: string, secrets: SecretTexts): Uint8Array | null {
    if (Object.keys(secrets).length === 0) return null;
    return this.#sealer.seal(JSON.stringify(secrets), `${kind}/${id}`);
  }

  /** @throws PlatformStoreUnavailable when the bytes were changed or belong elsewhere */
  open(item: Pick<Item, 'kind' | 'id' | 'sealed'>): SecretTexts {
    if (item.sealed === null) return {};
    const text = this.#sealer.open(item.sealed, `${item.kind}/${item.id}`);
    if (text === null)
      throw new StoreUnavailable('unavailable', `the secrets of ${item.kind} ${item.id} are damaged`);
    return JSON.parse(text) as SecretTexts;
  }

  /** Makes sure that this is the key of the data; the first start decides. @throws WrongSecretKey */
  async check(store: PlatformStore, nowMs: number): Promise<void> {
    if (await this.#isOf(store)) return;
    const sealed = this.seal('meta', CHECK, { made: String(nowMs) });
    await store.apply([
      { put: { ...EMPTY, kind: 'meta', id: CHECK, createdMs: nowMs, updatedMs: nowMs, sealed } },
    ]);
    await this.#isOf(store); // of two servers that start for the first time at once, one decides
  }

  /** false = no key has been decided on. @throws WrongSecretKey */
  async #isOf(store: PlatformStore): Promise<boolean> {
    const [found = null] = await store.get('meta', [CHECK]);
    if (found === null) return false;
    if (found.sealed !== null && this.#sealer.open(found.sealed, `meta/${CHECK}`) !== null) return true;
    throw new WrongSecretKey(
      'platform.secret_key is not the key under which the platform data is sealed - set the old key again, ' +
        'or exchange it with `throughline rotate-platform-key`',
    );
  }
}

const EMPTY = { userId: '', title: null, link: null, parent: null, body: '{}', revision: 0 } as const;

/** Seals everything anew, in one transaction. @returns how many items. @throws WrongSecretKey */
export async function rotate(store: PlatformStore, from: Vault, to: Vault, nowMs: number): Promise<number> {
  await from.check(store, nowMs);
  const changes: Change[] = [];
  // Events are sealed under keys of their own, which stand in the logs.
  for (const kind of ['meta', 'settings', 'conversation', 'sandbox', 'start_task', 'event_log'] as const) {
    for await (const item of allItems(store, kind)) {
      if (item.sealed === null) continue;
      changes.push({ put: { ...item, sealed: to.seal(kind, item.id, from.open(item)) } });
    }
  }
  if ((await store.apply(changes)) === 'conflict')
    throw new StoreUnavailable(
      'unavailable',
      'the data changed meanwhile; nothing was changed - run it again',
    );
  return changes.length;
}
