// Closes what a proxy had opened. A part that cannot be closed hinders no other one: the spend records come last and must still
// reach the disk and the store.
import type { Log } from '../observability/logger.ts';

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

/** For what is written to others at the end. */
interface Deadlines {
  /** To ship the last records. */
  readonly recordsMs: number;
  /** To export the last spans. */
  readonly spansMs: number;
}

const AT_ONCE: Deadlines = { recordsMs: 0, spansMs: 0 };

/**
 * Closes what was opened, in the order in which one part may still use another. Never rejects.
 * @returns names of the parts that could not be closed; the log says why
 */
export async function closeAll(
  opened: Closable,
  log: Log,
  { recordsMs, spansMs }: Deadlines = AT_ONCE,
): Promise<readonly string[]> {
  const { platform, alerts, history, access, stops, capsules, valkey, ledger, spans, pools } = opened;
  const users = await closeEach(log, {
    platform: () => platform?.close(),
    alerts: () => alerts.close(),
    history: () => history.close(),
    access: () => access.close(),
    stops: () => stops.close(),
    capsules: () => capsules?.close(),
    valkey: () => valkey?.close(),
  });
  const written = await Promise.all([
    closeEach(log, { 'spend records': () => ledger.close(recordsMs) }),
    closeEach(log, { spans: () => spans?.close(spansMs) }),
  ]);
  return [...users, ...written.flat(), ...(await closeEach(log, { pools: () => pools.destroy() }))];
}

/** The same for parts by their names, one after the other. */
export async function closeEach(
  log: Log,
  parts: Readonly<Record<string, () => Promise<void> | undefined | void>>,
): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const [part, close] of Object.entries(parts)) {
    try {
      await close();
    } catch (err) {
      log.error({ err, part }, 'a part of the proxy could not be closed');
      failed.push(part);
    }
  }
  return failed;
}
