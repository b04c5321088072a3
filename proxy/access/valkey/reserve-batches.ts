// What calls reserve that came in the same turn of the event loop go to Valkey in one command, because a command costs this
// process some microseconds, however much it holds. A call that finds no other one under way goes at once.
import { RESERVE_CALLS } from './scripts.ts';
import type { Generation } from './valkey-link.ts';

/** So many calls take the server about a millisecond, in which it answers nobody else. */
const MOST = 16;

interface Waiting {
  readonly at: Generation;
  readonly call: string;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class ReserveBatches {
  readonly #server: string;
  readonly #withinMs: number;
  readonly #told: (news: number) => void;
  #waiting: Waiting[] = [];
  /** Commands without an answer. */
  #underWay = 0;
  readonly #send = (): void => this.#sendAll();

  /** @param told gets the number of the last news with each answer */
  constructor(server: string, withinMs: number, told: (news: number) => void) {
    this.#server = server;
    this.#withinMs = withinMs;
    this.#told = told;
  }

  /** @returns what the script says of this call, or of all of them. @throws TooLate, or what the connection says */
  send(at: Generation, call: string): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const waiting = { at, call, resolve, reject };
    if (this.#underWay === 0) this.#sendBatch(at, [waiting]);
    else if (this.#waiting.push(waiting) === 1) setImmediate(this.#send);
    return promise;
  }

  #sendAll(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < all.length;) {
      const at = all[from]?.at;
      let to = from + 1;
      while (to < all.length && to - from < MOST && all[to]?.at === at) to += 1;
      if (at !== undefined) this.#sendBatch(at, all.slice(from, to));
      from = to;
    }
  }

  #sendBatch({ connection, generation, key, prefix }: Generation, batch: readonly Waiting[]): void {
    this.#underWay += 1;
    const args = [generation, prefix, this.#server];
    for (const { call } of batch) args.push(call);
    const answered = (reply: unknown): void => {
      this.#underWay -= 1;
      const replies: readonly unknown[] = Array.isArray(reply) ? reply : [];
      const [kind, news] = replies;
      for (const [i, { resolve }] of batch.entries()) resolve(kind === 'ok' ? replies[i + 2] : kind);
      if (kind === 'ok') this.#told(Number(news));
    };
    const failed = (error: Error): void => {
      this.#underWay -= 1;
      for (const { reject } of batch) reject(error);
    };
    connection.run(RESERVE_CALLS, [key], args, this.#withinMs).then(answered, failed);
  }
}
