// What calls reserve that come while a command is under way goes to Valkey in the next one, with what has to be told anyway: a
// command costs this process 30 us and more, however much it holds. A call that finds no other one under way goes at once.
import type { PendingOperations } from './pending-operations.ts';
import { RESERVE_CALLS } from './scripts.ts';
import type { Generation } from './valkey-link.ts';

/** So many calls take the server about a millisecond, in which it answers nobody else; more do not wait. */
const MOST = 16;

interface Waiting {
  readonly at: Generation;
  readonly call: string;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface BatchesOptions {
  readonly server: string;
  readonly withinMs: number;
  readonly pending: Pick<PendingOperations, 'carried'>;
  /** Gets the number of the last news with each answer. */
  readonly told: (news: number) => void;
}

export class ReserveBatches {
  readonly #options: BatchesOptions;
  #waiting: Waiting[] = [];
  /** Commands without an answer. */
  #underWay = 0;

  constructor(options: BatchesOptions) {
    this.#options = options;
  }

  /** @returns what the script says of this call, or of all of them. @throws TooLate, or what the connection says */
  send(at: Generation, call: string): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ at, call, resolve, reject });
    if (this.#underWay === 0 || this.#waiting.length >= MOST) this.#sendAll();
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
    const { server, withinMs, pending, told } = this.#options;
    this.#underWay += 1;
    const carried = pending.carried();
    const args = [generation, prefix, server, carried?.operations ?? ''];
    for (const { call } of batch) args.push(call);
    const answered = (reply: unknown): void => {
      this.#underWay -= 1;
      const replies: readonly unknown[] = Array.isArray(reply) ? reply : [];
      const [kind, news] = replies;
      carried?.done(kind !== 'generation');
      for (const [i, { resolve }] of batch.entries()) resolve(kind === 'ok' ? replies[i + 2] : kind);
      this.#sendAll();
      if (kind === 'ok') told(Number(news));
    };
    const failed = (error: Error): void => {
      this.#underWay -= 1;
      carried?.done(false);
      // Nobody waits twice as long as it may.
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const { reject } of [...batch, ...waiting]) reject(error);
    };
    connection.run(RESERVE_CALLS, [key], args, withinMs).then(answered, failed);
  }
}
