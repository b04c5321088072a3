// A real proxy as a process, with the platform interface and one sandbox spec, in front of a demo gateway that follows a
// script: started, killed and started again on the same data and port.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { markedProcesses } from '../../../platform/sandboxes/process-table.ts';
import type { Script } from '../../../proxy/demo-gateway/compose.ts';
import { startDemoGateway, type DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { startCli, type Cli } from '../../support/cli.ts';
import { RUN, RUN_MARK } from '../../support/process-cleanup.ts';
import { until, type InteropRun } from './suite.ts';

const MASTER_KEY = 'sk-interop-master';
const SESSION_KEY = 'sk-interop-session';
const PATIENCE_MS = 3_600_000;
const LOG_CHARS = 4_000;

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
/** Names of the model list: with a slash, of a provider, with the prefix of an agent's spelling. */
export const MODELS: readonly string[] = [
  'demo',
  'company/large',
  'claude-sonnet-4-5',
  'gpt-4o-mini',
  'litellm_proxy/odd',
];

export type Json = Readonly<Record<string, unknown>>;

/** A sandbox that runs, as the interface tells of it. */
export interface Sandbox {
  readonly id: string;
  readonly url: string;
  readonly key: string;
}

/** A conversation that is READY. */
export interface Conversation {
  /** With dashes. */
  readonly id: string;
  readonly sandbox: Sandbox;
  readonly readyMs: number;
}

interface ServerOptions {
  readonly isolation: 'bubblewrap' | 'none';
  /** YAML of one spec, as an object; null = no sandboxes. */
  readonly spec: Json | null;
  readonly script: Script;
}

export class PlatformServer {
  readonly demo: DemoGateway;
  readonly configPath: string;
  readonly dataDir: string;
  readonly #run: InteropRun;
  readonly #port: number;
  #cli: Cli;

  private constructor(run: InteropRun, demo: DemoGateway, folder: string, port: number, cli: Cli) {
    this.#run = run;
    this.demo = demo;
    this.configPath = join(folder, 'gateway.yaml');
    this.dataDir = join(folder, 'data');
    this.#port = port;
    this.#cli = cli;
  }

  static async start(run: InteropRun, { isolation, spec, script }: ServerOptions): Promise<PlatformServer> {
    const demo = await startDemoGateway({ script });
    run.teardown(() => demo.close());
    const folder = run.folder();
    const entry = (name: string, model: string, base: string): Json => ({
      model_name: name,
      litellm_params: { model, api_base: `${demo.url}${base}`, api_key: 'sk-upstream' },
    });
    const initialEnv = { ...(spec?.['initial_env'] as Json | undefined), [RUN_MARK]: RUN };
    const sandboxes = {
      sandbox: { isolation, start_timeout_seconds: 240, max_running: 3 },
      sandbox_specs: [{ id: 'interop', ...spec, initial_env: initialEnv }],
    };
    const config = {
      model_list: [
        entry('demo', 'litellm_proxy/demo', ''),
        entry('company/large', 'openai/acme/large', '/compat/v1'),
        entry('claude-sonnet-4-5', 'litellm_proxy/claude-sonnet-4-5', ''),
        entry('gpt-4o-mini', 'openai/acme/gpt-4o-mini', '/compat/v1'),
        entry('litellm_proxy/odd', 'litellm_proxy/odd', ''),
      ],
      general_settings: { master_key: MASTER_KEY },
      platform: {
        session_api_key: SESSION_KEY,
        secret_key: randomBytes(32).toString('base64'),
        ...(spec === null ? {} : sandboxes),
      },
    };
    writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(config), { mode: 0o600 });
    const port = await freePort();
    run.teardown(() => killMarked(join(folder, 'data')));
    return new PlatformServer(run, demo, folder, port, await served(run, folder, port));
  }

  /** SIGKILL: nothing can be written down any more. */
  async kill(): Promise<void> {
    this.#cli.kill('SIGKILL');
    await this.#cli.ended;
  }

  /** Starts it again on the same data and port. */
  async startAgain(): Promise<void> {
    this.#cli = await served(this.#run, join(this.dataDir, '..'), this.#port);
  }

  async api(method: Method, path: string, body?: Json): Promise<unknown> {
    const headers = { 'x-session-api-key': SESSION_KEY };
    return requested(`http://127.0.0.1:${this.#port}/api/v1${path}`, method, headers, body);
  }

  /** Starts one and waits until it is READY. @param more of the start request */
  async converse(text: string, more: Json = {}): Promise<Conversation> {
    const startedAt = performance.now();
    const content = [{ type: 'text', text }];
    const message = { role: 'user', content, run: true };
    const task = (await this.api('POST', '/app-conversations', {
      initial_message: message,
      ...more,
    })) as Json;
    const ended = await until('the start of a conversation', async () => {
      const [now] = (await this.api('GET', `/app-conversations/start-tasks?ids=${String(task['id'])}`)) as [
        Json,
      ];
      return now['status'] === 'READY' || now['status'] === 'ERROR' ? now : null;
    });
    const readyMs = performance.now() - startedAt;
    if (ended['status'] === 'ERROR')
      throw new Error(`not started: ${String(ended['detail'])}\n${this.logs()}`);
    const id = dashed(String(ended['app_conversation_id']));
    return { id, sandbox: await this.sandbox(String(ended['sandbox_id'])), readyMs };
  }

  /** @throws Error when it does not run */
  async sandbox(id: string): Promise<Sandbox> {
    const [found] = (await this.api('GET', `/sandboxes?id=${id}`)) as [Json];
    const [exposed] = (found['exposed_urls'] ?? []) as [{ readonly url: string }?];
    if (exposed === undefined) throw new Error(`sandbox ${id} is ${String(found['status'])}\n${this.logs()}`);
    return { id, url: exposed.url, key: String(found['session_api_key']) };
  }

  /** A request to the runtime in a sandbox. */
  ofRuntime({ url, key }: Sandbox, method: Method, path: string, body?: Json): Promise<unknown> {
    return requested(`${url}${path}`, method, { 'x-session-api-key': key }, body);
  }

  /** Spend rows of a conversation. */
  async rows(conversationId: string): Promise<readonly Json[]> {
    const to = `http://127.0.0.1:${this.#port}/spend/logs?session_id=${conversationId}`;
    return (await requested(to, 'GET', { authorization: `Bearer ${MASTER_KEY}` })) as readonly Json[];
  }

  /** Bodies of the model calls that arrived upstream with this session. */
  bodies(conversationId: string): readonly Json[] {
    return this.demo.seen
      .filter(({ rawHeaders }) => rawHeaders.includes(conversationId))
      .map(({ body }) => JSON.parse(body.toString('utf8')) as Json);
  }

  /** The ends of the logs of its sandboxes. */
  logs(): string {
    const folder = join(this.dataDir, 'sandboxes');
    try {
      return readdirSync(folder)
        .map((id) => readFileSync(join(folder, id, 'sandbox.log'), 'utf8').slice(-LOG_CHARS))
        .join('\n');
    } catch {
      return ''; // none is there
    }
  }
}

async function served(run: InteropRun, folder: string, port: number): Promise<Cli> {
  const where = ['--host', '127.0.0.1', '--port', String(port), '--data-dir', join(folder, 'data')];
  const args = ['serve', '--config', join(folder, 'gateway.yaml'), ...where, '--log-level', 'warn'];
  const env = { PATH: process.env['PATH'] ?? '' };
  const cli = startCli(run, args, { patienceMs: PATIENCE_MS, env });
  await cli.said(/serves \d+ models on /);
  return cli;
}

/** @throws Error on every other status than 2xx */
async function requested(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: Json,
): Promise<unknown> {
  const json = { 'content-type': 'application/json' };
  const sent =
    body === undefined ? { headers } : { headers: { ...headers, ...json }, body: JSON.stringify(body) };
  const response = await fetch(url, { method, ...sent });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text.slice(0, 500)}`);
  return text === '' ? null : JSON.parse(text);
}

async function killMarked(dataDir: string): Promise<void> {
  for (const { pid } of await markedProcesses(dataDir)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it ended with another one
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function dashed(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
