// The rig of the end-to-end tests: a real proxy in front of a real demo gateway, on free ports and in its own folder.
// Shut down when the test ends.
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  startDemoGateway,
  type DemoGateway,
  type DemoOptions,
  type SeenRequest,
} from '../../proxy/demo-gateway/demo-gateway.ts';
import type { Clock } from '../../proxy/base/clock.ts';
import { keepThreads } from '../../proxy/base/worker-rpc.ts';
import { startProxy } from '../../proxy/server/proxy.ts';
import type { RunningProxy } from '../../proxy/server/running-proxy.ts';
import { openLog } from '../../proxy/observability/logger.ts';
import { Estimator } from '../../proxy/spend/estimate/estimator.ts';
import type { ValkeyTimes } from '../../proxy/access/valkey/valkey-link.ts';
import { PATIENCE_MS } from './patience.ts';
import { SHARED_ESTIMATOR } from './shared-estimator.ts';
import type { Teardown } from './process-cleanup.ts';

keepThreads(); // a rig costs half as much CPU with the threads of the one before

export const KEY = 'sk-test-master-key';

/** The 250 ms of a server are less than what a busy machine takes for an answer now and then; then it would go on alone. */
const PATIENT_WITH_VALKEY: Partial<ValkeyTimes> = { answerMs: PATIENCE_MS };

export interface RigOptions {
  /** YAML; default: `defaultConfig`. */
  readonly config?: (demo: DemoGateway) => string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly demo?: DemoOptions;
  /** Keep a folder over two rigs to test a restart. */
  readonly folder?: string;
  /** What it listens on. Default: 127.0.0.1. */
  readonly host?: string;
  /** The proxy's time. Default: that of the machine. */
  readonly clock?: Clock;
  /** Resolves the names of upstreams of runtime models. */
  readonly lookup?: LookupFunction;
  /** Of the built console. Default: the one of this repository. */
  readonly consoleFolder?: string;
  /** Of the proxy's dealings with Valkey. Default: an answer may take as long as the machine is busy. */
  readonly valkeyTimes?: Partial<ValkeyTimes>;
  /** Longest count of tokens. Default: as long as it takes; short where an end must not wait for it. */
  readonly countWithinMs?: number;
}

export interface Rig {
  readonly url: string;
  readonly port: number;
  readonly demo: DemoGateway;
  readonly gateway: RunningProxy;
  readonly folder: string;
  readonly configPath: string;
  /** Log records so far. */
  readonly log: readonly Record<string, unknown>[];
  /** Settles with the first log record, past or to come, that fits: a request's line is written after its row. */
  logged(
    fits: (line: Readonly<Record<string, unknown>>) => boolean,
  ): Promise<Readonly<Record<string, unknown>>>;
  /** Writes another configuration and reloads it. */
  reconfigure(text: string): Promise<void>;
  /** Rows of the store, oldest first, in the shape of the API. */
  rows(): Promise<Row[]>;
  stop(): Promise<void>;
}

export type Row = Readonly<Record<string, unknown>>;

/** Both faces, forwarding on, with the key of these tests. */
export function defaultConfig(demo: DemoGateway, more = ''): string {
  return `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-upstream-secret }
  - model_name: compat
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: sk-upstream-secret }
  - model_name: "demo-*"
    litellm_params: { model: "litellm_proxy/demo-*", api_base: "${demo.url}", api_key: sk-upstream-secret }
  - model_name: "compat-*"
    litellm_params: { model: "openai/acme/demo-*", api_base: "${demo.url}/compat/v1", api_key: sk-upstream-secret }
general_settings:
  master_key: ${KEY}
  forward_client_headers_to_llm_api: true
${more}`;
}

export async function startRig(t: Teardown, options: RigOptions = {}): Promise<Rig> {
  const demo = await startDemoGateway(options.demo ?? {});
  t.teardown(() => demo.close()); // also when the proxy refuses to start
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'throughline-'));
  const configPath = join(folder, 'gateway.yaml');
  writeFileSync(configPath, (options.config ?? defaultConfig)(demo));
  const log: Record<string, unknown>[] = [];
  const lines = new EventEmitter();
  const sink = {
    write: (line: string): void => {
      log.push(JSON.parse(line) as Record<string, unknown>);
      lines.emit('line');
    },
  };
  const proxy = await startProxy({
    configPath,
    dataDir: join(folder, 'data'),
    host: options.host ?? '127.0.0.1',
    port: 0,
    env: options.env ?? {},
    log: openLog('info', sink).log,
    parts: {
      estimator:
        options.countWithinMs === undefined
          ? SHARED_ESTIMATOR
          : new Estimator({ waitMs: options.countWithinMs }),
      valkeyTimes: options.valkeyTimes ?? PATIENT_WITH_VALKEY,
      accessWithinMs: PATIENCE_MS,
      ...(options.clock === undefined ? {} : { clock: options.clock }),
      ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
      ...(options.consoleFolder === undefined ? {} : { consoleFolder: options.consoleFolder }),
    },
  });
  const stop = async (): Promise<void> => {
    demo.release();
    await proxy.stop({ minMs: 0, maxMs: 0 });
    await demo.close();
  };
  t.teardown(async () => {
    await stop();
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  });
  return {
    url: proxy.url,
    port: proxy.port,
    demo,
    gateway: proxy,
    folder,
    configPath,
    log,
    logged: async (fits) => {
      for (;;) {
        const found = log.find(fits);
        if (found !== undefined) return found;
        await once(lines, 'line');
      }
    },
    reconfigure: async (text) => {
      writeFileSync(configPath, text);
      await proxy.reload();
    },
    rows: async () => {
      const answer = await send(proxy.url, 'GET', '/spend/logs');
      return (JSON.parse(answer.text) as Row[]).toReversed();
    },
    stop,
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
  /** The connection broke before the answer was complete. */
  readonly broken: boolean;
}

const bytesOf = (body: unknown): Buffer => (Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)));

/** One request on a connection of its own, with the key of these tests unless `headers` has another credential. */
export function send(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string | string[]>> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const payload = body === undefined ? null : bytesOf(body);
    const all = {
      authorization: `Bearer ${KEY}`,
      ...(payload === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(payload.length) }),
      ...headers,
    };
    const req = httpRequest(`${url}${path}`, { method, headers: all, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      const end = (broken: boolean): void => {
        const whole = Buffer.concat(chunks);
        const { statusCode, headers: got, rawHeaders } = res;
        resolve({
          status: statusCode as number,
          headers: got,
          rawHeaders,
          body: whole,
          text: whole.toString(),
          broken,
        });
      };
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () => end(false));
      res.on('error', () => end(true));
    });
    req.on('error', reject);
    req.end(payload ?? undefined);
  });
}

/** A chat call. */
export function chat(
  rig: Pick<Rig, 'url'>,
  model: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const body = { model, messages: [{ role: 'user', content: 'one two three' }], ...more };
  return send(rig.url, 'POST', '/v1/chat/completions', body, headers);
}

/** The row of an answered request, found by the call id in its head. */
export async function rowOf(rig: Rig, answer: Pick<Answer, 'headers'>): Promise<Row> {
  const id = String(answer.headers['x-litellm-call-id']);
  const { text } = await send(rig.url, 'GET', `/spend/logs?request_id=${id}`);
  const [row] = JSON.parse(text) as Row[];
  if (row === undefined) throw new Error(`no row has the request id ${id}`);
  return row;
}

/** The row of a session's one request, once it has ended. */
export async function rowOfSession(rig: Rig, session: string): Promise<Row> {
  await rig.logged((line) => line['msg'] === 'request' && line['session'] === session);
  const row = (await rig.rows()).find((one) => one['session_id'] === session);
  if (row === undefined) throw new Error(`no row of ${session}`);
  return row;
}

/** The newest request that the demo gateway has seen. */
export function lastSeen({ demo }: Rig): SeenRequest {
  const last = demo.seen.at(-1);
  if (last === undefined) throw new Error('the demo gateway has seen no request');
  return last;
}

/** Sends bytes as they are and collects everything until the peer closes. */
export function raw(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      text += part;
    });
    socket.on('error', () => resolve(text));
    socket.on('close', () => resolve(text));
  });
}

/** Value of a header in a flat raw list, by lower-case name; all of them, joined by `|`. */
export function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);
  return values.length === 0 ? undefined : values.join('|');
}

/** The value of a metric. @param name a regular expression, with its labels */
export const metric = async (rig: Pick<Rig, 'url'>, name: string): Promise<string | undefined> =>
  new RegExp(`^${name} (.*)$`, 'm').exec((await send(rig.url, 'GET', '/metrics')).text)?.[1];

/** Settles when so many calls wait. */
export async function queued(rig: Rig, count: number): Promise<void> {
  for (;;) if ((await metric(rig, 'throughline_queued')) === String(count)) return;
}
