// What calls reserve in one turn of the event loop goes to Valkey in one command at its end, with what has to be told anyway; what
// comes while a command is under way goes with the next one. A command costs this process 30 us and more, however much it holds,
// and each answer that it waits for alone costs it the caches of its processor.
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
  /** The end of this turn sends what waits. */
  #isDue = false;

  constructor(options: BatchesOptions) {
    this.#options = options;
  }

  /** @returns what the script says of this call, or of all of them. @throws TooLate, or what the connection says */
  send(at: Generation, call: string): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ at, call, resolve, reject });
    this.#sendSoon();
    return promise;
  }

  #sendSoon(): void {
    const calls = this.#waiting.length;
    if (this.#isDue || calls === 0 || (this.#underWay > 0 && calls < MOST)) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#sendAll();
    });
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
    let calls = '';
    for (const { call } of batch) calls += calls === '' ? call : `,${call}`;
    const args = [generation, prefix, server, carried?.operations ?? '', `[${calls}]`];
    const answered = (replies: readonly unknown[]): void => {
      this.#underWay -= 1;
      const [kind, news] = replies;
      carried?.done(kind !== 'generation');
      for (const [i, { resolve }] of batch.entries()) resolve(kind === 'ok' ? replies[i + 2] : kind);
      this.#sendSoon();
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
    connection.run(RESERVE_CALLS, [key], args, withinMs).then(repliesOf).then(answered, failed);
  }
}

/** @throws SyntaxError when it is no JSON */
function repliesOf(reply: unknown): readonly unknown[] {
  const replies: unknown = JSON.parse(String(reply));
  return Array.isArray(replies) ? replies : [];
}
