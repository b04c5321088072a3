// What a conversation costs: an LLM call with its key beside one with the master key, on the same server, and the time
// from the start of a conversation until it is READY with a sandbox of its own.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fixed } from '../harness/measure.ts';
import { folderFor, ROOT } from '../harness/peers.ts';
import { cpuSeconds, cpuSecondsOfEach, freePort, Program, quiet } from '../harness/processes.ts';
import { quantile } from '../harness/quantiles.ts';
import type { Bench, Table } from '../harness/scenario.ts';

export const MASTER_KEY = 'sk-bench';
export const SESSION_KEY = 'sk-bench-session';
/** Name of the model that the calls name. */
const MODEL = 'bench';
/** Names a Python with the packages of the agent server, as for `npm run interop`. */
const PYTHON = 'THROUGHLINE_INTEROP_PYTHON';
const POLL_MS = 10;
const POLLS = 50;
const MS_PER_TICK = 10; // USER_HZ is 100 on Linux

/** The `model_list` that calls need. */
export const modelList = (upstreamPort: number): string =>
  `[{ model_name: ${MODEL}, litellm_params: { model: litellm_proxy/${MODEL}, api_base: "http://127.0.0.1:${upstreamPort}", api_key: sk-upstream } }]`;

/** Master key and conversation key in turns, so that both meet the same load of the machine. */
export async function callCosts(bench: Bench, port: number, pid: number, keys: number): Promise<Table> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { app_conversation_id: id } = (await api(agent, port, 'POST', '/app-conversations', {
    llm_model: MODEL,
  })) as {
    readonly app_conversation_id: string;
  };
  const [conversation] = (await api(agent, port, 'GET', `/app-conversations?ids=${id}`)) as [
    { readonly llm_base_url: string; readonly llm_api_key: string },
  ];
  const own = new URL(conversation.llm_base_url).pathname;
  const ways: readonly (readonly [name: string, key: string, base: string])[] = [
    ['master key, /v1', MASTER_KEY, '/v1'],
    ['conversation key, /v1', conversation.llm_api_key, '/v1'],
    ['conversation key, its own base URL', conversation.llm_api_key, own],
  ];
  const rounds = bench.count(9, 3, bench.wanted.rounds);
  const calls = bench.count(1_000, 100);
  const body = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'one two three' }] });
  const figures = new Map(ways.map(([name]) => [name, { cpu: [] as number[], ms: [] as number[] }]));
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, key, base] of ways) {
      const before = cpuSeconds(pid);
      const times: number[] = [];
      for (let at = 0; at < calls; at += 1)
        times.push(await call(agent, port, `${base}/chat/completions`, key, body));
      await quiet(pid);
      if (round < 0) continue; // warms up
      figures.get(name)?.cpu.push(((cpuSeconds(pid) - before) * 1e6) / calls);
      figures.get(name)?.ms.push(quantile(times, 0.5));
    }
  }
  agent.destroy();
  return {
    title: `A call with the key of a conversation among ${keys}: ${rounds} rounds of ${calls} calls in turn, one at a time`,
    columns: ['key', 'CPU us', 'least', 'p50 ms'],
    rows: ways.map(([name]) => {
      const { cpu = [], ms = [] } = figures.get(name) ?? {};
      return [name, fixed(quantile(cpu, 0.5), 0), fixed(Math.min(...cpu), 0), fixed(quantile(ms, 0.5), 2)];
    }),
    notes: [
      'CPU is of all threads of the proxy, per call with its record: the median of the rounds, and the least.',
    ],
  };
}

/** From the start request until READY, each in a sandbox of its own. */
export async function startTimes(bench: Bench, upstreamPort: number): Promise<Table> {
  const python = process.env[PYTHON] ?? '';
  const standIn = join(ROOT, 'test/platform/fixture/runtime.ts');
  const rows = [
    await started(bench, upstreamPort, 'a Node program of 50 lines', bench.count(15, 3, null), {
      command: [process.execPath, standIn, '--port', '{port}'],
      conversations_path: '/api/conversations',
    }),
  ];
  const server = join(dirname(python), 'agent-server');
  if (python === '' || !existsSync(server))
    bench.notes.push(`The agent server was not started: set ${PYTHON} to a Python that has it.`);
  else
    rows.push(
      await started(bench, upstreamPort, 'OpenHands agent server', bench.count(5, 1, null), {
        command: [server, '--host', '127.0.0.1', '--port', '{port}'],
        initial_env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', OH_ENABLE_VSCODE: '0', OH_ENABLE_BROWSER: '0' },
        health_path: '/ready',
        conversations_path: '/api/conversations',
      }),
    );
  return {
    title:
      'From the start of a conversation until READY, in a sandbox of its own (process driver, no isolation)',
    columns: [
      'runtime',
      'starts',
      'p50 s',
      'least s',
      'most s',
      'CPU of the proxy, ms',
      'CPU of the sandbox, s',
    ],
    rows,
    notes: ['CPU is the median per start; what the sandbox takes is time on an idle core.'],
  };
}

async function started(
  bench: Bench,
  upstreamPort: number,
  name: string,
  count: number,
  spec: object,
): Promise<string[]> {
  const folder = folderFor(bench.folder, `starts-${name}`);
  const port = await freePort();
  const config = join(folder, 'gateway.yaml');
  const sandbox = { isolation: 'none', start_timeout_seconds: 600, stop_with_server: true };
  const platform = {
    session_api_key: SESSION_KEY,
    secret_key: randomBytes(32).toString('base64'),
    sandbox,
    sandbox_specs: [{ id: 'bench', ...spec }],
  };
  writeFileSync(
    config,
    `model_list: ${modelList(upstreamPort)}\ngeneral_settings: { master_key: ${MASTER_KEY} }\nplatform: ${JSON.stringify(platform)}\n`,
  );
  const where = ['--config', config, '--host', '127.0.0.1', '--port', String(port)];
  const flags = [...where, '--data-dir', join(folder, 'data'), '--log-level', 'warn'];
  const program = new Program(process.execPath, [join(ROOT, 'proxy/main.ts'), 'serve', ...flags]);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    await program.listens(port);
    const [times, own, others]: [number[], number[], number[]] = [[], [], []];
    for (let at = 0; at < count; at += 1) {
      const [cpu, startedAt] = [ownCpuMs(program.pid), performance.now()];
      const task = (await api(agent, port, 'POST', '/app-conversations', { llm_model: MODEL })) as {
        readonly id: string;
      };
      const sandboxId = await ready(agent, port, task.id);
      times.push((performance.now() - startedAt) / 1000);
      own.push(ownCpuMs(program.pid) - cpu);
      const children = [...cpuSecondsOfEach(program.pid)].filter(([pid]) => pid !== program.pid);
      others.push(children.reduce((sum, [, seconds]) => sum + seconds, 0));
      await api(agent, port, 'DELETE', `/sandboxes/${sandboxId}`);
    }
    const spread = [quantile(times, 0.5), Math.min(...times), Math.max(...times)].map((one) => fixed(one, 2));
    return [name, String(count), ...spread, fixed(quantile(own, 0.5), 0), fixed(quantile(others, 0.5), 1)];
  } finally {
    agent.destroy();
    await program.end().catch(() => program.stop());
  }
}

/** Of the process alone: an ended sandbox counts for its parent once it is reaped (proc_pid_stat(5), cutime). */
function ownCpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/** Asks less often the longer it takes: the questions are part of what the proxy spends. */
async function ready(agent: Agent, port: number, taskId: string): Promise<string> {
  const startedAt = performance.now();
  for (;;) {
    const [task] = (await api(agent, port, 'GET', `/app-conversations/start-tasks?ids=${taskId}`)) as [
      { readonly status: string; readonly sandbox_id: string; readonly detail: string | null },
    ];
    if (task.status === 'READY') return task.sandbox_id;
    if (task.status === 'ERROR') throw new Error(`a conversation was not started: ${String(task.detail)}`);
    await wait(Math.max(POLL_MS, (performance.now() - startedAt) / POLLS));
  }
}

async function api(
  agent: Agent,
  port: number,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const headers = { 'x-session-api-key': SESSION_KEY };
  return JSON.parse(await send(agent, port, method, `/api/v1${path}`, headers, body && JSON.stringify(body)));
}

/** @returns milliseconds until the last byte */
async function call(agent: Agent, port: number, path: string, key: string, body: string): Promise<number> {
  const startedAt = performance.now();
  await send(agent, port, 'POST', path, { authorization: `Bearer ${key}` }, body);
  return performance.now() - startedAt;
}

/** @throws Error when the answer is no 2xx */
function send(
  agent: Agent,
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): Promise<string> {
  const length = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body ?? '')),
  };
  const all = body === undefined ? headers : { ...headers, ...length };
  return new Promise((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port, method, path, headers: all, agent }, (res) => {
      let text = '';
      res.setEncoding('utf8').on('data', (part: string) => (text += part));
      res.on('end', () => {
        if (res.statusCode !== undefined && res.statusCode < 300) resolve(text);
        else reject(new Error(`${method} ${path} was answered with ${String(res.statusCode)}: ${text}`));
      });
    });
    req.on('error', reject);
    req.end(body);
  });
}
