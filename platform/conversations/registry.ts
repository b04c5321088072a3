// Makes the keys of conversations known to the proxy: each call with one is stamped with the conversation's session,
// tags and headers. Knows which keys belong to a sandbox, so that its last call can be told.
import type { CallerDirectory } from '../../proxy/callers.ts';
import { dashed } from '../ids.ts';
import type { PlatformStore } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import { conversationOf, type Conversation } from './conversation.ts';

const PAGE = 5_000;

export class Registry {
  readonly #callers: CallerDirectory;
  readonly #keysOf = new Map<string, Set<string>>();

  constructor(callers: CallerDirectory) {
    this.#callers = callers;
  }

  /** All conversations of the store; some 20 us each. */
  async load(store: PlatformStore, vault: Vault): Promise<void> {
    for (let after = ''; ;) {
      const page = await store.scan('conversation', after, PAGE);
      for (const item of page) this.put(conversationOf(item, vault));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.id;
    }
  }

  /** From now on calls with its key are its calls. */
  put(conversation: Conversation): void {
    const { id, userId, tags, key, headers, sandboxId } = conversation;
    const hash = key.sha256();
    this.#callers.put(hash, {
      sessionId: dashed(id),
      endUser: userId === '' ? null : userId,
      tags: Object.entries(tags).map(([name, value]) => `${name}:${value}`),
      headers,
    });
    if (sandboxId === '') return;
    const keys = this.#keysOf.get(sandboxId) ?? new Set();
    this.#keysOf.set(sandboxId, keys.add(hash));
  }

  /** Its key is no key any more. */
  remove({ key, sandboxId }: Conversation): void {
    const hash = key.sha256();
    this.#callers.remove(hash);
    const keys = this.#keysOf.get(sandboxId);
    keys?.delete(hash);
    if (keys?.size === 0) this.#keysOf.delete(sandboxId);
  }

  /** Epoch milliseconds of the last LLM call of a sandbox's conversations; 0 = none since the start. */
  lastCallMs(sandboxId: string): number {
    let last = 0;
    for (const hash of this.#keysOf.get(sandboxId) ?? [])
      last = Math.max(last, this.#callers.lastCallMs(hash));
    return last;
  }
}
