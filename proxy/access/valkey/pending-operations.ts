// What the shared counters have to be told: kept in order, sent in batches, and sent again until a batch is acknowledged.
// Each operation may come twice without harm.
import { APPLY } from './scripts.ts';
import type { Generation, ValkeyLink } from './valkey-link.ts';

/** As the script takes it. */
export type Operation = readonly [
  kind: 'f' | 'k' | 'x' | 's' | 'S' | 'g' | 'd',
  requestId: string,
  ...rest: unknown[],
];

/** A batch of this many takes the server about 3 ms, in which it answers nobody else. */
const BATCH = 200;
/** Others may see a place or money that long after it is free. */
const GATHER_MS = 2;
/** About 100 MB. Beyond it all is counted anew from the spend store. */
const MOST = 200_000;

export class PendingOperations {
  readonly #link: ValkeyLink;
  readonly #server: string;
  readonly #withinMs: number;
  #waiting: Operation[] = [];
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

  add(operation: Operation): void {
    this.#waiting.push(operation);
    if (this.#waiting.length > MOST) {
      this.#waiting = [];
      this.#link.renew();
    }
    if (this.#waiting.length >= BATCH) this.send();
    else this.#timer ??= setTimeout(() => this.send(), GATHER_MS);
  }

  /** Sends what waits, unless that is under way or the counters are away. */
  send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = null));
  }

  async flush(): Promise<void> {
    this.send();
    await this.#sending;
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
        else this.#link.suspect((error as Error).message);
      }
    }
  }

  /** Tells a generation what nobody counts in it yet. @throws Error when not all could be told */
  async tell(generation: Generation, operations: readonly Operation[]): Promise<void> {
    for (let from = 0; from < operations.length; from += BATCH)
      await this.#apply(generation, operations.slice(from, from + BATCH));
  }

  async #apply(at: Generation, batch: readonly Operation[]): Promise<void> {
    const args = [at.generation, at.prefix, this.#server, JSON.stringify(batch)];
    const reply = await at.connection.run(APPLY, [at.key], args, this.#withinMs);
    if (reply !== 'ok') throw new GenerationOver('another generation is in force');
  }

  async #sendBatch(generation: Generation): Promise<void> {
    const batch = this.#waiting.slice(0, BATCH);
    await this.#apply(generation, batch);
    // What was dropped meanwhile is not there any more.
    if (this.#waiting[0] === batch[0]) this.#waiting.splice(0, batch.length);
  }
}

class GenerationOver extends Error {}
