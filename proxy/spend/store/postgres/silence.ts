// Whether a database answers at all. One that hangs, or is behind a network that swallows packets, costs whoever asks it a timeout,
// and calls on one connection wait for each other. So while it is silent nobody asks: calls fail at once with what the first one
// found, and one connection after another is tried until the database answers. Shared by the connections of a process.
import { endClient, openClient } from './client.ts';
import type { DatabaseData } from './settings.ts';

/** A statement that takes longer is a reason to ask whether a new connection would be answered: most likely it is. */
const SLOW_MS = 2_000;

export class DatabaseSilence {
  readonly #connect: () => Promise<void>;
  /** What was found last; null = it answers, as far as is known. */
  #error: Error | null = null;
  #isTrying = false;
  readonly #giveUp = new Set<(error: Error) => void>();
  #closed = false;

  /** @param connect opens a connection and ends it; rejects when it was not answered in time */
  constructor(connect: () => Promise<void>) {
    this.#connect = connect;
  }

  static of(database: DatabaseData): DatabaseSilence {
    return new DatabaseSilence(async () => {
      const client = await openClient(database, database.connectTimeoutMs);
      void endClient(client);
    });
  }

  get error(): Error | null {
    return this.#error;
  }

  /** Waits for what the database is to answer. @throws also when the database is found to be silent meanwhile */
  async until<R>(work: Promise<R>): Promise<R> {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#giveUp.add(reject);
    const slow = setTimeout(() => void this.#tryUntilAnswered(), SLOW_MS);
    try {
      return await Promise.race([work, promise]);
    } finally {
      clearTimeout(slow);
      this.#giveUp.delete(reject);
    }
  }

  /** A connection could not be made. */
  connectionFailed(error: unknown): void {
    if (this.#closed || !isSilence(error)) return;
    this.#begin(error);
    void this.#tryUntilAnswered();
  }

  /** Nothing is tried any more. */
  close(): void {
    this.#closed = true;
  }

  #begin(error: Error): void {
    this.#error = error;
    for (const giveUp of this.#giveUp.values()) giveUp(error);
  }

  /** An attempt ends with the timeout of a connection, so they need no pauses. An error is an answer: whoever asks gets it as fast. */
  async #tryUntilAnswered(): Promise<void> {
    if (this.#isTrying) return;
    this.#isTrying = true;
    while (!this.#closed) {
      const error = await this.#connect().catch((failure: unknown) => failure);
      if (!isSilence(error)) break;
      this.#begin(error);
    }
    this.#isTrying = false;
    this.#error = null;
  }
}

/** The driver's own timeout has no code. */
function isSilence(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return error.message === 'timeout expired' || Reflect.get(error, 'code') === 'ETIMEDOUT';
}
