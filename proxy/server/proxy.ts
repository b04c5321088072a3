// The composition root: creates the services and the server, and shuts them down in the right order.
import type { LookupFunction } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { loadConfig, type Environment, type Loaded } from '../../config/load.ts';
import { isSameOtel } from '../../config/resolve/otel.ts';
import { Secret } from '../../config/secret.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { systemClock } from '../base/clock.ts';
import { ConfigReloader } from '../active-config/config-reloader.ts';
import { CannotStart, ConfigRefused } from '../errors/cannot-start.ts';
import { openLedger, type Ledger } from '../spend/ledger.ts';
import { HealthChecks } from './health-checks.ts';
import type { StoredObjects } from '../access/objects/access-objects.ts';
import { warmBudgets } from '../access/budgets/warm-budgets.ts';
import type { DurableStops } from '../access/brake/durable-stops.ts';
import { processReport } from '../active-config/process-report.ts';
import { createServices } from '../active-config/services.ts';
import type { ActiveConfig, Services } from '../active-config/active-config.ts';
import { addCounterMetrics } from '../observability/counter-metrics.ts';
import type { Log } from '../observability/logger.ts';
import { addPlatformMetrics } from '../observability/platform-metrics.ts';
import { addTraceMetrics } from '../observability/trace-metrics.ts';
import { openAccess } from './open-access.ts';
import { hostFor, isLoopback, urlOf, urlOrNull, type Address } from './addresses.ts';
import type { SpanExport } from '../observability/span-export.ts';
import { Traces } from '../observability/traces.ts';
import { readProxySettings } from '../upstream/http-proxies.ts';
import { ProxyServer, type Drain } from './server.ts';
import { Pools } from '../upstream/pools.ts';
import { openAlerts, type OpenedAlerts } from './open-alerts.ts';
import { openStops } from './open-brake.ts';
import { openCounters, type OpenedCounters } from './open-counters.ts';
import { openPlatformMount, sharedTables, type Platform } from './open-platform.ts';
import { openSpans } from './open-spans.ts';
import { ModelWatcher } from './model-watcher.ts';
import { withStoredModels } from './stored-models.ts';
import { troubled } from './troubled-deployments.ts';
import { recordsOf } from './recorded-calls.ts';
import { listenOn, wantedAddresses, type Listening } from './listeners.ts';
import { ConfigWatcher } from './config-watcher.ts';
import type { WorkerRole } from '../active-config/cluster-peers.ts';
import { servedModels } from '../pipeline/served-models.ts';

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
  /** Replacements for tests: a manual clock, an estimator with a longer timeout. */
  readonly parts?: (Partial<Pick<Services, 'clock' | 'estimator'>> & ResolverPart) | undefined;
}

interface ResolverPart {
  /** Of the built console. */
  readonly consoleFolder?: string;
  /** Resolves the names of upstreams of runtime models. */
  readonly lookup?: LookupFunction;
}

/** A configuration that can be served. */
export type Applied = Extract<Loaded, { ok: true }>;

const RECORDS_MS = 10_000;
/** To export the last spans; a collector that is down must not delay a restart. */
const SPANS_MS = 3_000;

/** A running proxy. */
export class RunningProxy {
  readonly host: string;
  readonly port: number;
  readonly reloader: ConfigReloader;
  /** Where `/api` is served, when it has a port of its own. */
  readonly platformUrl: string | null;
  /** Where metrics and administration are served, when they have a port of their own. */
  readonly adminUrl: string | null;
  /** The same as it was asked for: port 0 is any free one. */
  readonly adminWanted: Address | null;
  /** Of all ports, at the start. */
  readonly #scheme: 'http' | 'https';
  readonly #server: ProxyServer;
  readonly #ledger: Ledger;
  readonly #pools: Pools;
  /** null in a worker: the supervisor watches. */
  readonly #watcher: ConfigWatcher | null;
  readonly #checks: HealthChecks;
  readonly #models: ModelWatcher | null;
  readonly #platform: Platform | null;
  readonly #access: StoredObjects;
  readonly #alerts: OpenedAlerts;
  /** null: nothing is shared with other servers. */
  readonly #valkey: OpenedCounters['valkey'];
  /** null: the brake stops nothing. */
  readonly #stops: DurableStops | null;
  readonly #spans: SpanExport | null;
  readonly #log: Log;
  /** The settings at start. */
  readonly #otel: Snapshot['otel'];
  readonly #admin: Snapshot['admin'];
  #stopping: Promise<void> | null = null;

  constructor(parts: {
    listening: Listening;
    adminWanted: Address | null;
    reloader: ConfigReloader;
    server: ProxyServer;
    ledger: Ledger;
    pools: Pools;
    watcher: ConfigWatcher | null;
    checks: HealthChecks;
    models: ModelWatcher | null;
    platform: Platform | null;
    access: StoredObjects;
    alerts: OpenedAlerts;
    valkey: OpenedCounters['valkey'];
    stops: DurableStops | null;
    spans: SpanExport | null;
    log: Log;
  }) {
    this.host = parts.listening.main.host;
    this.adminWanted = parts.adminWanted;
    this.#scheme = parts.reloader.active.snapshot.tls === null ? 'http' : 'https';
    this.adminUrl = urlOrNull(parts.listening.admin, this.#scheme);
    this.port = parts.listening.main.port;
    this.platformUrl = urlOrNull(parts.listening.platform, this.#scheme);
    this.reloader = parts.reloader;
    this.#server = parts.server;
    this.#ledger = parts.ledger;
    this.#pools = parts.pools;
    this.#watcher = parts.watcher;
    parts.reloader.whenApplied(() => this.#followFiles());
    this.#checks = parts.checks;
    this.#models = parts.models;
    this.#platform = parts.platform;
    this.#access = parts.access;
    this.#alerts = parts.alerts;
    this.#valkey = parts.valkey;
    this.#stops = parts.stops;
    this.#spans = parts.spans;
    this.#otel = parts.reloader.active.snapshot.otel;
    this.#admin = parts.reloader.active.snapshot.admin;
    this.#log = parts.log;
  }

  /** `scheme://host:port` with a host that clients can connect to. */
  get url(): string {
    return urlOf(this, this.#scheme);
  }

  /** Requests so far, and those that have not been answered to the end. */
  get load(): { readonly begun: number; readonly inFlight: number } {
    return { begun: this.#server.begun, inFlight: this.#server.inFlight };
  }

  /** Leaves memory that is kept for the next bodies to the collector. */
  forgetBodies(): void {
    this.#server.forgetBodies();
  }

  /** Reads the configuration again. */
  async reload(): Promise<void> {
    try {
      await this.reloader.reload();
    } catch (err) {
      this.#log.error({ err }, 'reload failed; the old configuration serves on'); // a bug of ours must not end the process
    }
  }

  /**
   * Shuts down in order: readiness, requests in flight, records, store. A second call interrupts requests in flight at
   * once.
   * @param drain overrides the configuration
   */
  stop(drain: Partial<Drain> = {}): Promise<void> {
    const { minDrainMs, drainMs } = this.reloader.active.snapshot;
    if (this.#stopping === null) this.#stopping = this.#stop({ minMs: minDrainMs, maxMs: drainMs, ...drain });
    else this.#server.hurry();
    return this.#stopping;
  }

  #followFiles(): void {
    const { snapshot } = this.reloader.active;
    this.#watcher?.follow(snapshot.files);
    this.#ledger.reconfigure(snapshot.journal, snapshot.retentionMs);
    this.#checks.follow();
    if (!isSameOtel(snapshot.otel, this.#otel))
      this.#log.warn(
        'the trace settings were changed in the configuration; they take effect after a restart',
      );
    if (!isDeepStrictEqual(snapshot.admin, this.#admin))
      this.#log.warn(
        'general_settings.admin_port or admin_host was changed in the configuration; it takes effect after a restart',
      );
    if (!this.#server.useTls(snapshot.tls))
      this.#log.warn(
        'TLS, or the need of a client certificate, was switched in the configuration; it takes effect after a restart',
      );
    if (this.#platform !== null) this.#platform.reconfigure(snapshot.platform);
    else if (snapshot.platform !== null)
      this.#log.warn('platform: was added to the configuration; it takes effect after a restart');
  }

  async #stop(drain: Drain): Promise<void> {
    const { minMs: min_drain_ms, maxMs: drain_ms } = drain;
    this.#log.info({ in_flight: this.#server.inFlight, drain_ms, min_drain_ms }, 'stopping');
    this.#watcher?.close();
    this.#checks.close();
    this.#models?.close();
    this.reloader.active.services.loopLag.stop();
    this.reloader.active.services.recentCalls.stop();
    await this.#server.drain(drain);
    await this.reloader.active.services.estimator.close();
    await this.#platform?.close();
    await this.#alerts.close();
    await this.#access.close();
    await this.#stops?.close();
    await this.#valkey?.close();
    await Promise.all([this.#ledger.close(RECORDS_MS), this.#spans?.close(SPANS_MS)]);
    this.#pools.destroy();
    this.#log.info('stopped');
  }
}

/** Starts a proxy. @throws ConfigRefused, CannotStart. */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { env, log, configPath, worker } = options;
  const { lookup, consoleFolder = null, ...parts } = options.parts ?? {};
  const { clock = systemClock } = parts;
  const first = options.loaded ?? readConfig(configPath, env);
  const host = hostFor(first.snapshot, options.host);
  const saltKey = env['LITELLM_SALT_KEY'];
  const spans = await openSpans(first.snapshot, log);
  const ledger = await openLedger({
    dataDir: options.dataDir,
    settings: first.snapshot.journal,
    database: first.snapshot.database,
    retentionMs: first.snapshot.retentionMs,
    saltKey: saltKey === undefined || saltKey === '' ? first.snapshot.masterKey : new Secret(saltKey),
    clock,
    onEvent: ({ level, name, message }) => log[level]({ event: name }, message),
    onInterrupted: spans === null ? undefined : (record) => spans.ended(record, null),
    worker: worker?.welcome,
    flushOthers: worker && (() => worker.flushOthers()),
  }).catch(async (error: Error) => {
    await spans?.close(0);
    throw new CannotStart(error.message);
  });
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
  const access = await openAccess({ dataDir: options.dataDir, ...shared });
  const active = (): ActiveConfig | null => reloader?.active ?? null;
  const counted = await openCounters(first.snapshot, { ledger, clock, log, worker, active });
  const { valkey } = counted;
  let server: ProxyServer | null = null;
  const pools = new Pools(clock.mono, readProxySettings(env), lookup);
  const alerts = await openAlerts(options, {
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
  try {
    const served = worker?.welcome.served ?? null;
    const wanted = wantedAddresses(first.snapshot, { host, port: options.port }, worker?.welcome ?? null);
    // The other workers start when the first one serves: only that one creates or migrates the store.
    if (worker !== undefined && served === null) await ledger.models.listModels().catch(() => undefined);
    const { loaded, runtime } =
      served === null
        ? await withStoredModels(env, first, ledger)
        : { loaded: first, runtime: served.runtime };
    const configs = new ConfigReloader(
      configPath,
      env,
      services,
      loaded,
      runtime,
      [wanted.main, wanted.admin].some((one) => one !== null && !isLoopback(one.host)),
      served?.state,
    );
    reloader = configs;
    worker?.answer({
      adopt: (shared) => {
        configs.adopt(shared);
        const { journal, retentionMs, tls } = configs.active.snapshot;
        server?.useTls(tls);
        ledger.reconfigure(journal, retentionMs);
      },
      status: () => ledger.status,
      figures: () => metrics.figures(),
      report: () => processReport(configs.active, worker.welcome.number),
      brake: (question) => services.brake.ask(question),
      flush: () => ledger.flush(),
      records: (requestIds) => recordsOf(ledger, requestIds),
    });
    await warmBudgets(services.budgets, log);
    const own = { mount: wanted.platform !== null, admin: wanted.admin !== null };
    server = new ProxyServer(configs, own, consoleFolder);
    const listening = await listenOn(server, wanted);
    const watcher = worker === undefined ? new ConfigWatcher((): void => void proxy.reload()) : null;
    const checks = new HealthChecks(() => configs.active);
    // One worker is enough: it tells the others.
    const models = (worker?.welcome.number ?? 1) === 1 ? new ModelWatcher(ledger.models, configs) : null;
    metrics.watchDeployments(() => troubled(configs.active));
    metrics.watchLoad(services);
    services.loopLag.start();
    if (first.snapshot.console !== null) services.recentCalls.start();
    const proxy: RunningProxy = new RunningProxy({
      listening,
      adminWanted: wanted.admin,
      reloader: configs,
      server,
      ledger,
      pools,
      watcher,
      checks,
      models,
      platform,
      access,
      alerts,
      valkey,
      stops,
      spans,
      log,
    });
    alerts.watch();
    checks.follow();
    models?.start();
    platform?.serve(proxy.url, proxy.platformUrl ?? proxy.url);
    watcher?.follow(loaded.snapshot.files);
    return proxy;
  } catch (error) {
    server?.close();
    await alerts.close();
    await platform?.close();
    await access.close();
    await stops?.close();
    await valkey?.close();
    await ledger.close(0);
    await spans?.close(0);
    pools.destroy();
    throw error;
  }
}

/** Reads the configuration files. @throws ConfigRefused */
export function readConfig(path: string, env: Environment): Applied {
  const loaded = loadConfig(path, env);
  if (!loaded.ok) throw new ConfigRefused(loaded.issues);
  return loaded;
}
