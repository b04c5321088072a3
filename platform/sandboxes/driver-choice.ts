// The driver that the settings name, ready to use on this machine; what an operator should know of it goes to the log.
import type { PlatformSettings, SandboxSettings, SandboxSpec } from '../../config/snapshot.ts';
import type { Clock } from '../../proxy/base/clock.ts';
import type { Log } from '../../proxy/server/mount.ts';
import { identityOf } from '../../proxy/server/mount.ts';
import { DockerDriver } from './docker-driver.ts';
import { SandboxFailure, type SandboxDriver } from './driver.ts';
import { bubblewrapFor, checkReadablePaths, type Bubblewrap } from './isolation.ts';
import type { ClusterService } from './kubernetes/cluster.ts';
import { KubernetesDriver } from './kubernetes/kubernetes-driver.ts';
import { ProcessDriver } from './process-driver.ts';

interface DriverOptions {
  readonly settings: PlatformSettings;
  readonly dataDir: string;
  readonly configPath: string;
  /** PATH for the commands of sandboxes. */
  readonly path: string;
  readonly cluster: ClusterService;
  readonly clock: Clock;
  readonly log: Log;
  /** Where agent servers report to; null = no address that they reach is known. */
  readonly apiUrl: string | null;
}

/** @throws SandboxFailure */
export async function chosenDriver(options: DriverOptions): Promise<SandboxDriver> {
  const { settings, dataDir, path, cluster, clock, log, apiUrl } = options;
  const { driver, dockerSocket, startTimeoutMs } = settings.sandbox;
  const hasAgents = settings.sandboxSpecs.some(({ conversationsPath }) => conversationsPath !== null);
  if (hasAgents && driver !== 'process' && apiUrl === null)
    log.warn(
      'agent servers in sandboxes are told no address to report to, and are asked instead - set platform.sandbox.webhook_base_url',
    );
  if (settings.kubernetes !== null)
    return new KubernetesDriver({
      settings: settings.kubernetes,
      service: cluster,
      serverId: identityOf(dataDir),
      startTimeoutMs,
      clock,
    });
  if (driver === 'docker') return new DockerDriver({ socket: dockerSocket, serverId: identityOf(dataDir) });
  return processDriver(options, path);
}

async function processDriver(
  { settings, dataDir, configPath, log }: DriverOptions,
  path: string,
): Promise<SandboxDriver> {
  const { isolation, dockerSocket } = settings.sandbox;
  let decided: Promise<Bubblewrap | null> | null = null;
  // Asked for each sandbox, not at the start alone: a reload brings specs, the first one among them.
  const isolate = async (specs: readonly SandboxSpec[]): Promise<Bubblewrap | null> => {
    if (process.platform !== 'linux')
      throw new SandboxFailure('the process driver needs Linux - set platform.sandbox.driver: docker');
    if (isolation !== 'none') checkReadablePaths(specs, { dataDir, configPath, dockerSocket });
    decided ??= chosenIsolation(isolation, path, log);
    try {
      return await decided;
    } catch (error) {
      decided = null; // it may be installed meanwhile
      throw error;
    }
  };
  // Without specs nothing is started, and what does not work here does not matter.
  if (settings.sandboxSpecs.length > 0) await isolate(settings.sandboxSpecs);
  return new ProcessDriver({ dataDir, path, isolate });
}

/** @throws SandboxFailure */
async function chosenIsolation(
  isolation: SandboxSettings['isolation'],
  path: string,
  log: Log,
): Promise<Bubblewrap | null> {
  const bubblewrap = await bubblewrapFor(isolation, path);
  if (isolation === 'auto' && bubblewrap === null)
    log.warn(
      'SANDBOXES ARE NOT ISOLATED: bubblewrap does not work here, so they can read and write what the user of this server ' +
        'can, its configuration, keys and data included - install bubblewrap, or set platform.sandbox.isolation: none to accept it',
    );
  if (bubblewrap !== null && process.getuid?.() === 0)
    log.warn(
      'this server runs as root: its sandboxes have no capability, but to files and sockets that they reach they are root - run it as another user',
    );
  return bubblewrap;
}
