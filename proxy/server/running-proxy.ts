// A proxy that serves: where it is reached, what follows a new configuration, and the order in which everything is shut down.
import { isDeepStrictEqual } from 'node:util';
import { isSameOtel } from '../../config/resolve/otel.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { DurableStops } from '../access/brake/durable-stops.ts';
import type { StoredObjects } from '../access/objects/access-objects.ts';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import type { Log } from '../observability/logger.ts';
import type { SpanExport } from '../observability/span-export.ts';
import type { Ledger } from '../spend/ledger.ts';
import type { Pools } from '../upstream/pools.ts';
import { urlOf, urlOrNull, type Address } from './addresses.ts';
import type { ConfigWatcher } from './config-watcher.ts';
import type { HealthChecks } from './health-checks.ts';
import type { Listening } from './listeners.ts';
import type { ModelDiscovery } from './model-discovery.ts';
import type { ModelWatcher } from './model-watcher.ts';
import type { OpenedAlerts } from './open-alerts.ts';
import type { OpenedCounters } from './open-counters.ts';
import type { Platform } from './open-platform.ts';
import type { Drain, ProxyServer } from './server.ts';

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
  /** Where probes are answered as well, when they have a port of their own. */
  readonly healthUrl: string | null;
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
  readonly #discovery: ModelDiscovery;
  readonly #models: ModelWatcher | null;
  readonly #platform: Platform | null;
  readonly #access: StoredObjects;
  readonly #alerts: OpenedAlerts;
  readonly #history: { close(): Promise<void> };
  /** null: nothing is shared with other servers. */
  readonly #valkey: OpenedCounters['valkey'];
  readonly #stops: DurableStops;
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
    discovery: ModelDiscovery;
    models: ModelWatcher | null;
    platform: Platform | null;
    access: StoredObjects;
    alerts: OpenedAlerts;
    history: { close(): Promise<void> };
    valkey: OpenedCounters['valkey'];
    stops: DurableStops;
    spans: SpanExport | null;
    log: Log;
  }) {
    this.host = parts.listening.main.host;
    this.adminWanted = parts.adminWanted;
    this.#scheme = parts.reloader.active.snapshot.tls === null ? 'http' : 'https';
    this.adminUrl = urlOrNull(parts.listening.admin, this.#scheme);
    this.healthUrl = urlOrNull(parts.listening.health, this.#scheme);
    this.port = parts.listening.main.port;
    this.platformUrl = urlOrNull(parts.listening.platform, this.#scheme);
    this.reloader = parts.reloader;
    this.#server = parts.server;
    this.#ledger = parts.ledger;
    this.#pools = parts.pools;
    this.#watcher = parts.watcher;
    parts.reloader.whenApplied(() => this.#followSettings());
    parts.reloader.whenRead(() => this.#watcher?.follow(this.reloader.state.read));
    this.#checks = parts.checks;
    this.#discovery = parts.discovery;
    this.#models = parts.models;
    this.#platform = parts.platform;
    this.#access = parts.access;
    this.#alerts = parts.alerts;
    this.#history = parts.history;
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

  #followSettings(): void {
    const { snapshot } = this.reloader.active;
    this.#ledger.reconfigure(snapshot.journal, snapshot.retentionMs);
    this.#checks.follow();
    this.#discovery.follow();
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
    if (snapshot.capsules !== null && this.reloader.active.services.capsules === null)
      this.#log.warn('general_settings.capsules was added; it takes effect after a restart');
    if (this.#platform !== null) this.#platform.reconfigure(snapshot.platform);
    else if (snapshot.platform !== null)
      this.#log.warn('platform: was added to the configuration; it takes effect after a restart');
  }

  async #stop(drain: Drain): Promise<void> {
    const { minMs: min_drain_ms, maxMs: drain_ms } = drain;
    this.#log.info({ in_flight: this.#server.inFlight, drain_ms, min_drain_ms }, 'stopping');
    this.#watcher?.close();
    this.#checks.close();
    this.#discovery.close();
    this.#models?.close();
    this.reloader.active.services.loopLag.stop();
    this.reloader.active.services.recentCalls.stop();
    await this.#server.drain(drain);
    await this.reloader.active.services.estimator.close();
    await this.#platform?.close();
    await this.#alerts.close();
    await this.#history.close();
    await this.#access.close();
    await this.#stops.close();
    await this.reloader.active.services.capsules?.close();
    await this.#valkey?.close();
    await Promise.all([this.#ledger.close(RECORDS_MS), this.#spans?.close(SPANS_MS)]);
    this.#pools.destroy();
    this.#log.info('stopped');
  }
}
