// Idempotency keys of the processes of one host, in the process that outlives them. The keys of a process that has ended
// are free at once.
import type { KeyClaim, KeyedCall, KeyedEnding } from './shared-keys.ts';

interface Running {
  readonly by: number;
  readonly call: KeyedCall;
  /** Resolves when it runs no more. */
  readonly over: PromiseWithResolvers<void>;
}

interface Ended {
  readonly by: number;
  readonly call: KeyedCall;
  readonly ending: KeyedEnding;
  /** Monotonic ms. */
  readonly untilMs: number;
}

export class HostKeys {
  readonly #mono: () => number;
  readonly #running = new Map<string, Running>();
  readonly #gone = new Set<number>();
  /** In the order in which they ended, so the first expires first. */
  readonly #ended = new Map<string, Ended>();

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number) {
    this.#mono = mono;
  }

  /**
   * @param by the process: no other one ever has the same number
   * @throws Error when it has ended: its last questions may come after its end, and nobody would free their keys
   */
  claim(by: number, key: string, call: KeyedCall): KeyClaim {
    if (this.#gone.has(by)) throw new Error('this process has ended');
    this.#forgetOld();
    const ended = this.#ended.get(key);
    if (ended !== undefined) return { kind: 'ended', call: ended.call, ending: ended.ending };
    const running = this.#running.get(key);
    if (running !== undefined) return { kind: 'running', call: running.call };
    this.#running.set(key, { by, call, over: Promise.withResolvers<void>() });
    return { kind: 'first' };
  }

  /** Resolves when no process runs a call under this key. */
  async over(key: string): Promise<void> {
    await this.#running.get(key)?.over.promise;
  }

  /** @param ending null: the key is free */
  end(by: number, key: string, ending: KeyedEnding | null, windowMs: number): void {
    const running = this.#running.get(key);
    if (running?.by === by) {
      this.#running.delete(key);
      if (ending !== null) {
        const untilMs = this.#mono() + windowMs;
        this.#ended.set(key, { by, call: running.call, ending, untilMs });
      }
      running.over.resolve();
    } else if (this.#ended.get(key)?.by === by && ending === null) this.#ended.delete(key);
  }

  /** A process has ended: its calls run no more. */
  ended(by: number): void {
    this.#gone.add(by);
    for (const [key, running] of this.#running) {
      if (running.by !== by) continue;
      this.#running.delete(key);
      running.over.resolve();
    }
  }

  #forgetOld(): void {
    const now = this.#mono();
    for (const [key, { untilMs }] of this.#ended) {
      if (untilMs > now) return;
      this.#ended.delete(key);
    }
  }
}
