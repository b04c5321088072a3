// Brings what the spend store says of counters into Valkey, and reads it there. A sum holds the rows that were in the store when it was
// read, so it must be known of each call that was settled in a counter before its sum came whether that sum holds it.
import type { CounterName, CounterState, RecordedCall, SumReading } from '../counters.ts';
import { partsOf, picoOf } from './amounts.ts';
import { nameOf } from './json-texts.ts';
import { BEGIN_SUMS, READ, SEED } from './sum-scripts.ts';
import type { ValkeyLink } from './valkey-link.ts';

/** The store is asked for them in one query, whole rows. Of more it is not known, so they may count twice. */
const MOST_ASKED = 200;

interface SharedSumsOptions {
  readonly link: ValkeyLink;
  readonly withinMs: number;
  readonly recordsOf: (requestIds: readonly string[]) => Promise<readonly RecordedCall[]>;
  /** Calls that this server has settled in a counter and not told yet. */
  readonly untold: (counter: string) => readonly string[];
}

export class SharedSums {
  readonly #options: SharedSumsOptions;

  constructor(options: SharedSumsOptions) {
    this.#options = options;
  }

  /** Before the store is read. */
  async begin(counters: readonly CounterName[]): Promise<SumReading> {
    const { link, withinMs, untold } = this.#options;
    const { state } = link;
    if (state.is !== 'shared') return { generation: null, counted: counters.map(() => []) };
    const { connection, generation, key, prefix } = state;
    const names = counters.map(nameOf);
    const own = names.map(untold);
    const keys = [key, ...names.map((name) => `${prefix}c:${name}`)];
    const reply = await connection
      .run(BEGIN_SUMS, keys, [generation], withinMs)
      .catch((error: unknown) => link.suspect(error));
    // Nobody knows which calls it would hold: a sum that is read now begins nothing, also where they answer again before it comes.
    if (!Array.isArray(reply)) return { generation: null, counted: own };
    const settled = reply.map((ids) => (Array.isArray(ids) ? ids.map(String) : []));
    const stored = await this.#stored(new Set(settled.flat()));
    const counted = own.map((ids, i) => [...ids, ...(settled[i] ?? []).filter((id) => stored.has(id))]);
    return { generation, counted };
  }

  /** @param reading absent: nothing was settled in it */
  async seed(
    counter: CounterName,
    pico: bigint,
    counted: readonly string[],
    reading: Pick<SumReading, 'generation'> | undefined,
  ): Promise<void> {
    const { link, withinMs } = this.#options;
    const { state } = link;
    if (state.is !== 'shared') return;
    const { connection, generation, key, prefix } = state;
    // Read before another generation began, it may lack rows that were told to the one before alone: whoever needs it asks again.
    if (reading !== undefined && reading.generation !== generation) return;
    const [hi, lo] = partsOf(pico);
    const args = [generation, String(hi), String(lo), JSON.stringify(counted)];
    const keys = [key, `${prefix}c:${nameOf(counter)}`];
    await connection.run(SEED, keys, args, withinMs).catch((error: unknown) => link.suspect(error));
  }

  /** null: nobody knows it, or they do not answer. */
  async read(counter: CounterName): Promise<CounterState | null> {
    const { link, withinMs } = this.#options;
    const { state } = link;
    if (state.is !== 'shared') return null;
    const { connection, generation, key, prefix } = state;
    const keys = [key, `${prefix}c:${nameOf(counter)}`];
    const reply = await connection
      .run(READ, keys, [generation], withinMs)
      .catch((error: unknown) => link.suspect(error));
    const [spentLo, spentHi, reservedLo, reservedHi] = Array.isArray(reply) ? reply.map(String) : [];
    if (spentLo === undefined || spentHi === undefined) return null;
    return {
      spentPico: picoOf(spentLo, spentHi),
      reservedPico: picoOf(reservedLo ?? '0', reservedHi ?? '0'),
    };
  }

  /** Those that are rows now are in each sum that is read from now on. */
  async #stored(requestIds: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const asked = [...requestIds].slice(0, MOST_ASKED);
    const records = asked.length === 0 ? [] : await this.#options.recordsOf(asked).catch(() => []);
    return new Set(records.map(({ requestId }) => requestId));
  }
}
