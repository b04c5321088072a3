// Who counts budgets and limits: Valkey or Redis where it is configured, else the supervisor of several workers, else this
// process.
import { randomUUID } from 'node:crypto';
import type { Snapshot } from '../../config/snapshot.ts';
import type { Counters } from '../access/counters.ts';
import { LocalCounters } from '../access/local-counters.ts';
import type { SharedKeys } from '../access/shared-keys.ts';
import type { ValkeyCounters } from '../access/valkey/valkey-counters.ts';
import type { ValkeyHealth } from '../access/valkey/valkey-health.ts';
import type { ValkeyKeys } from '../access/valkey/valkey-keys.ts';
import type { WorkerRole } from '../active-config/cluster-peers.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../observability/logger.ts';
import type { Ledger } from '../spend/ledger.ts';
import { recordsOf } from './recorded-calls.ts';

/** What processes share. */
export interface OpenedCounters {
  readonly counters: Counters;
  /** Idempotency keys; null: this process serves alone. */
  readonly keys: SharedKeys | null;
  /** What several servers share; null = only processes of this host do. */
  readonly valkey: OpenedValkey | null;
}

interface OpenedValkey {
  readonly counters: ValkeyCounters;
  readonly keys: ValkeyKeys;
  /** Which deployments cool down. */
  readonly health: ValkeyHealth;
  close(): Promise<void>;
}

interface CounterParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly worker: WorkerRole | undefined;
  /** Refuse calls with an idempotency key while Valkey is away. */
  readonly keysFailClosed: () => boolean;
  /** Another server has found that this deployment fails. */
  readonly cooldownLearned: (id: string) => void;
}

export async function openCounters(
  { valkey: settings }: Pick<Snapshot, 'valkey'>,
  { ledger, clock, log, worker, keysFailClosed, cooldownLearned: learned }: CounterParts,
): Promise<OpenedCounters> {
  const local = (): Counters => new LocalCounters(clock.mono);
  if (settings === null)
    return { counters: worker?.counters ?? local(), keys: worker?.keys ?? null, valkey: null };
  // The client library is loaded only here.
  const { ValkeyCounters } = await import('../access/valkey/valkey-counters.ts');
  const { ValkeyKeys } = await import('../access/valkey/valkey-keys.ts');
  const { ValkeyHealth } = await import('../access/valkey/valkey-health.ts');
  const { tlsFiles } = await import('../access/valkey/connection.ts');
  try {
    if (settings.tls !== null) tlsFiles(settings.tls);
  } catch (error) {
    throw new CannotStart(
      `a file of the TLS settings of ${settings.shown} cannot be read: ${(error as Error).message}`,
    );
  }
  const counters = await ValkeyCounters.start({
    settings,
    log,
    randomId: randomUUID,
    mono: clock.mono,
    local,
    servers: () => worker?.welcome.count ?? 1,
    recordsOf: (requestIds) => recordsOf(ledger, requestIds),
    stored: () => ledger.flush(),
  });
  const { link, server, times } = counters;
  const keys = new ValkeyKeys({ link, server, mono: clock.mono, ...times, failClosed: keysFailClosed });
  const health = new ValkeyHealth({ link, server, mono: clock.mono, stuckMs: times.stuckMs, learned });
  const close = async (): Promise<void> => {
    await Promise.all([keys.close(), health.close()]);
    await counters.close();
  };
  return { counters, keys, valkey: { counters, keys, health, close } };
}
