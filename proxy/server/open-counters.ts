// Who counts budgets and limits: Valkey or Redis where it is configured, else the supervisor of several workers, else this
// process.
import { randomUUID } from 'node:crypto';
import type { Snapshot } from '../../config/snapshot.ts';
import type { Counters } from '../access/counters.ts';
import { LocalCounters } from '../access/local-counters.ts';
import type { ValkeyCounters } from '../access/valkey/valkey-counters.ts';
import type { WorkerRole } from '../active-config/cluster-peers.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../observability/logger.ts';
import type { Ledger } from '../spend/ledger.ts';
import { recordsOf } from './recorded-calls.ts';

interface OpenedCounters {
  readonly counters: Counters;
  /** Those of several servers; null = only processes of this host count together. */
  readonly valkey: ValkeyCounters | null;
}

interface CounterParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly worker: WorkerRole | undefined;
}

export async function openCounters(
  { valkey: settings }: Pick<Snapshot, 'valkey'>,
  { ledger, clock, log, worker }: CounterParts,
): Promise<OpenedCounters> {
  const local = (): Counters => new LocalCounters(clock.mono);
  if (settings === null) return { counters: worker?.counters ?? local(), valkey: null };
  // The client library is loaded only here.
  const { ValkeyCounters } = await import('../access/valkey/valkey-counters.ts');
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
  return { counters, valkey: counters };
}
