// The composition root: puts the house together, once, and takes it apart in the right order.
import { isIP } from 'node:net';
import { Catalogue } from '../config/catalogue.ts';
import type { Issue } from '../config/issue.ts';
import { loadConfig, type Environment, type RuntimeModel } from '../config/load.ts';
import { Secret } from '../config/secret.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { Platform } from '../platform/wing.ts';
import { systemClock } from './base/clock.ts';
import { CallIds } from './base/ids.ts';
import { Changes } from './changes.ts';
import { openLedger, type Ledger } from './ledger/ledger.ts';
import type { LedgerEvent } from './ledger/ledger-event.ts';
import { VERSION, type House } from './live.ts';
import type { Log } from './observe/logger.ts';
import { Metrics } from './observe/metrics.ts';
import { ProxyServer } from './server.ts';
import { Deadlines } from './upstream/deadlines.ts';
import { Pools } from './upstream/pools.ts';
import { ConfigWatcher } from './watch.ts';

export interface GatewayOptions {
  readonly configPath: string;
  readonly dataDir: string;
  /** Default: all addresses with a master key, loopback without. */
  readonly host?: string | undefined;
  /** 0 = any free port. */
  readonly port: number;
  readonly env: Environment;
  readonly log: Log;
}

/** The configuration cannot be served; every issue at once. */
export class ConfigRefused extends Error {
  override readonly name = 'ConfigRefused';
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(`the configuration has ${issues.length} ${issues.length === 1 ? 'issue' : 'issues'}`);
    this.issues = issues;
  }
}

/** Something about the start itself that the operator must mend. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}

const RECORDS_MS = 10_000;

/** A running proxy. */
export class Gateway {
  readonly host: string;
  readonly port: number;
  readonly changes: Changes;
  readonly #server: ProxyServer;
  readonly #ledger: Ledger;
  readonly #pools: Pools;
  readonly #watcher: ConfigWatcher;
  readonly #platform: Platform | null;
  readonly #log: Log;
  #stopping: Promise<void> | null = null;

  constructor(parts: {
    address: { host: string; port: number };
    changes: Changes;
    server: ProxyServer;
    ledger: Ledger;
    pools: Pools;
    watcher: ConfigWatcher;
    platform: Platform | null;
    log: Log;
  }) {
    this.host = parts.address.host;
    this.port = parts.address.port;
    this.changes = parts.changes;
    this.#server = parts.server;
    this.#ledger = parts.ledger;
    this.#pools = parts.pools;
    this.#watcher = parts.watcher;
    this.#platform = parts.platform;
    this.#log = parts.log;
  }

  /** `http://host:port`, with a host that a client can use. */
  get url(): string {
    const shown = this.host === '0.0.0.0' || this.host === '::' ? '127.0.0.1' : this.host;
    return `http://${isIP(shown) === 6 ? `[${shown}]` : shown}:${this.port}`;
  }

  /** Reads the configuration again. */
  async reload(): Promise<void> {
    try {
      const { result } = await this.changes.reload();
      if (result === 'applied') this.#followFiles();
    } catch (err) {
      this.#log.error({ err }, 'reload failed; the old configuration serves on'); // a bug of ours must not end the process
    }
  }

  /** Ends in order: readiness, running requests, records, store. A second call cuts the running requests. */
  stop(drainMs = this.changes.live.snapshot.drainMs): Promise<void> {
    if (this.#stopping === null) this.#stopping = this.#stop(drainMs);
    else this.#server.cut();
    return this.#stopping;
  }

  #followFiles(): void {
    const { snapshot } = this.changes.live;
    this.#watcher.follow(snapshot.files);
    this.#ledger.reconfigure(snapshot.journal);
    if (this.#platform !== null) this.#platform.reconfigure(snapshot.platform);
    else if (snapshot.platform !== null)
      this.#log.warn('platform: was added to the configuration; it takes effect after a restart');
  }

  async #stop(drainMs: number): Promise<void> {
    this.#log.info({ in_flight: this.#server.inFlight, drain_ms: drainMs }, 'stopping');
    this.#watcher.close();
    await this.#server.drain(drainMs);
    await new Promise<void>((resolve) => setImmediate(resolve)); // requests that were cut settle in this turn
    await this.#platform?.close();
    await this.#ledger.close(RECORDS_MS);
    await this.#pools.destroy();
    this.#log.info('stopped');
  }
}

/** Starts a proxy. @throws ConfigRefused, CannotStart. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { env, log, configPath } = options;
  const first = loadConfig(configPath, env);
  if (!first.ok) throw new ConfigRefused(first.issues);
  const host = hostFor(first.snapshot, options.host);
  const saltKey = env['LITELLM_SALT_KEY'];
  const ledger = await openLedger({
    dataDir: options.dataDir,
    settings: first.snapshot.journal,
    saltKey: saltKey === undefined || saltKey === '' ? first.snapshot.masterKey : new Secret(saltKey),
    clock: systemClock,
    onEvent: (event) => logEvent(log, event),
  }).catch((error: Error) => {
    throw new CannotStart(error.message);
  });
  const platform = await openWing(first.snapshot, options, ledger);
  let server: ProxyServer | null = null;
  const pools = new Pools({
    httpProxy: env['HTTP_PROXY'],
    httpsProxy: env['HTTPS_PROXY'],
    noProxy: env['NO_PROXY'],
  });
  const metrics = new Metrics(
    () => ledger.status,
    () => server?.inFlight ?? 0,
    VERSION,
  );
  if (platform !== null) metrics.platform(() => platform.figures);
  const house: House = {
    clock: systemClock,
    ids: new CallIds(),
    ledger,
    log,
    metrics,
    unrouted: metrics.forModel(''),
    deadlines: new Deadlines(systemClock.mono),
    pools,
    catalogue: new Catalogue(),
    random: Math.random,
    callers: platform?.callers ?? null,
    wing: platform,
  };
  try {
    const { loaded, runtime } = await withStoredModels(configPath, env, first, ledger);
    const changes = new Changes(configPath, env, house, loaded, runtime, !isLoopback(host));
    server = new ProxyServer(changes);
    const address = await server.listen(host, options.port).catch((error: NodeJS.ErrnoException) => {
      throw new CannotStart(listenProblem(error, host, options.port));
    });
    const watcher: ConfigWatcher = new ConfigWatcher(() => void gateway.reload());
    const gateway: Gateway = new Gateway({
      address: { host, port: address.port },
      changes,
      server,
      ledger,
      pools,
      watcher,
      platform,
      log,
    });
    platform?.serve(gateway.url);
    watcher.follow(loaded.snapshot.files);
    return gateway;
  } catch (error) {
    await platform?.close();
    await ledger.close(0);
    await pools.destroy();
    throw error;
  }
}

/** The platform wing, when it is configured; its code is loaded only then. */
async function openWing(
  snapshot: Snapshot,
  options: GatewayOptions,
  ledger: Ledger,
): Promise<Platform | null> {
  if (snapshot.platform === null) return null;
  try {
    const { openPlatform } = await import('../platform/wing.ts');
    return await openPlatform({
      settings: snapshot.platform,
      dataDir: options.dataDir,
      path: options.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
      spend: ledger.reader,
      clock: systemClock,
      log: options.log,
    });
  } catch (error) {
    await ledger.close(0);
    throw new CannotStart(`the platform interface cannot start: ${(error as Error).message}`);
  }
}

type Applied = Extract<ReturnType<typeof loadConfig>, { ok: true }>;

async function withStoredModels(
  path: string,
  env: Environment,
  first: Applied,
  ledger: Ledger,
): Promise<{ loaded: Applied; runtime: readonly RuntimeModel[] }> {
  if (!first.snapshot.storeModelInDb) return { loaded: first, runtime: [] };
  const runtime = await ledger.models.listModels().catch((error: Error) => {
    throw new CannotStart(`the stored models cannot be read: ${error.message}`);
  });
  if (runtime.length === 0) return { loaded: first, runtime };
  const loaded = loadConfig(path, env, runtime);
  if (!loaded.ok) throw new ConfigRefused(loaded.issues);
  return { loaded, runtime };
}

/** `127.example.com` is a name like any other. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/** Without a key only this machine may call, unless the operator says otherwise. */
function hostFor(snapshot: Snapshot, wanted: string | undefined): string {
  const guarded = snapshot.masterKey !== null || snapshot.allowUnauthenticated;
  if (wanted === undefined) return guarded ? '0.0.0.0' : '127.0.0.1';
  if (guarded || isLoopback(wanted)) return wanted;
  throw new CannotStart(
    `no master key is configured, so ${wanted} would be open to everybody - set general_settings.master_key ` +
      `(or PROXY_MASTER_KEY), or general_settings.allow_unauthenticated: true, or --host 127.0.0.1`,
  );
}

function listenProblem(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === 'EADDRINUSE')
    return `port ${port} of ${host} is in use - stop what listens there, or use --port`;
  if (error.code === 'EACCES')
    return `port ${port} needs privileges that this process lacks - use --port 4000`;
  return `cannot listen on ${host}:${port} (${error.code ?? error.message}) - check --host and --port`;
}

function logEvent(log: Log, event: LedgerEvent): void {
  log[event.level]({ event: event.name }, event.message);
}
