// Who counts budgets and limits: Valkey or Redis where it is configured, else the supervisor of several workers, else this
// process.
import { randomUUID } from 'node:crypto';
import { asError } from '../base/as-error.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { ValkeySettings } from '../../config/valkey-settings.ts';
import { LocalCounters } from '../access/local-counters.ts';
import type { SharedCountersState, ValkeyCounters } from '../access/valkey/valkey-counters.ts';
import type { SharedKeyFigures } from '../access/valkey/valkey-keys.ts';
import type { ValkeyTimes } from '../access/valkey/valkey-link.ts';
import type { ActiveConfig } from '../active-config/active-config.ts';
import { VERSION } from '../active-config/version.ts';
import type { Services } from '../active-config/services.ts';
import { IdempotencyCache } from '../active-config/idempotency-cache.ts';
import type { WorkerRole } from '../active-config/cluster-peers.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { Clock } from '../base/clock.ts';
import { HealthRegistry } from '../routing/deployment-health.ts';
import type { KnownProcess } from '../items/replicas.ts';
import type { Log } from '../observability/logger.ts';
import type { Ledger } from '../spend/ledger.ts';
import { recordsOf } from './recorded-calls.ts';

/** What processes share. */
export interface OpenedCounters {
  readonly services: Pick<Services, 'counters' | 'idempotency' | 'health'>;
  /** What several servers share; null = only processes of this host do. */
  readonly valkey: OpenedValkey | null;
}

interface OpenedValkey {
  readonly figures: SharedCountersState & SharedKeyFigures;
  /** The other processes that share it. */
  readonly others: readonly KnownProcess[];
  close(): Promise<void>;
}

interface CounterParts {
  /** Of the data directory. */
  readonly server: string;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly worker: WorkerRole | undefined;
  /** Of all servers, as far as is known without Valkey. */
  readonly processes: () => number;
  /** Default: what a server has. */
  readonly valkeyTimes: Partial<ValkeyTimes> | undefined;
  /** null: no configuration is in service yet. */
  readonly active: () => ActiveConfig | null;
}

export async function openCounters(
  { valkey: settings }: Pick<Snapshot, 'valkey'>,
  parts: CounterParts,
): Promise<OpenedCounters> {
  return settings === null ? ofThisHost(parts) : await openValkey(settings, parts);
}

function ofThisHost({ clock, worker, active }: CounterParts): OpenedCounters {
  const counters = worker?.counters ?? new LocalCounters(clock.mono, { isToldOnce: true });
  const idempotency = new IdempotencyCache(clock.mono, worker?.keys ?? null);
  const health = new HealthRegistry((id) => worker?.health.peersOf(id) ?? null);
  worker?.health.follow(health, clock.mono, (id) => learned(active(), id));
  return { services: { counters, idempotency, health }, valkey: null };
}

/** @throws CannotStart */
async function openValkey(settings: ValkeySettings, parts: CounterParts): Promise<OpenedCounters> {
  const { server: identity, ledger, clock, log, worker, active } = parts;
  // The client library is loaded only here.
  const { ValkeyKeys } = await import('../access/valkey/valkey-keys.ts');
  const { ValkeyHealth } = await import('../access/valkey/valkey-health.ts');
  const { ValkeyServers } = await import('../access/valkey/valkey-servers.ts');
  const counters = await startCounters(settings, parts);
  const { link, server, times } = counters;
  const { stuckMs } = times;
  const { mono } = clock;
  const failClosed = (): boolean => active()?.snapshot.idempotency?.failClosed === true;
  const keys = new ValkeyKeys({ link, server, mono, ...times, failClosed });
  const learnedHere = (id: string): void => learned(active(), id);
  const cooldowns = new ValkeyHealth({ link, server, mono, stuckMs, learned: learnedHere });
  const health = new HealthRegistry((id) => cooldowns.peersOf(id));
  cooldowns.follow(health);
  const id = worker === undefined ? identity : `${identity}-${worker.welcome.number}`;
  const present = new ValkeyServers({ link, id, version: VERSION, nowMs: clock.now, stuckMs, log });
  return {
    services: { counters, idempotency: new IdempotencyCache(mono, keys), health },
    valkey: {
      get figures() {
        return { ...counters.state, ...keys.figures };
      },
      get others() {
        return present.others;
      },
      close: async () => {
        ledger.flush().catch(() => undefined); // at once into the journal: then the counters may tell it
        await Promise.all([keys.close(), cooldowns.close(), present.close()]);
        await counters.close();
      },
    },
  };
}

/** @throws CannotStart */
async function startCounters(
  settings: ValkeySettings,
  { ledger, clock, log, worker, processes, valkeyTimes: times = {} }: CounterParts,
): Promise<ValkeyCounters> {
  const { ValkeyCounters: Counters } = await import('../access/valkey/valkey-counters.ts');
  const { tlsFiles } = await import('../access/valkey/connection.ts');
  try {
    if (settings.tls !== null) tlsFiles(settings.tls);
  } catch (error) {
    throw new CannotStart(
      `a file of the TLS settings of ${settings.shown} cannot be read: ${asError(error).message}`,
    );
  }
  return await Counters.start({
    settings,
    log,
    randomId: randomUUID,
    mono: clock.mono,
    local: () => new LocalCounters(clock.mono),
    servers: () => Math.max(worker?.welcome.count ?? 1, processes()),
    recordsOf: (requestIds) => recordsOf(ledger, requestIds),
    journals: () => ledger.journals,
    journalAgeMs: ledger.lastWriteMs === 0 ? 0 : clock.now() - ledger.lastWriteMs,
    stored: () => ledger.flush(),
    times,
  });
}

/** Another server has found that a deployment fails. */
function learned(active: ActiveConfig | null, id: string): void {
  const deployment = active?.deployments.get(id);
  if (active === null || deployment === undefined) return;
  const { config, metrics } = deployment;
  metrics.cooldownLearned();
  const about = { model: config.group, model_id: id, upstream: config.apiBase };
  active.services.log.warn(about, 'deployment cooling down, as another server has found');
}
