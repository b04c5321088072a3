// Keeps the orders to record in the items that processes share, in `capsules.db` of the data directory or in the tables
// `capsules_*`: one that was given to a worker holds in all of them, and outlives a restart.
import { SharedItems, type SharedItem } from '../items/shared-items.ts';
import type { CapsuleRule, RuleKeeper } from './rules.ts';

const KIND = 'rule';
const RETRY_MS = 5_000;

type Shared = Omit<ConstructorParameters<typeof SharedItems<typeof KIND>>[0], 'name' | 'kinds'>;

interface RulesOptions extends Shared {
  readonly told: (rule: CapsuleRule) => void;
  readonly removed: (id: string) => void;
}

export class DurableRules implements RuleKeeper {
  readonly #items: SharedItems<typeof KIND>;
  readonly #options: RulesOptions;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: RulesOptions) {
    this.#options = options;
    this.#items = new SharedItems({ ...options, name: 'capsules', kinds: [KIND] });
  }

  /** Resolves when what was kept is told, or cannot be read now: it is tried again then. */
  async open(): Promise<void> {
    const { told, removed, clock, log } = this.#options;
    try {
      const over: string[] = [];
      const take = (item: SharedItem<typeof KIND>): void => {
        const rule = ruleOf(item);
        if (rule === null || rule.untilMs <= clock.now()) over.push(item.id);
        else told(rule);
      };
      const listener = { stored: take, removed: ({ id }: { readonly id: string }) => removed(id) };
      for await (const page of this.#items.load(listener)) page.forEach(take);
      if (over.length > 0)
        await this.#items.apply(over.splice(0).map((id) => ({ remove: { kind: KIND, id } })));
    } catch (err) {
      if (this.#isClosed) return;
      log.warn({ err }, 'what is to be recorded in capsules cannot be read yet');
      this.#retry = setTimeout(() => void this.open(), RETRY_MS).unref();
    }
  }

  async put({ id, createdMs, ...value }: CapsuleRule): Promise<void> {
    const put = { kind: KIND, id, createdMs, updatedMs: createdMs, revision: 0, value } as const;
    await this.#items.apply([{ put }]);
  }

  async remove(id: string): Promise<void> {
    await this.#items.apply([{ remove: { kind: KIND, id } }]);
  }

  sync(): Promise<void> {
    return this.#items.sync();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    await this.#items.close();
  }
}

/** null: of another version. */
function ruleOf({ id, createdMs, value }: SharedItem<typeof KIND>): CapsuleRule | null {
  const { keyHash = null, sessionId = null, bodies, untilMs, createdBy } = value as Partial<CapsuleRule>;
  if (typeof untilMs !== 'number' || typeof bodies !== 'boolean' || typeof createdBy !== 'string')
    return null;
  return { id, keyHash, sessionId, bodies, createdMs, untilMs, createdBy };
}
