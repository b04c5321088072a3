// A proxy of its own for `throughline sandbox-check`: the sandbox settings and one spec of the operator's configuration,
// in front of a demo gateway that follows a script, with keys and data that last as long as the check.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { Secret } from '../../config/secret.ts';
import type { Environment } from '../../config/load.ts';
import type { PlatformSettings, SandboxSpec } from '../../config/snapshot.ts';
import { asError } from '../base/as-error.ts';
import { startDemoGateway, type DemoGateway } from '../demo-gateway/demo-gateway.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { openLog } from '../observability/logger.ts';
import { readConfig, startProxy, type Applied } from '../server/proxy.ts';
import type { RunningProxy } from '../server/running-proxy.ts';
import { makeDirectory } from '../spend/store/data-directory.ts';
import { commandFor, scriptOf } from './sandbox-script.ts';
import { call, type Received } from './sandbox-trial-client.ts';

/** Name of the only model. */
export const MODEL = 'sandbox-check';

interface TrialOptions {
  readonly configPath: string;
  /** The server's, where its sandboxes have their folders. */
  readonly dataDir: string;
  readonly platform: PlatformSettings;
  readonly spec: SandboxSpec;
  /** Host under which containers and pods reach this machine; null = that of `public_base_url`. */
  readonly address: string | null;
  readonly env: Environment;
}

export interface Trial {
  readonly proxy: RunningProxy;
  readonly demo: DemoGateway;
  readonly spec: SandboxSpec;
  readonly settings: PlatformSettings['sandbox'];
  readonly masterKey: string;
  /** Where the folders of its sandboxes are. */
  readonly dataDir: string;
  /** What no sandbox may read. */
  readonly hidden: readonly string[];
  /** Lines of the server's log so far. */
  readonly log: readonly string[];
  /** One call of the platform interface. @param path below `/api/v1` */
  api(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Received>;
  /** Ends the sandbox and everything else, and removes the data. */
  close(): Promise<void>;
}

/** @throws CannotStart, with what must be changed */
export async function openTrial(options: TrialOptions): Promise<Trial> {
  const { configPath, platform, spec } = options;
  const folder = folderIn(options.dataDir);
  const dataDir = folder.path;
  const hidden = [configPath, join(dataDir, 'platform.db')];
  const [masterKey, sessionKey] = [newKey(), newKey()];
  const log: string[] = [];
  const ends: (() => unknown)[] = [folder.remove];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    const demo = await startDemoGateway({ script: scriptOf(commandFor(hidden)) }).catch((error: Error) => {
      throw new CannotStart(error.message);
    });
    ends.push(() => demo.close());
    const isLocal = platform.sandbox.driver === 'process';
    const port = isLocal ? 0 : await freePort();
    const address = options.address ?? hostOf(platform);
    const proxy = await startProxy({
      configPath,
      dataDir,
      host: isLocal ? '127.0.0.1' : '0.0.0.0',
      port,
      env: passedOn(options.env),
      log: openLog('warn', { write: (line) => void log.push(line.trim()) }).log,
      loaded: withPlatform(ownConfig(dataDir, demo, masterKey), {
        ...platform,
        users: [{ key: new Secret(sessionKey), userId: null }],
        secretKey: new Secret(randomBytes(32).toString('base64')),
        publicBaseUrl: isLocal ? null : `http://${address}:${port}`,
        port: null,
        host: null,
        sandbox: {
          ...platform.sandbox,
          stopWithServer: true,
          idlePauseMs: 0,
          maxRunning: 1,
          webhookBaseUrl: null,
        },
        sandboxSpecs: [spec],
      }),
    });
    ends.push(() => proxy.stop({ minMs: 0, maxMs: 0 }));
    const settings = platform.sandbox;
    const api: Trial['api'] = (method, path, body) => {
      const headers = { 'x-session-api-key': sessionKey };
      return call(`${proxy.url}/api/v1${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    };
    return { proxy, demo, spec, settings, masterKey, dataDir, hidden, log, api, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function ownConfig(dataDir: string, demo: DemoGateway, masterKey: string): Applied {
  const path = join(dataDir, 'gateway.yaml');
  const entry = { model: `litellm_proxy/${MODEL}`, api_base: demo.url, api_key: 'sk-sandbox-check' };
  const file = {
    model_list: [{ model_name: MODEL, litellm_params: entry }],
    general_settings: { master_key: masterKey },
  };
  writeFileSync(path, JSON.stringify(file), { mode: 0o600 }); // JSON is YAML
  return readConfig(path, {});
}

function withPlatform(own: Applied, platform: PlatformSettings): Applied {
  return { ...own, snapshot: { ...own.snapshot, platform } };
}

/** Containers reach this machine by the name that the configuration gives it; in a cluster that name is the server's. */
function hostOf({ publicBaseUrl, sandbox: { driver } }: PlatformSettings): string {
  if (driver === 'process') return '127.0.0.1';
  if (driver === 'docker')
    return publicBaseUrl === null ? 'host.docker.internal' : new URL(publicBaseUrl).hostname;
  throw new CannotStart(
    `sandboxes of the driver ${driver} must reach this check - give --address, the IP of this pod or machine`,
  );
}

/** A folder below the server's data, as its sandboxes have. */
function folderIn(dataDir: string): { readonly path: string; readonly remove: () => void } {
  const sandboxes = join(dataDir, 'sandboxes');
  const made = [sandboxes, dataDir].filter((folder) => !existsSync(folder));
  try {
    makeDirectory(sandboxes);
    const path = mkdtempSync(join(sandboxes, 'check-'));
    const remove = (): void => {
      rmSync(path, { recursive: true, force: true });
      for (const folder of made) removeEmpty(folder);
    };
    return { path, remove };
  } catch (cause) {
    const why = asError(cause).message;
    const fix = `run this as the user of the server, or name another --data-dir than ${dirname(sandboxes)}`;
    throw new CannotStart(`no sandbox can be made there: ${why} - ${fix}`, { cause });
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // something else is in it by now
  }
}

/** Not the keys of the server, nor its outgoing proxy. */
function passedOn(env: Environment): Environment {
  const names = ['PATH', 'KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT'];
  return Object.fromEntries(names.map((name) => [name, env[name]]));
}

function newKey(): string {
  return `sk-${randomBytes(24).toString('hex')}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
