// RPC between two processes over Node's IPC. A call that arrives before handlers are set waits for them. Knows no method
// by name, and leaves it to the caller what to do about a peer that is slow or gone.
import { asError } from '../base/as-error.ts';
import { DenseMap } from '../base/dense-map.ts';
import type { Calls } from './protocol.ts';

/** One end of an IPC connection: a `cluster.Worker`, on either side. */
export interface Port {
  send(message: object, done: (error: Error | null) => void): unknown;
  on(event: 'message', act: (message: unknown) => void): unknown;
  on(event: 'disconnect', act: () => void): unknown;
}

/** The peer is gone, or did not answer in time. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly gone: boolean;

  constructor(gone: boolean) {
    super(gone ? 'the other process is gone' : 'the other process does not answer in time');
    this.gone = gone;
  }
}

type Message =
  | { readonly question: string; readonly id: number; readonly args: unknown }
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly problem: string };

/** Handlers for the other side's calls; what they throw is rejected there as a plain Error. */
export type Answers<Of extends Calls> = {
  readonly [K in keyof Of]: (args: Of[K]['args']) => Of[K]['value'] | Promise<Of[K]['value']>;
};

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Calls `Theirs`, serves `Ours`. */
export class Channel<Theirs extends Calls, Ours extends Calls> {
  readonly #port: Port;
  readonly #waiting = new DenseMap<number, Waiting>();
  readonly #answers = Promise.withResolvers<Answers<Ours>>();
  #lastId = 0;
  #closed = false;

  constructor(port: Port) {
    this.#port = port;
    port.on('message', (message) => this.#receive(message as Message));
    port.on('disconnect', () => {
      this.#closed = true;
      const ids = Array.from(this.#waiting, ([id]) => id);
      for (const id of ids) this.#settle(id)?.reject(new NoAnswer(true));
    });
  }

  /** Sets the handlers; calls that came before are served now, in order. */
  answer(answers: Answers<Ours>): void {
    this.#answers.resolve(answers);
  }

  /** @throws NoAnswer, or an Error with the message of the one that was thrown at the other side */
  ask<K extends string & keyof Theirs>(
    question: K,
    args: Theirs[K]['args'],
    withinMs = Infinity,
  ): Promise<Theirs[K]['value']> {
    if (this.#closed) return Promise.reject(new NoAnswer(true));
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    const late = (): void => this.#settle(id)?.reject(new NoAnswer(false));
    const timer = withinMs === Infinity ? undefined : setTimeout(late, withinMs);
    this.#post({ question, id, args });
    return promise.finally(() => clearTimeout(timer));
  }

  #receive(message: Message): void {
    if ('question' in message) void this.#respond(message);
    else if ('problem' in message) this.#settle(message.answer)?.reject(new Error(message.problem));
    else this.#settle(message.answer)?.resolve(message.value);
  }

  async #respond({ question, id, args }: Extract<Message, { question: string }>): Promise<void> {
    const answers = await this.#answers.promise;
    try {
      this.#post({ answer: id, value: await answers[question as keyof Ours](args) });
    } catch (error) {
      this.#post({ answer: id, problem: asError(error).message });
    }
  }

  #post(message: Message): void {
    // `disconnect` reports a peer that is gone; the error of the write adds nothing.
    if (!this.#closed) this.#port.send(message, () => undefined);
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}
