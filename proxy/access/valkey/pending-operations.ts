// What the shared counters have to be told: kept in order, sent in batches, and sent again until a batch is acknowledged.
// Each operation may come twice without harm.
import type { SettledCall } from '../counters.ts';
import { nameOf } from './json-texts.ts';
import { APPLY } from './scripts.ts';
import type { Generation, ValkeyLink } from './valkey-link.ts';

/** One of them, as JSON; '' once another one that waits says more. */
export interface Operation {
  text: string;
  /** What it says of a call that has ended; absent once that is in all sums that are read from now on. */
  settled?: SettledCall | undefined;
}

/** A batch of this many takes the server about 3 ms, in which it answers nobody else. */
const BATCH = 200;
/** So many go with a command that reserves: its calls wait for them, about half a millisecond. */
const CARRIED = 32;
/** Others may see a place or money that long after it is free. */
const GATHER_MS = 2;
/** About 100 MB. Beyond it all is counted anew from the spend store. */
const MOST = 200_000;

export class PendingOperations {
  readonly #link: ValkeyLink;
  readonly #server: string;
  readonly #withinMs: number;
  #waiting: Operation[] = [];
  /**
   * What `costsIn` says, by counter and call; null until it is asked for, and after what waits became less. A server on its own asks
   * for one counter after the other while only more comes.
   */
  #costsIn: Map<string, Map<string, bigint>> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;

  constructor(link: ValkeyLink, server: string, withinMs: number) {
    this.#link = link;
    this.#server = server;
    this.#withinMs = withinMs;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Those that wait and say what a call did cost. */
  get costs(): readonly Operation[] {
    return this.#waiting.filter(({ settled }) => settled !== undefined);
  }

  /** By call: what a counter is not told of yet. */
  costsIn(counter: string): Map<string, bigint> {
    if (this.#costsIn === null) {
      this.#costsIn = new Map();
      for (const { settled } of this.#waiting) if (settled !== undefined) addTo(this.#costsIn, settled);
    }
    return new Map(this.#costsIn.get(counter));
  }

  /**
   * What a call did cost when its row is in the journal.
   * @param amounts JSON of [counter, hi, lo]...
   */
  addCost(settled: SettledCall, amounts: string): void {
    if (this.#costsIn !== null) addTo(this.#costsIn, settled);
    this.add({ text: costText(settled, amounts), settled });
  }

  /** A generation begins with sums that hold the costs of these: it is told that the calls have ended. */
  inSums(costs: readonly Operation[]): void {
    for (const one of costs) {
      if (one.settled !== undefined) one.text = costText(one.settled, '');
      one.settled = undefined;
    }
    this.#costsIn = null;
  }

  /**
   * What waits, for a command that goes now anyway; null = nothing, or it is being told already.
   * `done` must be called once, with whether it was taken.
   */
  carried(): { readonly operations: string; done(isTaken: boolean): void } | null {
    if (this.#sending !== null || this.#waiting.length === 0) return null;
    const batch = this.#waiting.slice(0, CARRIED);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sending = promise;
    this.#stopTimer();
    const done = (isTaken: boolean): void => {
      this.#sending = null;
      if (isTaken) this.#drop(batch);
      if (this.#waiting.length > 0) this.#sendSoon();
      resolve();
    };
    return { operations: listOf(batch), done };
  }

  add(operation: Operation): Operation {
    this.#waiting.push(operation);
    if (this.#waiting.length > MOST) {
      this.#waiting = [];
      this.#costsIn = null;
      this.#link.renew();
    }
    this.#sendSoon();
    return operation;
  }

  /** Sends what waits, unless that is under way or the counters are away. */
  send(): void {
    this.#stopTimer();
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = null));
  }

  async flush(): Promise<void> {
    await this.#sending; // what is told with the reservation of calls is not all
    this.send();
    await this.#sending;
  }

  #sendSoon(): void {
    if (this.#waiting.length >= BATCH) this.send();
    else this.#timer ??= setTimeout(() => this.send(), GATHER_MS);
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** What was dropped meanwhile is not there any more. */
  #drop(batch: readonly Operation[]): void {
    if (this.#waiting[0] !== batch[0]) return;
    this.#waiting.splice(0, batch.length);
    this.#costsIn = null;
  }

  /** Before calls are counted there again. @throws Error when not all could be told */
  async catchUp(generation: Generation): Promise<void> {
    while (this.#waiting.length > 0) await this.#sendBatch(generation);
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const { state } = this.#link;
      if (state.is !== 'shared') return; // told when they are back
      try {
        await this.#sendBatch(state);
      } catch (error) {
        if (error instanceof GenerationOver) await this.#link.rejoin();
        else this.#link.suspect(error);
      }
    }
  }

  /** Tells a generation what nobody counts in it yet. @throws Error when not all could be told */
  async tell(generation: Generation, operations: readonly Operation[]): Promise<void> {
    for (let from = 0; from < operations.length; from += BATCH)
      await this.#apply(generation, operations.slice(from, from + BATCH));
  }

  async #apply(at: Generation, batch: readonly Operation[]): Promise<void> {
    const args = [at.generation, at.prefix, this.#server, listOf(batch)];
    const reply = await at.connection.run(APPLY, [at.key], args, this.#withinMs);
    if (reply !== 'ok') throw new GenerationOver('another generation is in force');
  }

  async #sendBatch(generation: Generation): Promise<void> {
    const batch = this.#waiting.slice(0, BATCH);
    await this.#apply(generation, batch);
    this.#drop(batch);
  }
}

export const operation = (...parts: readonly unknown[]): Operation => ({ text: JSON.stringify(parts) });

const costText = ({ requestId, tokens }: SettledCall, amounts: string): string =>
  `["s",${JSON.stringify(requestId)},${tokens ?? -1},[${amounts}]]`;

function addTo(costs: Map<string, Map<string, bigint>>, { requestId, spent }: SettledCall): void {
  for (const one of spent) {
    const name = nameOf(one);
    const known = costs.get(name);
    if (known === undefined) costs.set(name, new Map([[requestId, one.pico]]));
    else known.set(requestId, one.pico);
  }
}

function listOf(batch: readonly Operation[]): string {
  let list = '';
  for (const { text } of batch) if (text !== '') list += list === '' ? text : `,${text}`;
  return `[${list}]`;
}

class GenerationOver extends Error {}
