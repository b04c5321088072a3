// Which servers share something with this one (a database, Valkey), for people: one line a server, however many processes it has and
// wherever they were heard of.
import type { KnownProcess } from '../items/replicas.ts';

type SharedBy = 'postgresql' | 'valkey';

interface KnownServer extends Omit<KnownProcess, 'server'> {
  readonly isThis: boolean;
  readonly sharedBy: readonly SharedBy[];
}

/** Where processes of other servers are heard of. */
interface ServerSource {
  readonly by: SharedBy;
  readonly others: () => readonly KnownProcess[];
}

/** Asks its sources each time: what they say changes by the second. */
export class KnownServers {
  readonly #own: KnownProcess;
  readonly #sources: readonly ServerSource[];

  /** @param own its `seenMs` does not matter */
  constructor(own: KnownProcess, sources: readonly ServerSource[]) {
    this.#own = own;
    this.#sources = sources;
  }

  /** This one first, then by name. */
  all(nowMs: number): readonly KnownServer[] {
    const sharedBy = this.#sources.map(({ by }) => by);
    const others = new Map<string, KnownServer>();
    for (const { by, others: heard } of this.#sources)
      for (const { server, ...process } of heard()) {
        if (server === this.#own.server) continue;
        const known = others.get(server);
        const all = [...(known?.sharedBy ?? []).filter((one) => one !== by), by];
        const isNewer = known === undefined || process.seenMs >= known.seenMs;
        others.set(server, { ...(isNewer ? process : known), isThis: false, sharedBy: all });
      }
    const { server: _, ...own } = this.#own;
    return [
      { ...own, seenMs: nowMs, isThis: true, sharedBy },
      ...[...others.values()].toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))),
    ];
  }
}
