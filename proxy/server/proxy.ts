// The composition root: creates the services and the server; running-proxy.ts shuts them down.
import type { LookupFunction } from 'node:net';
import { asError } from '../base/as-error.ts';
import { loadConfig, type Environment, type Loaded } from '../../config/load.ts';
import { Secret } from '../../config/secret.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { ConfigReloader } from '../active-config/config-reloader.ts';
import { CannotStart, ConfigRefused } from '../errors/cannot-start.ts';
import { openLedger, type Ledger } from '../spend/ledger.ts';
import { HealthChecks } from './health-checks.ts';
import { ModelDiscovery } from './model-discovery.ts';
import { warmBudgets } from '../access/budgets/warm-budgets.ts';
import { processReport } from '../active-config/process-report.ts';
import { createServices } from '../active-config/services.ts';
import { VERSION, type ActiveConfig, type Services } from '../active-config/active-config.ts';
import type { ValkeyTimes } from '../access/valkey/valkey-link.ts';
import { KnownServers } from '../active-config/known-servers.ts';
import { openHistoryStore } from '../items/history.ts';
import { heartbeatOf, heartbeatText, identityOf } from '../items/replicas.ts';
import { addCounterMetrics } from '../observability/counter-metrics.ts';
import type { Log } from '../observability/logger.ts';
import { addPlatformMetrics } from '../observability/platform-metrics.ts';
import { addTraceMetrics } from '../observability/trace-metrics.ts';
import { openAccess } from './open-access.ts';
import { hostFor, isLoopback } from './addresses.ts';
import type { SpanExport } from '../observability/span-export.ts';
import { Traces } from '../observability/traces.ts';
import { readProxySettings } from '../upstream/http-proxies.ts';
import { closeAll, RunningProxy, type Closable } from './running-proxy.ts';
import { ProxyServer } from './server.ts';
import { Pools } from '../upstream/pools.ts';
import { openAlerts } from './open-alerts.ts';
import { openStops } from './open-brake.ts';
import { openCapsules } from './open-capsules.ts';
import { openCounters } from './open-counters.ts';
import { openPlatformMount, sharedTables } from './open-platform.ts';
import { openReconciliations } from './reconciliations.ts';
import { openSpans } from './open-spans.ts';
import { ModelWatcher } from './model-watcher.ts';
import { withStoredModels } from './stored-models.ts';
import { troubled } from './troubled-deployments.ts';
import { recordsOf } from './recorded-calls.ts';
import { listenOn, wantedAddresses } from './listeners.ts';
import { ConfigWatcher } from './config-watcher.ts';
import type { WorkerDuties, WorkerRole } from '../active-config/cluster-peers.ts';
import { servedModels } from '../pipeline/served-models.ts';

/** What one process is started with. */
export interface ProxyOptions {
  readonly configPath: string;
  readonly dataDir: string;
  /** Default: all addresses with a master key, loopback without. */
  readonly host?: string | undefined;
  /** 0 = any free port. */
  readonly port: number;
  readonly env: Environment;
  readonly log: Log;
  /** The configuration, if it has been read already. Default: read it now. */
  readonly loaded?: Applied | undefined;
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

/** A configuration that can be served. */
export type Applied = Extract<Loaded, { ok: true }>;

/** Starts a proxy. @throws ConfigRefused, CannotStart. */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { env, log, configPath, worker } = options;
  const { lookup, consoleFolder = null, valkeyTimes, accessWithinMs, ...parts } = options.parts ?? {};
  const { clock = systemClock } = parts;
  const first = options.loaded ?? readConfig(configPath, env);
  const host = hostFor(first.snapshot, options.host);
  const spans = await openSpans(first.snapshot, log);
  const ledger = await openRecords(options, first.snapshot, clock, spans);
  let reloader: ConfigReloader | null = null;
  const models = servedModels(() => reloader?.active ?? null);
  const platform = await openPlatformMount(first.snapshot, options, ledger, models).catch(
    async (error: unknown) => {
      await spans?.close(0);
      throw error;
    },
  );
  const shared = {
    database: sharedTables(first.snapshot, ledger),
    worker: worker === undefined ? null : { number: worker.welcome.number, count: worker.welcome.count },
    clock,
    log,
  };
  const { access, store } = await openAccess(
    { dataDir: options.dataDir, version: VERSION, ...shared },
    accessWithinMs,
  );
  const historyStore = openHistoryStore({ dataDir: options.dataDir, database: shared.database });
  const active = (): ActiveConfig | null => reloader?.active ?? null;
  const settings = (): Snapshot => active()?.snapshot ?? first.snapshot;
  const capsules = await openCapsules(settings, { dataDir: options.dataDir, ...shared });
  const identity = identityOf(options.dataDir);
  const counted = await openCounters(first.snapshot, {
    server: identity,
    ledger,
    clock,
    log,
    worker,
    processes: () => store.processes,
    valkeyTimes,
    active,
  });
  const { valkey } = counted;
  let server: ProxyServer | null = null;
  const pools = new Pools(clock.mono, readProxySettings(env), lookup);
  const alerts = await openAlerts(options, {
    store: historyStore,
    settings: () => (reloader?.active.snapshot ?? first.snapshot).alerts,
    directory: access.directory,
    ledger,
    pools,
    clock,
    count: (kind, outcome) => services.metrics.alerts.count(kind, outcome),
  });
  const services: Services = createServices(
    {
      ...parts,
      ledger,
      log,
      pools,
      ...(worker === undefined ? {} : { peers: worker }),
      traces: first.snapshot.otel === null ? null : new Traces(first.snapshot.otel),
      spans,
      access,
      ...counted.services,
      accessEvents: alerts.alerts,
      alertHistory: alerts.history,
      reconciliations: openReconciliations(historyStore),
      servers: new KnownServers({ server: identity, ...heartbeatOf(heartbeatText(VERSION)), seenMs: 0 }, [
        ...(shared.database === null ? [] : [{ by: 'postgresql', others: () => store.others } as const]),
        ...(valkey === null ? [] : [{ by: 'valkey', others: () => valkey.others } as const]),
      ]),
      capsules,
      callers: platform?.callers ?? null,
      mount: platform,
    },
    { inFlight: () => server?.inFlight ?? 0, dataDir: options.dataDir },
  );
  const { metrics } = services;
  const stops = await openStops(first.snapshot, services.brake, { dataDir: options.dataDir, ...shared });
  metrics.alerts.watch(() => alerts.alerts.waiting);
  if (platform !== null) metrics.add(addPlatformMetrics, () => platform.figures);
  if (valkey !== null) metrics.add(addCounterMetrics, () => valkey.figures);
  if (spans !== null) metrics.add(addTraceMetrics, () => spans.figures);
  const opened: Closable = {
    platform,
    alerts,
    history: historyStore,
    access,
    stops,
    capsules,
    valkey,
    ledger,
    spans,
    pools,
  };
  try {
    const served = worker?.welcome.served ?? null;
    const wanted = wantedAddresses(
      first.snapshot,
      { host, port: options.port },
      env,
      worker?.welcome ?? null,
    );
    // The other workers start when the first one serves: only that one creates or migrates the store.
    if (worker !== undefined && served === null) await ledger.models.listModels().catch(() => undefined);
    const { loaded, runtime } =
      served === null
        ? await withStoredModels(env, first, ledger)
        : { loaded: first, runtime: served.runtime };
    const configs = new ConfigReloader({
      path: configPath,
      env,
      services,
      loaded,
      runtime,
      isExposed: [wanted.main, wanted.admin].some((one) => one !== null && !isLoopback(one.host)),
      state: served?.state ?? null,
    });
    reloader = configs;
    worker?.answer(answersOf(worker, configs, () => server));
    await warmBudgets(services.budgets, log);
    server = new ProxyServer(configs, wanted, consoleFolder);
    const listening = await listenOn(server, wanted);
    const watcher = worker === undefined ? new ConfigWatcher((): void => void proxy.reload()) : null;
    const checks = new HealthChecks(() => configs.active);
    const discovery = new ModelDiscovery(() => configs.active);
    // One worker is enough: it tells the others.
    const models = (worker?.welcome.number ?? 1) === 1 ? new ModelWatcher(ledger.models, configs) : null;
    metrics.watchDeployments(() => troubled(configs.active));
    metrics.watchLoad(services);
    services.loopLag.start();
    if (first.snapshot.console !== null) services.recentCalls.start();
    const proxy: RunningProxy = new RunningProxy({
      ...opened,
      listening,
      adminWanted: wanted.admin,
      reloader: configs,
      server,
      watcher,
      checks,
      discovery,
      models,
      log,
    });
    alerts.watch();
    checks.follow();
    discovery.follow();
    models?.start();
    platform?.serve(proxy.url, proxy.platformUrl ?? proxy.url);
    watcher?.follow(configs.state.read);
    return proxy;
  } catch (error) {
    server?.close();
    await closeAll(opened);
    throw error;
  }
}

/** The spend records: journal, recovery, store. @throws CannotStart */
async function openRecords(
  { dataDir, env, log, worker }: ProxyOptions,
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
    await spans?.close(0);
    throw new CannotStart(asError(error).message);
  }
}

/** What this worker tells the supervisor. @param server null: it does not listen yet */
function answersOf(
  { welcome }: WorkerRole,
  configs: ConfigReloader,
  server: () => ProxyServer | null,
): WorkerDuties {
  const { ledger, metrics, brake } = configs.active.services;
  return {
    adopt: (shared) => {
      configs.adopt(shared);
      const { journal, retentionMs, tls } = configs.active.snapshot;
      server()?.useTls(tls);
      ledger.reconfigure(journal, retentionMs);
    },
    status: () => ledger.status,
    figures: () => metrics.figures(),
    report: () => processReport(configs.active, welcome.number),
    brake: (question) => brake.ask(question),
    flush: () => ledger.flush(),
    records: (requestIds) => recordsOf(ledger, requestIds),
  };
}

/** Reads the configuration files. @throws ConfigRefused */
export function readConfig(path: string, env: Environment): Applied {
  const loaded = loadConfig(path, env);
  if (!loaded.ok) throw new ConfigRefused(loaded.issues);
  return loaded;
}
