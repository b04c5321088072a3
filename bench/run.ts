// `npm run bench`: CPU microseconds per request of the proxy, everything switched on, beside a bare relay on the same
// Node, in one run and interleaved. CPU is user + system time of all threads of the process, from /proc/PID/stat.
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { load } from './load.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    connections: { type: 'string', default: '32' },
    rounds: { type: 'string', default: '3' },
    stream: { type: 'boolean', default: false },
  },
});

const TICKS_PER_SECOND = 100; // USER_HZ; fixed on Linux

/** CPU seconds of a process so far. */
function cpuSeconds(child: ChildProcess): number {
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function residentMb(child: ChildProcess): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

function startWithPort(file: string, args: string[] = []): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(join(import.meta.dirname, file), args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return new Promise((resolve) =>
    child.once('message', (message: { port: number }) => resolve({ child, port: message.port })),
  );
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function startProxy(
  folder: string,
  upstreamPort: number,
): Promise<{ child: ChildProcess; port: number }> {
  const config = join(folder, 'gateway.yaml');
  writeFileSync(
    config,
    `model_list:
  - model_name: bench
    litellm_params: { model: litellm_proxy/upstream-model, api_base: "http://127.0.0.1:${upstreamPort}", api_key: sk-upstream }
general_settings: { master_key: sk-bench, forward_client_headers_to_llm_api: true }
`,
  );
  const port = await freePort();
  const main = join(import.meta.dirname, '..', 'proxy', 'main.ts');
  const args = ['serve', '--config', config, '--port', String(port), '--data-dir', join(folder, 'data')];
  const child = fork(main, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  await new Promise<void>((resolve) => child.stderr?.once('data', () => resolve()));
  return { child, port };
}

const folder = mkdtempSync(join(tmpdir(), 'throughline-bench-'));
const upstream = await startWithPort('upstream.ts');
const bare = await startWithPort('bare-relay.ts', [`http://127.0.0.1:${upstream.port}`]);
const proxy = await startProxy(folder, upstream.port);
const peers = [
  { name: 'bare node:http + undici relay', ...bare },
  { name: 'throughline, everything on', ...proxy },
];

const question = { role: 'user', content: 'lorem ipsum dolor sit amet '.repeat(36) };
const body = Buffer.from(
  JSON.stringify({
    model: 'bench',
    messages: [question],
    ...(values.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
);
const [requests, connections, rounds] = [values.requests, values.connections, values.rounds].map(Number) as [
  number,
  number,
  number,
];

for (const { port } of peers) await load({ port, connections, requests: Math.ceil(requests / 4), body }); // warm up
const best = new Map<string, number>();
for (let round = 0; round < rounds; round += 1) {
  for (const { name, child, port } of peers) {
    const before = cpuSeconds(child);
    const good = await load({ port, connections, requests, body });
    if (good !== requests)
      throw new Error(`${name}: ${requests - good} of ${requests} answers were not complete`);
    const each = ((cpuSeconds(child) - before) / requests) * 1e6;
    best.set(name, Math.min(best.get(name) ?? Infinity, each));
  }
}
const floor = best.get(peers[0]?.name ?? '') ?? NaN;
console.log(
  `Node ${process.versions.node}, ${values.stream ? 'streams of 100 events' : 'small JSON calls'}, body ${body.length} bytes, ${connections} connections, ${requests} requests, best of ${rounds}`,
);
for (const { name, child } of peers) {
  const each = best.get(name) as number;
  console.log(
    `${name.padEnd(34)} ${each.toFixed(1).padStart(8)} us CPU per request  x${(each / floor).toFixed(2)}  RSS ${residentMb(child).toFixed(0)} MB`,
  );
}
for (const { child } of [...peers, upstream]) child.kill('SIGKILL');
rmSync(folder, { recursive: true, force: true });
process.exit(0);
