// Sandboxes as containers of a Docker Engine, spoken to over its socket (API 1.41, Docker 20.10 and later). Containers
// carry labels by which the next server finds them. The image must be there: nothing is pulled on a request.
import { hash } from 'node:crypto';
import { sendRequest, type RuntimeResponse } from './http-request.ts';
import {
  filled,
  SandboxFailure,
  type SandboxCondition,
  type SandboxDriver,
  type SandboxPlace,
  type SandboxPlan,
} from './driver.ts';

interface DockerDriverOptions {
  readonly socket: string;
  /**
   * Of this server and no other; stays over restarts. The path of its data directory would not do: servers in containers have
   * theirs at the same one.
   */
  readonly serverId: string;
}

const API = '/v1.41';
const TIMEOUT_MS = 30_000;
const ID_LABEL = 'throughline.sandbox.id';
const HOME_LABEL = 'throughline.sandbox.home';
/** The folder of a sandbox inside its container. */
const SANDBOX_DIR = '/sandbox';
const NANO = 1e9;
const MIB = 1024 * 1024;

interface Inspected {
  readonly State?: { readonly Status?: string; readonly ExitCode?: number; readonly Error?: string };
  readonly NetworkSettings?: {
    readonly Ports?: Readonly<Record<string, readonly { readonly HostPort?: string }[] | null>>;
  };
}

export class DockerDriver implements SandboxDriver {
  readonly #socket: string;
  readonly #home: string;

  constructor(options: DockerDriverOptions) {
    this.#socket = options.socket;
    this.#home = hash('sha256', options.serverId, 'hex').slice(0, 16);
  }

  async start({ id, spec, env }: SandboxPlan): Promise<SandboxPlace> {
    const values = { port: String(spec.port), sandbox_dir: SANDBOX_DIR, sandbox_id: id };
    const workingDir = filled(spec.workingDir, values);
    const port = `${spec.port}/tcp`;
    const { limits } = spec;
    const created = await this.#call('POST', `/containers/create?name=throughline-sandbox-${id}`, {
      Image: spec.image,
      ...(spec.command.length === 0 ? {} : { Cmd: spec.command.map((part) => filled(part, values)) }),
      Env: [...spec.initialEnv, ...env].map(([name, value]) => `${name}=${filled(value.reveal(), values)}`),
      WorkingDir: workingDir,
      Labels: { [ID_LABEL]: id, [HOME_LABEL]: this.#home },
      ExposedPorts: { [port]: {} },
      HostConfig: {
        PortBindings: { [port]: [{ HostIp: '127.0.0.1', HostPort: '' }] },
        Init: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        ...(limits.memoryMb === null
          ? {}
          : { Memory: limits.memoryMb * MIB, MemorySwap: limits.memoryMb * MIB }),
        ...(limits.cpus === null ? {} : { NanoCpus: Math.round(limits.cpus * NANO) }),
        ...(limits.processes === null ? {} : { PidsLimit: limits.processes }),
        ...(limits.openFiles === null
          ? {}
          : { Ulimits: [{ Name: 'nofile', Soft: limits.openFiles, Hard: limits.openFiles }] }),
      },
    });
    if (created.status === 404)
      throw new SandboxFailure(`the image ${String(spec.image)} is not on the Docker Engine; pull it there`);
    demand(created, 201, 'create the container');
    const { Id: handle } = JSON.parse(created.text) as { readonly Id: string };
    const started = await this.#call('POST', `/containers/${handle}/start`);
    if (started.status !== 204 && started.status !== 304) {
      await this.#call('DELETE', `/containers/${handle}?force=1&v=1`);
      demand(started, 204, 'start the container');
    }
    const hostPort = Number((await this.#inspect(handle))?.NetworkSettings?.Ports?.[port]?.[0]?.HostPort);
    if (!Number.isInteger(hostPort) || hostPort <= 0) {
      await this.#call('DELETE', `/containers/${handle}?force=1&v=1`);
      throw new SandboxFailure('the container ended at once, or its port was not published');
    }
    return { handle, url: `http://127.0.0.1:${hostPort}`, port: hostPort, workingDir };
  }

  async inspect(_: string, place: SandboxPlace): Promise<SandboxCondition> {
    const found = await this.#inspect(place.handle);
    const status = found?.State?.Status;
    switch (status) {
      case 'running':
      case 'created':
      case 'restarting':
        return { state: 'running', detail: '' };
      case 'paused':
        return { state: 'paused', detail: '' };
      case 'exited':
      case 'dead':
        return { state: 'exited', detail: `the container ended with code ${found?.State?.ExitCode ?? '?'}` };
      default:
        return { state: 'gone', detail: 'the container is not there any more' };
    }
  }

  async pause(_: string, place: SandboxPlace): Promise<void> {
    demand(await this.#call('POST', `/containers/${place.handle}/pause`), 204, 'pause the container');
  }

  async resume(_: string, place: SandboxPlace): Promise<void> {
    demand(await this.#call('POST', `/containers/${place.handle}/unpause`), 204, 'resume the container');
  }

  async remove(id: string, place: SandboxPlace | null): Promise<void> {
    const handle = place?.handle ?? `throughline-sandbox-${id}`;
    const removed = await this.#call('DELETE', `/containers/${handle}?force=1&v=1`);
    if (removed.status !== 404 && removed.status !== 409) demand(removed, 204, 'remove the container'); // 409: is being removed
  }

  async removeOrphans(known: ReadonlySet<string>): Promise<readonly string[]> {
    const filters = encodeURIComponent(JSON.stringify({ label: [`${HOME_LABEL}=${this.#home}`] }));
    const listed = await this.#call('GET', `/containers/json?all=1&filters=${filters}`);
    demand(listed, 200, 'list the containers');
    const containers = JSON.parse(listed.text) as readonly {
      readonly Labels?: Readonly<Record<string, string>>;
    }[];
    const ids = containers.map(({ Labels }) => Labels?.[ID_LABEL] ?? '');
    const strays = ids.filter((id) => id !== '' && !known.has(id));
    for (const id of strays) await this.remove(id, null);
    return strays;
  }

  async #inspect(handle: string): Promise<Inspected | null> {
    const found = await this.#call('GET', `/containers/${handle}/json`);
    if (found.status === 404) return null;
    demand(found, 200, 'look at the container');
    return JSON.parse(found.text) as Inspected;
  }

  async #call(method: string, path: string, body?: unknown): Promise<RuntimeResponse> {
    try {
      const to = this.#socket;
      return await sendRequest({ to, method, path: `${API}${path}`, body, timeoutMs: TIMEOUT_MS });
    } catch (cause) {
      throw new SandboxFailure('the Docker Engine does not answer', { cause });
    }
  }
}

function demand(response: RuntimeResponse, status: number, what: string): void {
  if (response.status === status) return;
  const cause = new Error(`${response.status} ${response.text.slice(0, 500)}`);
  throw new SandboxFailure(`the Docker Engine could not ${what}`, { cause });
}
