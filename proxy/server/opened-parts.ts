// What a proxy has opened, and how it is closed: at the end, and when a start fails on its way. A part that cannot be closed, or
// takes long, hinders no other one: the spend records come last and must still reach the disk and the store, before whoever
// stops the proxy kills it.
import { atMost } from '../base/within.ts';
import type { Log } from '../observability/logger.ts';
import { PARTS_MS } from './stop-times.ts';

type Close = () => Promise<void> | undefined | void;

/** How long the steps may take. */
interface CloseTimes {
  /** All parts that use what is written last. */
  readonly partsMs: number;
  /** To ship the last records. */
  readonly recordsMs: number;
  /** To export the last spans. */
  readonly spansMs: number;
}

const AT_ONCE: CloseTimes = { partsMs: PARTS_MS, recordsMs: 0, spansMs: 0 };

export class OpenedParts {
  readonly #log: Log;
  readonly #parts: { readonly part: string; readonly close: Close }[] = [];
  readonly #written: { readonly part: string; readonly close: (times: CloseTimes) => Promise<void> }[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  /** It may use what was added before it, and is closed before that. */
  add(part: string, close: Close): void {
    this.#parts.push({ part, close });
  }

  /** Is written when all others are closed. */
  addWritten(part: string, close: (times: CloseTimes) => Promise<void>): void {
    this.#written.push({ part, close });
  }

  /**
   * Closes them one after the other, the last one first, then what is written; what is late goes on beside that. Never rejects.
   * @param times default: of a start that has failed
   * @returns names of the parts that could not be closed; the log says why
   */
  async close(times: CloseTimes = AT_ONCE): Promise<readonly string[]> {
    const endsAt = performance.now() + times.partsMs;
    const users: Closing[] = [];
    for (const { part, close } of this.#parts.toReversed()) {
      const closing = new Closing(part, close, this.#log);
      users.push(closing);
      await atMost(endsAt - performance.now(), closing.ended);
    }
    const written = this.#written.map(({ part, close }) => new Closing(part, () => close(times), this.#log));
    await Promise.all([
      ...written.map(({ ended }) => ended),
      ...users.map(({ ended }) => atMost(times.recordsMs, ended)),
    ]);
    for (const closing of users) closing.giveUp();
    return [...users, ...written].filter(({ isClosed }) => !isClosed).map(({ part }) => part);
  }
}

/**
 * Closes parts that have limits of their own, by their names, one after the other. Never rejects.
 * @returns names of those that could not be closed
 */
export async function closeEach(
  log: Log,
  parts: Readonly<Record<string, Close>>,
): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const [part, close] of Object.entries(parts)) {
    const closing = new Closing(part, close, log);
    await closing.ended;
    if (!closing.isClosed) failed.push(part);
  }
  return failed;
}

/** The end of one part, under way or over. */
class Closing {
  readonly part: string;
  /** Never rejects. */
  readonly ended: Promise<void>;
  readonly #log: Log;
  #state: 'under way' | 'closed' | 'failed' = 'under way';

  constructor(part: string, close: Close, log: Log) {
    this.part = part;
    this.#log = log;
    this.ended = this.#close(close);
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** No time is left for it. */
  giveUp(): void {
    if (this.#state === 'under way')
      this.#log.error({ part: this.part }, 'a part of the proxy was not closed in time');
  }

  async #close(close: Close): Promise<void> {
    try {
      await close();
      this.#state = 'closed';
    } catch (err) {
      this.#log.error({ err, part: this.part }, 'a part of the proxy could not be closed');
      this.#state = 'failed';
    }
  }
}
