// Opens what a proxy works with: records, stores, counters, alerts, and the services that are made of them. Nothing is served
// yet, and no configuration is in service.
import type { LookupFunction } from 'node:net';
import type { Environment } from '../../config/load.ts';
import { Secret } from '../../config/secret.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { ValkeyTimes } from '../access/valkey/valkey-link.ts';
import type { ActiveConfig } from '../active-config/active-config.ts';
import { VERSION } from '../active-config/version.ts';
import type { Services } from '../active-config/services.ts';
import type { WorkerRole } from '../active-config/cluster-peers.ts';
import { KnownServers } from '../active-config/known-servers.ts';
import { createServices } from '../active-config/create-services.ts';
import { asError } from '../base/as-error.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { openHistoryStore } from '../items/history.ts';
import { heartbeatOf, heartbeatText, identityOf } from '../items/replicas.ts';
import { addCounterMetrics } from '../observability/counter-metrics.ts';
import type { Log } from '../observability/logger.ts';
import { addPlatformMetrics } from '../observability/platform-metrics.ts';
import type { SpanExport } from '../observability/span-export.ts';
import { addTraceMetrics } from '../observability/trace-metrics.ts';
import { Traces } from '../observability/traces.ts';
import { servedModels } from '../pipeline/served-models.ts';
import { openLedger, type Ledger } from '../spend/ledger.ts';
import { readProxySettings } from '../upstream/http-proxies.ts';
import { Pools } from '../upstream/pools.ts';
import { openAccess } from './open-access.ts';
import { openAlerts } from './open-alerts.ts';
import { openStops } from './open-brake.ts';
import { openCapsules } from './open-capsules.ts';
import { openCounters } from './open-counters.ts';
import { openPlatformMount, sharedTables } from './open-platform.ts';
import { openSpans } from './open-spans.ts';
import { openReconciliations } from './reconciliations.ts';
import type { OpenedParts } from './opened-parts.ts';
import type { Opened } from './running-proxy.ts';

/** What of the options of a process its services are made with. */
export interface ServiceOptions {
  readonly configPath: string;
  readonly dataDir: string;
  readonly env: Environment;
  readonly log: Log;
  /** The role of this worker in a cluster. Default: a single process. */
  readonly worker?: WorkerRole | undefined;
  /** For tests: a manual clock, an estimator with a longer timeout. */
  readonly parts?: Replacements | undefined;
}

interface Replacements extends Partial<Pick<Services, 'clock' | 'estimator'>> {
  /** Of the built console. */
  readonly consoleFolder?: string;
  readonly valkeyTimes?: Partial<ValkeyTimes>;
  /** How long a start waits for keys, teams and users. */
  readonly accessWithinMs?: number;
  /** Resolves the names of upstreams of runtime models. */
  readonly lookup?: LookupFunction;
}

/** What services ask for that is made after them. */
interface Later {
  /** null: no configuration is in service yet. */
  readonly active: () => ActiveConfig | null;
  /** Requests being served. */
  readonly inFlight: () => number;
}

interface OpenedServices {
  readonly services: Services;
  readonly opened: Opened;
}

/**
 * @param snapshot of the configuration that is going to serve first
 * @param parts is told of each part as soon as it is open; whoever made it closes them, also when this throws
 * @throws CannotStart
 */
export async function openServices(
  options: ServiceOptions,
  snapshot: Snapshot,
  { active, inFlight }: Later,
  parts: OpenedParts,
): Promise<OpenedServices> {
  const { dataDir, env, log, worker } = options;
  const { lookup, consoleFolder: _, valkeyTimes, accessWithinMs, ...replacements } = options.parts ?? {};
  const { clock = systemClock } = replacements;
  const settings = (): Snapshot => active()?.snapshot ?? snapshot;
  const spans = await openSpans(snapshot, log);
  if (spans !== null) parts.addWritten('spans', ({ spansMs }) => spans.close(spansMs));
  const ledger = await openRecords(options, snapshot, clock, spans);
  parts.addWritten('spend records', ({ recordsMs }) => ledger.close(recordsMs));
  const platform = await openPlatformMount(snapshot, options, ledger, servedModels(active));
  if (platform !== null) parts.add('platform', () => platform.close());
  const database = sharedTables(snapshot, ledger);
  const role = worker === undefined ? null : { number: worker.welcome.number, count: worker.welcome.count };
  const opened = worker?.opened;
  const shared = { dataDir, database, worker: role, opened, clock, log };
  const { access, store } = await openAccess({ version: VERSION, ...shared }, accessWithinMs);
  parts.add('access', () => access.close());
  const history = openHistoryStore({ dataDir, database, opened });
  parts.add('history', () => history.close());
  const capsules = await openCapsules(settings, shared);
  if (capsules !== null) parts.add('capsules', () => capsules.close());
  const server = identityOf(dataDir);
  const processes = (): number => store.processes;
  const counters = { server, ledger, clock, log, worker, processes, valkeyTimes, active };
  const counted = await openCounters(snapshot, counters);
  const { valkey } = counted;
  if (valkey !== null) parts.add('valkey', () => valkey.close());
  const pools = new Pools(clock.mono, readProxySettings(env), lookup);
  parts.add('pools', () => pools.destroy());
  const alerts = await openAlerts(options, {
    store: history,
    settings: () => settings().alerts,
    directory: access.directory,
    ledger,
    pools,
    clock,
    count: (kind, outcome) => services.metrics.alerts.count(kind, outcome),
  });
  parts.add('alerts', () => alerts.close());
  const services: Services = createServices(
    snapshot,
    {
      ...replacements,
      ledger,
      log,
      pools,
      ...(worker === undefined ? {} : { peers: worker }),
      traces: snapshot.otel === null ? null : new Traces(snapshot.otel),
      spans,
      access,
      ...counted.services,
      accessEvents: alerts.alerts,
      alertHistory: alerts.history,
      reconciliations: openReconciliations(history),
      servers: new KnownServers({ server, ...heartbeatOf(heartbeatText(VERSION)), seenMs: 0 }, [
        ...(database === null ? [] : [{ by: 'postgresql', others: () => store.others } as const]),
        ...(valkey === null ? [] : [{ by: 'valkey', others: () => valkey.others } as const]),
      ]),
      capsules,
      callers: platform?.callers ?? null,
      mount: platform,
    },
    { inFlight, dataDir },
  );
  const { metrics, brake } = services;
  const stops = await openStops(snapshot, brake, shared);
  parts.add('stops', () => stops.close());
  metrics.alerts.watch(() => alerts.alerts.waiting);
  if (platform !== null) metrics.add(addPlatformMetrics, () => platform.figures);
  if (valkey !== null) metrics.add(addCounterMetrics, () => valkey.figures);
  if (spans !== null) metrics.add(addTraceMetrics, () => spans.figures);
  return { services, opened: { platform, alerts, ledger } };
}

/** The spend records: journal, recovery, store. @throws CannotStart */
async function openRecords(
  { dataDir, env, log, worker }: ServiceOptions,
  { journal, database, retentionMs, masterKey }: Snapshot,
  clock: Clock,
  spans: SpanExport | null,
): Promise<Ledger> {
  const saltKey = env['LITELLM_SALT_KEY'];
  try {
    return await openLedger({
      dataDir,
      settings: journal,
      database,
      retentionMs,
      saltKey: saltKey === undefined || saltKey === '' ? masterKey : new Secret(saltKey),
      clock,
      onEvent: ({ level, name, message }) => log[level]({ event: name }, message),
      onInterrupted: spans === null ? undefined : (record) => spans.ended(record, null),
      worker: worker?.welcome,
      flushOthers: worker && (() => worker.flushOthers()),
    });
  } catch (error) {
    throw new CannotStart(asError(error).message);
  }
}
