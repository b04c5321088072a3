// Speaks to a Kubernetes API server: its address, who we are there, one request at a time, refusals in words. Knows nothing
// of sandboxes. Credentials are read for each request, because kubelet replaces a service account's token every hour.
import { existsSync } from 'node:fs';
import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { watchedBytes } from '../../../config/read.ts';
import type { KubernetesSettings } from '../../../config/snapshot.ts';
import { SandboxFailure } from '../driver.ts';

/** Of KUBERNETES_SERVICE_HOST and _PORT, which kubelet sets in every pod. */
export interface ClusterService {
  readonly host: string | undefined;
  readonly port: string | undefined;
}

/** An answer whose body is an object of the API; `null` = it was no JSON. */
export interface ClusterReply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>> | null;
}

interface Sent {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below the namespace: `pods/NAME`. */
  readonly path: string;
  readonly body?: unknown;
}

/** Where kubelet puts the credentials of a pod's service account. */
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 4 * 1024 * 1024;
const TRIES = 3;
const PAUSE_MS = 250;

export class Cluster {
  readonly #settings: KubernetesSettings;
  readonly #base: URL;
  readonly namespace: string;

  /** @throws SandboxFailure when it is not said where the API server is */
  constructor(settings: KubernetesSettings, service: ClusterService) {
    this.#settings = settings;
    this.#base = addressOf(settings, service);
    this.namespace = settings.namespace ?? this.#read(`${ACCOUNT}/namespace`, 'kubernetes.namespace');
  }

  /** Tries again where the API server asks for it. @throws SandboxFailure when it does not answer */
  async call(sent: Sent): Promise<ClusterReply> {
    for (let tried = 1; ; tried += 1) {
      const reply = await this.#once(sent);
      if (tried >= TRIES || !isPassing(reply)) return reply;
      await wait(PAUSE_MS * tried);
    }
  }

  /** The object that was made. @throws SandboxFailure in words */
  async create(kind: string, body: unknown): Promise<Readonly<Record<string, unknown>>> {
    // Strict: a field that the server does not know is an error, not dropped.
    const reply = await this.call({ method: 'POST', path: `${kind}?fieldValidation=Strict`, body });
    if (reply.status === 201 && reply.body !== null) return reply.body;
    throw this.refusal(reply, 'create', kind);
  }

  /** null = it is not there. @throws SandboxFailure in words */
  async get(kind: string, name: string): Promise<Readonly<Record<string, unknown>> | null> {
    const reply = await this.call({ method: 'GET', path: `${kind}/${name}` });
    if (reply.status === 404) return null;
    if (reply.status === 200 && reply.body !== null) return reply.body;
    throw this.refusal(reply, 'read', kind);
  }

  /** What is not there is no error. @throws SandboxFailure in words */
  async remove(kind: string, name: string): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' };
    const reply = await this.call({ method: 'DELETE', path: `${kind}/${name}`, body });
    if (reply.status !== 404 && reply.status !== 200 && reply.status !== 202)
      throw this.refusal(reply, 'delete', kind);
  }

  /** In words for people; the API server's own are the cause. */
  refusal({ status, body }: ClusterReply, verb: string, kind: string): SandboxFailure {
    const said = typeof body?.['message'] === 'string' ? body['message'] : '';
    const cause = new Error(`the API server answered ${status} to ${verb} ${kind}: ${said.slice(0, 1_000)}`);
    return new SandboxFailure(this.#inWords(status, said, verb, kind), { cause });
  }

  #inWords(status: number, said: string, verb: string, kind: string): string {
    if (status === 401) return 'the Kubernetes API server does not take the token of this server';
    if (status === 403 && said.includes('exceeded quota'))
      return `the quota of the namespace ${this.namespace} is used up${partAfter(said, 'exceeded quota')}; delete a sandbox, or wait`;
    if (status === 403 && said.includes('violates PodSecurity'))
      return `the namespace ${this.namespace} does not admit such a pod${partAfter(said, 'violates PodSecurity')}`;
    if (status === 403)
      return `this server may not ${verb} ${kind} in the namespace ${this.namespace}; its Kubernetes role lacks that`;
    if (status === 404) return `the namespace ${this.namespace} is not there`;
    if (status === 409)
      return `Kubernetes has ${kind} of that name already, or it is being deleted; try again`;
    if (status === 400 || status === 422)
      return `Kubernetes refuses ${kind} of this spec as invalid; the log has its words`;
    return `the Kubernetes API server could not ${verb} ${kind} (status ${status})`;
  }

  async #once(sent: Sent): Promise<ClusterReply> {
    try {
      return await this.#send(sent);
    } catch (cause) {
      if (cause instanceof SandboxFailure) throw cause;
      throw new SandboxFailure('the Kubernetes API server does not answer', { cause });
    }
  }

  #send({ method, path, body }: Sent): Promise<ClusterReply> {
    const { protocol, hostname, port, pathname } = this.#base;
    const payload = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const token = this.#token();
    const options = {
      method,
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      path: `${pathname.replace(/\/$/, '')}/api/v1/namespaces/${this.namespace}/${path}`,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'user-agent': 'throughline',
        ...(payload === null ? {} : { 'content-type': 'application/json', 'content-length': payload.length }),
      },
      agent: false as const,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    };
    return new Promise((resolve, reject) => {
      const req = protocol === 'http:' ? plain(options) : secure({ ...options, ...this.#authority() });
      req.on('error', reject);
      req.on('response', (res) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        res.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_BYTES) res.destroy(new Error(`the response is larger than ${MAX_BYTES} bytes`));
          else chunks.push(chunk);
        });
        res.on('end', () => resolve({ status: res.statusCode ?? 0, body: objectIn(Buffer.concat(chunks)) }));
        res.on('error', reject);
      });
      req.end(payload ?? undefined);
    });
  }

  #token(): string {
    const { token, tokenFile } = this.#settings;
    return token === null ? this.#read(tokenFile, 'kubernetes.token') : token.reveal();
  }

  /** The cluster's own authority in place of the public ones; without a file of it those of the system count. */
  #authority(): { readonly ca?: string } {
    const { caFile } = this.#settings;
    const file = caFile ?? `${ACCOUNT}/ca.crt`;
    if (caFile === null && !existsSync(file)) return {};
    return { ca: this.#read(file, 'kubernetes.ca_file') };
  }

  #read(file: string, setting: string): string {
    try {
      return watchedBytes(file).toString('utf8').trim();
    } catch (cause) {
      const text = `${file} cannot be read: run in a pod with its service account's token mounted, or set platform.sandbox.${setting}`;
      throw new SandboxFailure(text, { cause });
    }
  }
}

function addressOf({ apiServer }: KubernetesSettings, { host, port }: ClusterService): URL {
  if (apiServer !== null) return new URL(apiServer);
  if (host === undefined || host === '')
    throw new SandboxFailure(
      'this server runs in no Kubernetes pod (KUBERNETES_SERVICE_HOST is not set) - set platform.sandbox.kubernetes.api_server',
    );
  return new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port ?? '443'}`);
}

/** Overload, a restart of the API server, and writes to one quota at the same time pass by themselves. */
const isPassing = ({ status, body }: ClusterReply): boolean =>
  status === 429 || status === 503 || (status === 409 && body?.['reason'] === 'Conflict');

function partAfter(said: string, words: string): string {
  const rest = said.slice(said.indexOf(words) + words.length).slice(0, 300);
  return rest.startsWith(':') ? rest : `: ${rest.trim()}`;
}

function objectIn(bytes: Buffer): ClusterReply['body'] {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
