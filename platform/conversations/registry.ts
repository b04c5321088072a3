// Registers the keys of conversations with the proxy: each call with such a key gets the conversation's session, tags and
// headers. Also tracks which keys belong to a sandbox, and when it made its last call.
import type { CallerDirectory, CallerIdentity } from '../../proxy/server/mount.ts';
import { dashed } from '../ids.ts';
import { allItems } from '../../proxy/server/mount.ts';
import type { ChangeListener, Item, PlatformStore } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import { headersOf, outlineOf, type Conversation, type Tags } from './conversation.ts';

export class Registry {
  readonly #callers: CallerDirectory;
  readonly #keysOf = new Map<string, Set<string>>();

  constructor(callers: CallerDirectory) {
    this.#callers = callers;
  }

  /** All conversations of the store. Their seals stay closed until a call comes: 100,000 keys in some 0.5 s. */
  async load(store: PlatformStore, vault: Vault): Promise<void> {
    for await (const item of allItems(store, 'conversation')) this.#take(item, vault);
  }

  /** What other servers do with conversations. */
  changeListener(vault: Vault): ChangeListener {
    return {
      stored: (item) => this.#take(item, vault),
      removed: (gone) => this.#forget(outlineOf(gone).keyHash, gone.link ?? ''),
    };
  }

  /** From now on calls with its key are its calls. */
  put({ id, userId, tags, key, headers, sandboxId }: Conversation): void {
    this.#put(key.sha256(), new ConversationIdentity(id, userId, tags, { open: () => headers }), sandboxId);
  }

  /** Its key is no key any more. */
  remove({ key, sandboxId }: Conversation): void {
    this.#forget(key.sha256(), sandboxId);
  }

  /** Epoch milliseconds of the last LLM call of a sandbox's conversations; 0 = none since the start. */
  lastCallMs(sandboxId: string): number {
    let last = 0;
    for (const hash of this.#keysOf.get(sandboxId) ?? [])
      last = Math.max(last, this.#callers.lastCallMs(hash));
    return last;
  }

  #take(item: Item, vault: Vault): void {
    const { tags, keyHash, hasHeaders } = outlineOf(item);
    const headers = hasHeaders ? new SealedHeaders(item, vault) : null;
    this.#put(keyHash, new ConversationIdentity(item.id, item.userId, tags, headers), item.link ?? '');
  }

  #forget(keyHash: string, sandboxId: string): void {
    this.#callers.remove(keyHash);
    const keys = this.#keysOf.get(sandboxId);
    keys?.delete(keyHash);
    if (keys?.size === 0) this.#keysOf.delete(sandboxId);
  }

  #put(keyHash: string, identity: ConversationIdentity, sandboxId: string): void {
    this.#callers.put(keyHash, identity);
    if (sandboxId === '') return;
    const keys = this.#keysOf.get(sandboxId) ?? new Set();
    this.#keysOf.set(sandboxId, keys.add(keyHash));
  }
}

/** What calls of one conversation carry. */
class ConversationIdentity implements CallerIdentity {
  readonly sessionId: string;
  readonly endUser: string | null;
  readonly tags: readonly string[];
  readonly #headers: { open(): CallerIdentity['headers'] } | null;

  constructor(id: string, userId: string, tags: Tags, headers: { open(): CallerIdentity['headers'] } | null) {
    this.sessionId = dashed(id);
    this.endUser = userId === '' ? null : userId;
    this.tags = Object.entries(tags).map(([name, value]) => `${name}:${value}`);
    this.#headers = headers;
  }

  get headers(): CallerIdentity['headers'] {
    return this.#headers?.open() ?? [];
  }
}

/** Opened by the first call and kept from then on: most conversations of a store are over. */
class SealedHeaders {
  readonly #id: string;
  /** Base64: a third of the memory of an array of bytes of its own. */
  readonly #sealed: string;
  readonly #vault: Vault;
  #opened: CallerIdentity['headers'] | null = null;

  constructor({ id, sealed }: Item, vault: Vault) {
    this.#id = id;
    this.#sealed = Buffer.from(sealed ?? []).toString('base64');
    this.#vault = vault;
  }

  open(): CallerIdentity['headers'] {
    const sealed = Buffer.from(this.#sealed, 'base64');
    return (this.#opened ??= headersOf({ kind: 'conversation', id: this.#id, sealed }, this.#vault));
  }
}
