// The composition root: opens the services, puts the first configuration into service, and listens; running-proxy.ts shuts all
// of it down.
import { loadConfig, type Environment, type Loaded } from '../../config/load.ts';
import { warmBudgets } from '../access/budgets/warm-budgets.ts';
import type { Services } from '../active-config/services.ts';
import { workerStatus, type WorkerDuties, type WorkerRole } from '../active-config/cluster-peers.ts';
import { ConfigReloader } from '../active-config/config-reloader.ts';
import { processReport } from '../active-config/process-report.ts';
import { ConfigRefused } from '../errors/cannot-start.ts';
import { hostFor, isLoopback } from './addresses.ts';
import { ConfigWatcher } from './config-watcher.ts';
import { HealthChecks } from './health-checks.ts';
import { listenOn, wantedAddresses, type Listening } from './listeners.ts';
import { ModelDiscovery } from './model-discovery.ts';
import { ModelWatcher } from './model-watcher.ts';
import { openServices, type ServiceOptions } from './open-services.ts';
import { OpenedParts } from './opened-parts.ts';
import { recordsOf } from './recorded-calls.ts';
import { RunningProxy, type Opened } from './running-proxy.ts';
import { ProxyServer } from './server.ts';
import { withStoredModels } from './stored-models.ts';
import { troubled } from './troubled-deployments.ts';

/** What one process is started with. */
export interface ProxyOptions extends ServiceOptions {
  /** Default: all addresses with a master key, loopback without. */
  readonly host?: string | undefined;
  /** 0 = any free port. */
  readonly port: number;
  /** The configuration, if it has been read already. Default: read it now. */
  readonly loaded?: Applied | undefined;
}

/** A configuration that can be served. */
export type Applied = Extract<Loaded, { ok: true }>;

/** Starts a proxy. @throws ConfigRefused, CannotStart. */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { env, log, worker } = options;
  const first = options.loaded ?? readConfig(options.configPath, env);
  const { snapshot } = first;
  const host = hostFor(snapshot, options.host);
  let reloader: ConfigReloader | null = null;
  let server: ProxyServer | null = null;
  const parts = new OpenedParts(log);
  try {
    const later = { active: () => reloader?.active ?? null, inFlight: () => server?.inFlight ?? 0 };
    const { services, opened } = await openServices(options, snapshot, later, parts);
    const main = { host, port: options.port };
    const wanted = wantedAddresses(snapshot, main, env, worker?.welcome ?? null);
    const configs = await firstConfig(options, first, services, wanted);
    reloader = configs;
    worker?.answer(answersOf(worker, configs));
    await warmBudgets(services.budgets, log);
    server = new ProxyServer(configs, wanted, options.parts?.consoleFolder ?? null);
    const listening = await listenOn(server, wanted);
    const { metrics } = services;
    metrics.watchDeployments(() => troubled(configs.active));
    metrics.watchLoad(services);
    services.loopLag.start();
    services.recentCalls.start();
    return followed(options, { parts, opened, configs, server, wanted, listening });
  } catch (error) {
    server?.close();
    await parts.close();
    throw error;
  }
}

/** The first configuration, with the models that the store adds to the file. @throws ConfigRefused, CannotStart */
async function firstConfig(
  { configPath, env, worker }: ProxyOptions,
  first: Applied,
  services: Services,
  { main, admin }: Listening,
): Promise<ConfigReloader> {
  const { ledger } = services;
  const served = worker?.welcome.served ?? null;
  // The other workers start when the first one serves: only that one creates or migrates the store.
  if (worker !== undefined && served === null) await ledger.models.listModels().catch(() => undefined);
  const { loaded, runtime } =
    served === null ? await withStoredModels(env, first, ledger) : { loaded: first, runtime: served.runtime };
  return new ConfigReloader({
    path: configPath,
    env,
    services,
    loaded,
    runtime,
    isExposed: [main, admin].some((one) => one !== null && !isLoopback(one.host)),
    state: served?.state ?? null,
  });
}

interface Serving {
  readonly parts: OpenedParts;
  readonly opened: Opened;
  readonly configs: ConfigReloader;
  readonly server: ProxyServer;
  readonly wanted: Listening;
  readonly listening: Listening;
}

/** The proxy that listens, and what goes on beside its requests: looks at files, health, gateways and the store. */
function followed(
  { worker, log }: ProxyOptions,
  { parts, opened, configs, server, wanted, listening }: Serving,
): RunningProxy {
  const { ledger, alerts, platform } = opened;
  const watcher = worker === undefined ? new ConfigWatcher((): void => void proxy.reload()) : null;
  const checks = new HealthChecks(() => configs.active);
  const discovery = new ModelDiscovery(() => configs.active);
  // One worker is enough: it tells the others.
  const models = (worker?.welcome.number ?? 1) === 1 ? new ModelWatcher(ledger.models, configs) : null;
  const proxy: RunningProxy = new RunningProxy({
    ...opened,
    opened: parts,
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
  models?.start();
  platform?.serve(proxy.url, proxy.platformUrl ?? proxy.url);
  watcher?.follow(configs.state.read);
  return proxy;
}

/** What this worker tells the supervisor. */
function answersOf({ welcome }: WorkerRole, configs: ConfigReloader): WorkerDuties {
  const { ledger, access, counters, metrics, brake } = configs.active.services;
  return {
    adopt: (shared) => configs.adopt(shared),
    status: () => workerStatus(ledger, access, counters),
    labels: () => metrics.labelWishes(),
    figures: (named) => metrics.figures(named),
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
