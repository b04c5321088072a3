// Closes what a proxy had opened. A part that cannot be closed, or takes long, hinders no other one: the spend records come last
// and must still reach the disk and the store, before whoever stops the proxy kills it.
import { atMost } from '../base/within.ts';
import type { Log } from '../observability/logger.ts';
import { PARTS_MS } from './stop-times.ts';

interface Part {
  close(): Promise<void>;
}

interface TimedPart {
  /** @param deadlineMs to write what is left */
  close(deadlineMs: number): Promise<void>;
}

/** What is closed at the end, also of a start that fails. null: it is not configured. */
export interface Closable {
  readonly platform: Part | null;
  readonly alerts: Part;
  readonly history: Part;
  readonly access: Part;
  readonly stops: Part;
  readonly capsules: Part | null;
  readonly valkey: Part | null;
  readonly ledger: TimedPart;
  readonly spans: TimedPart | null;
  readonly pools: { destroy(): void };
}

/** How long the steps may take. */
interface Deadlines {
  /** All parts that use the records. */
  readonly partsMs: number;
  /** To ship the last records. */
  readonly recordsMs: number;
  /** To export the last spans. */
  readonly spansMs: number;
}

const AT_ONCE: Deadlines = { partsMs: PARTS_MS, recordsMs: 0, spansMs: 0 };

/**
 * Closes what was opened, in the order in which one part may still use another; what is late goes on beside the records. Never
 * rejects.
 * @returns names of the parts that could not be closed; the log says why
 */
export async function closeAll(
  opened: Closable,
  log: Log,
  { partsMs, recordsMs, spansMs }: Deadlines = AT_ONCE,
): Promise<readonly string[]> {
  const { platform, alerts, history, access, stops, capsules, valkey, ledger, spans, pools } = opened;
  const users: Parts = {
    platform: () => platform?.close(),
    alerts: () => alerts.close(),
    history: () => history.close(),
    access: () => access.close(),
    stops: () => stops.close(),
    capsules: () => capsules?.close(),
    valkey: () => valkey?.close(),
  };
  const endsAt = performance.now() + partsMs;
  const closings: Closing[] = [];
  for (const [part, close] of Object.entries(users)) {
    const closing = new Closing(part, close, log);
    closings.push(closing);
    await atMost(endsAt - performance.now(), closing.ended);
  }
  const written = [
    new Closing('spend records', () => ledger.close(recordsMs), log),
    new Closing('spans', () => spans?.close(spansMs), log),
  ];
  await Promise.all([
    ...written.map(({ ended }) => ended),
    ...closings.map(({ ended }) => atMost(recordsMs, ended)),
  ]);
  for (const closing of closings) closing.giveUp();
  const unclosed = [...closings, ...written].filter(({ isClosed }) => !isClosed).map(({ part }) => part);
  return [...unclosed, ...(await closeEach(log, { pools: () => pools.destroy() }))];
}

/** Parts by their names. */
type Parts = Readonly<Record<string, () => Promise<void> | undefined | void>>;

/** The same for parts that have limits of their own, one after the other. */
export async function closeEach(log: Log, parts: Parts): Promise<readonly string[]> {
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

  constructor(part: string, close: Parts[string], log: Log) {
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

  async #close(close: Parts[string]): Promise<void> {
    try {
      await close();
      this.#state = 'closed';
    } catch (err) {
      this.#log.error({ err, part: this.part }, 'a part of the proxy could not be closed');
      this.#state = 'failed';
    }
  }
}
