// The idempotency keys of a worker: the supervisor knows those of all of them.
import { CountersUnavailable } from '../access/counters.ts';
import type { KeyClaim, KeyedCall, KeyedEnding, KeyWait, SharedKeys } from '../access/shared-keys.ts';
import type { Channel } from './channel.ts';
import type { OfSupervisor, OfWorker } from './protocol.ts';

/** A supervisor that lives answers within a millisecond; nobody waits for one that is stuck. */
const ANSWER_MS = 5_000;

export class SupervisedKeys implements SharedKeys {
  readonly #channel: Channel<OfSupervisor, OfWorker>;

  constructor(channel: Channel<OfSupervisor, OfWorker>) {
    this.#channel = channel;
  }

  async claim(key: string, call: KeyedCall): Promise<KeyClaim> {
    const claim = await this.#channel.ask('keyClaim', { key, call }, ANSWER_MS).catch((cause: unknown) => {
      this.end(key, null, 0);
      throw new CountersUnavailable('the supervisor does not answer', { cause });
    });
    if (claim.kind !== 'ended' || claim.ending.body === null) return claim;
    // What came over the channel may be a plain Uint8Array.
    const { buffer, byteOffset, length } = claim.ending.body;
    return { ...claim, ending: { ...claim.ending, body: Buffer.from(buffer, byteOffset, length) } };
  }

  wait(key: string): KeyWait {
    const done = this.#channel.ask('keyOver', key).then(
      () => undefined,
      () => undefined, // without a supervisor this worker is ending
    );
    return { done, abandon: () => undefined };
  }

  end(key: string, ending: KeyedEnding | null, windowMs: number): void {
    this.#channel.ask('keyEnd', { key, ending, windowMs }).catch(() => null);
  }

  forget(key: string): void {
    this.end(key, null, 0);
  }
}
