// The conversations of the store. Each change also updates the proxy's registry of keys, so that stored conversations and
// the identity of calls never differ.
import { refuse } from '../api/refusal.ts';
import type { Part } from '../../proxy/server/mount.ts';
import type { Filter, Item, PlatformStore } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import { KeyedQueue } from '../../proxy/base/keyed-queue.ts';
import { conversationOf, itemOf, type Conversation } from './conversation.ts';
import type { Registry } from './registry.ts';

/** Another process may write to the same store; more turns than this lost in a row is no bad luck. */
const ATTEMPTS = 5;
/** Of all the parents on one page; what is beyond is not listed. */
const MAX_CHILDREN = 1_000;
/** A conversation has one; its id may be used again once it was deleted, as versions did that kept the tasks. */
const MAX_STARTS = 1_000;

export class Conversations {
  readonly #store: PlatformStore;
  readonly #vault: Vault;
  readonly #registry: Registry;
  readonly #queue = new KeyedQueue();

  constructor(store: PlatformStore, vault: Vault, registry: Registry) {
    this.#store = store;
    this.#vault = vault;
    this.#registry = registry;
  }

  /** In the order of the ids; null for those that are not there or belong to another user. */
  async get(userId: string, ids: readonly string[]): Promise<readonly (Conversation | null)[]> {
    const items = await this.#store.get('conversation', ids);
    return items.map((item) => (item?.userId === userId ? conversationOf(item, this.#vault) : null));
  }

  /** @throws Refusal 404 */
  async require(userId: string, id: string): Promise<Conversation> {
    const [conversation] = await this.get(userId, [id]);
    if (conversation === null || conversation === undefined) throw refuse(404, 'unknown_app_conversation');
    return conversation;
  }

  /** Of whichever user. */
  async find(id: string): Promise<Conversation | null> {
    const [item = null] = await this.#store.get('conversation', [id]);
    return item === null ? null : conversationOf(item, this.#vault);
  }

  async search(filter: Filter, part: Part): Promise<readonly Conversation[]> {
    return (await this.#store.search(filter, part)).map((item) => conversationOf(item, this.#vault));
  }

  count(filter: Filter): Promise<number> {
    return this.#store.count(filter);
  }

  /** Ids of the conversations below these, by parent. */
  async childrenOf(
    userId: string,
    parents: readonly string[],
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    if (parents.length === 0) return new Map();
    const filter = { kind: 'conversation', userId, parents } as const;
    const found = await this.#store.search(filter, { order: 'created', offset: 0, limit: MAX_CHILDREN });
    const byParent = Map.groupBy(found, ({ parent }) => parent ?? '');
    return new Map([...byParent].map(([parent, items]) => [parent, items.map(({ id }) => id)]));
  }

  /** Stores a new one together with `beside`; its key works when this resolves. @throws Refusal 409 */
  async add(conversation: Conversation, beside: Item): Promise<void> {
    const applied = await this.#store.apply([{ put: itemOf(conversation, this.#vault) }, { put: beside }]);
    if (applied === 'conflict') throw refuse(409, 'A conversation with this conversation_id exists already');
    this.#registry.put(conversation);
  }

  /** Reads, changes and writes as one step; the same conversation is not written again. @throws Refusal 404, 409 */
  change(
    userId: string,
    id: string,
    change: (old: Conversation) => Conversation | Promise<Conversation>,
  ): Promise<Conversation> {
    return this.#queue.run(id, async () => {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const old = await this.require(userId, id);
        const next = await change(old);
        if (next === old) return old;
        if ((await this.#store.apply([{ put: itemOf(next, this.#vault) }])) === 'conflict') continue;
        this.#registry.put(next);
        return { ...next, revision: next.revision + 1 };
      }
      throw refuse(409, 'The conversation is being changed by others at the same time; send it again');
    });
  }

  /**
   * Forgets it and what started it, which holds its first message; its key is refused when this resolves. @returns what it
   * was. @throws Refusal 404
   */
  remove(userId: string, id: string): Promise<Conversation> {
    return this.#queue.run(id, async () => {
      const conversation = await this.require(userId, id);
      const starts = await this.#store.search(
        { kind: 'start_task', userId, link: id },
        { order: 'created', offset: 0, limit: MAX_STARTS },
      );
      this.#registry.remove(conversation); // first: a store that fails leaves a key too few, never one too many
      try {
        await this.#store.apply(
          [{ kind: 'conversation', id } as const, ...starts].map((one) => ({
            remove: { kind: one.kind, id: one.id },
          })),
        );
      } catch (error) {
        this.#registry.put(conversation);
        throw error;
      }
      this.#registry.remove(conversation); // again: news of other servers may have brought it back meanwhile
      return conversation;
    });
  }
}
