// A proxy that serves: where it is reached, what follows a new configuration, and how it is shut down.
import { waitingForRestart, type StartSettings } from '../../config/diff.ts';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import type { Changed } from '../active-config/in-service.ts';
import { UncleanStop } from '../errors/cannot-start.ts';
import type { Log } from '../observability/logger.ts';
import type { Ledger } from '../spend/ledger.ts';
import { onAllAddresses, urlOf, urlOrNull, type Address } from './addresses.ts';
import type { ConfigWatcher } from './config-watcher.ts';
import type { HealthChecks } from './health-checks.ts';
import type { Listening } from './listeners.ts';
import type { ModelDiscovery } from './model-discovery.ts';
import type { ModelWatcher } from './model-watcher.ts';
import type { OpenedAlerts } from './open-alerts.ts';
import type { Platform } from './open-platform.ts';
import { closeEach, type OpenedParts } from './opened-parts.ts';
import type { Drain, ProxyServer } from './server.ts';
import { PARTS_MS, RECORDS_MS, SPANS_MS } from './stop-times.ts';

/** Of what was opened before the first configuration serves. */
export interface Opened {
  readonly platform: Platform | null;
  readonly alerts: OpenedAlerts;
  readonly ledger: Ledger;
}

/** What a proxy consists of. */
interface RunningParts extends Opened {
  /** To be closed at the end. */
  readonly opened: OpenedParts;
  readonly listening: Listening;
  /** The port of administration as it was asked for: 0 is any free one. */
  readonly adminWanted: Address | null;
  readonly reloader: ConfigReloader;
  readonly server: ProxyServer;
  /** null in a worker: the supervisor watches. */
  readonly watcher: ConfigWatcher | null;
  readonly checks: HealthChecks;
  readonly discovery: ModelDiscovery;
  /** null in workers beside the first one. */
  readonly models: ModelWatcher | null;
  readonly log: Log;
}

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
  readonly #parts: RunningParts;
  /** The settings at the start: a change of them needs a restart. */
  readonly #atStart: StartSettings;
  #stopping: Promise<void> | null = null;

  constructor(parts: RunningParts) {
    const { listening, reloader } = parts;
    const { snapshot } = reloader.active;
    this.#parts = parts;
    const { database, valkey, admin, otel, workers, allowUnauthenticated, capsules } = snapshot;
    this.#atStart = { database, valkey, admin, otel, workers, allowUnauthenticated, capsules };
    this.#scheme = snapshot.tls === null ? 'http' : 'https';
    this.host = listening.main.host;
    this.port = listening.main.port;
    this.platformUrl = urlOrNull(listening.platform, this.#scheme);
    this.adminUrl = urlOrNull(listening.admin, this.#scheme);
    this.healthUrl = urlOrNull(listening.health, this.#scheme);
    this.adminWanted = parts.adminWanted;
    this.reloader = reloader;
    reloader.follow((changed) => this.#follow(changed));
    reloader.whenApplied(() => this.#warnOfRestarts());
    reloader.whenRead(() => parts.watcher?.follow(reloader.state.read));
  }

  /** `scheme://host:port` with a host that clients can connect to. */
  get url(): string {
    return urlOf(this, this.#scheme);
  }

  /** What `url` does not tell of the address; null = nothing. */
  get onAllAddresses(): string | null {
    return onAllAddresses(this);
  }

  /** Requests so far, and those that have not been answered to the end. */
  get load(): { readonly begun: number; readonly inFlight: number } {
    return { begun: this.#parts.server.begun, inFlight: this.#parts.server.inFlight };
  }

  /** Leaves memory that is kept for the next bodies to the collector. */
  forgetBodies(): void {
    this.#parts.server.forgetBodies();
  }

  /** Reads the configuration again. */
  async reload(): Promise<void> {
    try {
      await this.reloader.reload();
    } catch (err) {
      this.#parts.log.error({ err }, 'reload failed; the old configuration serves on'); // a bug of ours must not end the process
    }
  }

  /**
   * Shuts down in order: readiness, requests in flight, records, store. A second call interrupts requests in flight at
   * once.
   * @param drain overrides the configuration
   * @throws UncleanStop when everything has ended, and a part of it could not be closed
   */
  stop(drain: Partial<Drain> = {}): Promise<void> {
    const { minDrainMs, drainMs } = this.reloader.active.snapshot;
    if (this.#stopping === null) this.#stopping = this.#stop({ minMs: minDrainMs, maxMs: drainMs, ...drain });
    else this.#parts.server.hurry();
    return this.#stopping;
  }

  /** What goes on beside the requests follows the configuration in service. */
  #follow(changed: Changed): void {
    const { snapshot } = this.reloader.active;
    const { ledger, checks, discovery, server, platform } = this.#parts;
    discovery.follow();
    if (changed === 'models') return; // they bring gateways to ask, and no setting
    ledger.reconfigure(snapshot.journal, snapshot.retentionMs);
    server.useTls(snapshot.tls);
    checks.follow();
    platform?.reconfigure(snapshot.platform);
  }

  /** Said once, by the process that has read the files. */
  #warnOfRestarts(): void {
    const { snapshot } = this.reloader.active;
    const { server, platform, log } = this.#parts;
    for (const name of waitingForRestart(this.#atStart, snapshot))
      log.warn(`${name} was changed in the configuration; it takes effect after a restart`);
    if (!server.takesTls(snapshot.tls))
      log.warn(
        'TLS, or the need of a client certificate, was switched in the configuration; it takes effect after a restart',
      );
    if (platform === null && snapshot.platform !== null)
      log.warn('platform: was added to the configuration; it takes effect after a restart');
  }

  async #stop(drain: Drain): Promise<void> {
    const { server, watcher, checks, discovery, models, opened, log } = this.#parts;
    const { services } = this.reloader.active;
    const { minMs: min_drain_ms, maxMs: drain_ms } = drain;
    log.info({ in_flight: server.inFlight, drain_ms, min_drain_ms }, 'stopping');
    watcher?.close();
    checks.close();
    discovery.close();
    models?.close();
    services.loopLag.stop();
    services.recentCalls.stop();
    const served = await closeEach(log, {
      server: () => server.drain(drain),
      estimator: () => services.estimator.close(),
    });
    const times = { partsMs: PARTS_MS, recordsMs: RECORDS_MS, spansMs: SPANS_MS };
    const users = await opened.close(times);
    log.info('stopped');
    const unclosed = [...served, ...users];
    if (unclosed.length > 0) throw new UncleanStop(unclosed);
  }
}
