// Slow clients by the thousand: heads, bodies and readers that take for ever. A good client in a process of its own
// must hardly notice, and a reader that stops reading costs little memory.
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { requestOf, smallBody } from '../../../bench/harness/bodies.ts';
import { folderFor, OURS } from '../../../bench/harness/peers.ts';
import { residentMb } from '../../../bench/harness/processes.ts';
import { Bench } from '../../../bench/harness/scenario.ts';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { serveCli } from '../../support/cli.ts';
import { startScriptedUpstream, type ScriptedCall } from '../harness/scripted-upstream.ts';
import { DEADLINE_MS, type Scenario, type ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';

const KB_PER_READER = 256;
const TIMES_SLOWER = 2;
/** Below this a ratio says more about the machine's scheduler than about the proxy. */
const FLOOR_MS = 5;
const OPENED_AT_ONCE = 100;
const EVENT = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(2_000)}"},"finish_reason":null}]}\n\n`;
const PIECE = Buffer.from(`${(EVENT.length * 8).toString(16)}\r\n${EVENT.repeat(8)}\r\n`);
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const JSON_ANSWER =
  '{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}';

/** Streams without an end to who asks for a stream. */
function answer({ socket, stream }: ScriptedCall): void {
  if (!stream) {
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${JSON_ANSWER.length}\r\n\r\n${JSON_ANSWER}`,
    );
    return;
  }
  socket.write(HEAD);
  const pour = (): void => {
    while (!socket.destroyed && socket.write(PIECE));
  };
  socket.on('drain', pour);
  pour();
}

const LINES = 'Host: localhost\r\nAuthorization: Bearer sk-bench\r\nContent-Type: application/json\r\n';
const STREAM_BODY = '{"model":"bench-model","stream":true,"messages":[]}';
const START = `POST /v1/chat/completions HTTP/1.1\r\n${LINES}`;

interface Crowd {
  readonly what: string;
  /** Sent at once; then a byte of `drip` each second. */
  readonly opening: string;
  readonly drip: string;
  readonly reads: boolean;
}

const CROWDS: readonly Crowd[] = [
  { what: 'slow heads', opening: `${START}X-Slow: `, drip: 'a', reads: true },
  { what: 'slow bodies', opening: `${START}Content-Length: 5000\r\n\r\n{"a":"`, drip: 'b', reads: true },
  {
    what: 'readers that stopped reading',
    opening: `${START}Content-Length: ${STREAM_BODY.length}\r\n\r\n${STREAM_BODY}`,
    drip: '',
    reads: false,
  },
];

async function gather(port: number, { opening, drip, reads }: Crowd, count: number): Promise<() => void> {
  const sockets: Socket[] = [];
  const open = async (): Promise<void> => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    await once(socket, 'connect');
    socket.write(opening);
    if (reads) socket.resume();
    else socket.pause();
  };
  for (let n = 0; n < count; n += OPENED_AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(OPENED_AT_ONCE, count - n) }, open));
  const timer = setInterval(() => {
    if (drip !== '') for (const socket of sockets) if (!socket.destroyed) socket.write(drip);
  }, 1_000);
  return () => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  };
}

/** p99 of a good client over `requests` calls. @throws Error when one of its answers is not right */
async function goodP99(bench: Bench, port: number, requests: number): Promise<number> {
  const request = requestOf(smallBody(), { headers: '' });
  const expected = { status: 200, events: null, stamped: false };
  const { seen } = await bench.client({ kind: 'load', port, connections: 4, requests, request, expected });
  return seen[0]?.wholeP99Ms ?? NaN;
}

function configOf(url: string): string {
  const names = ['bench-model', '"*"'];
  return `model_list:\n${names
    .map(
      (name) =>
        `  - model_name: ${name}\n    litellm_params: { model: ${name === '"*"' ? '"litellm_proxy/*"' : 'litellm_proxy/x'}, api_base: "${url}" }\n`,
    )
    .join('')}general_settings:\n  master_key: sk-bench\n`;
}

async function run(scenario: ScenarioRun): Promise<readonly ResultRow[]> {
  const { options } = scenario;
  const count = scenario.count(1_000, 60, options.rounds);
  const requests = options.quick ? 200 : 5_000;
  const upstream = await startScriptedUpstream(scenario, answer);
  const bench = new Bench({
    quick: options.quick,
    rounds: 1,
    requests: null,
    connections: null,
    streams: null,
    peers: [OURS],
    revisions: [],
    built: false,
    profileInto: null,
  });
  scenario.teardown(() => bench.close());
  const folder = folderFor(bench.folder, 'proxy');
  const config = join(folder, 'gateway.yaml');
  writeFileSync(config, configOf(upstream.url));
  const flags = ['--log-level', 'silent'];
  const proxy = await serveCli(scenario, config, join(folder, 'data'), flags, { patienceMs: 1_800_000 });
  await goodP99(bench, proxy.port, requests); // warm
  const results: ResultRow[] = [];
  for (const crowd of CROWDS) {
    const result = new ResultRow(`a good client beside ${count} ${crowd.what}`);
    const alone = await goodP99(bench, proxy.port, requests);
    const beforeMb = residentMb(proxy.pid);
    const disperse = await gather(proxy.port, crowd, count);
    await pause(options.quick ? 300 : 3_000); // until buffers of the kernel and of the proxy are full
    const crowdedMb = residentMb(proxy.pid);
    const beside = await goodP99(bench, proxy.port, requests);
    result.pass(requests);
    const kbEach = ((crowdedMb - beforeMb) * 1024) / count;
    if (!options.quick) {
      result.check(
        beside <= Math.max(FLOOR_MS, TIMES_SLOWER * alone),
        () => `p99 ${beside} ms, alone ${alone} ms`,
      );
      result.check(kbEach < KB_PER_READER, () => `${kbEach.toFixed(0)} KB for each`);
    }
    result.notes.push(
      `${crowd.what}: p99 of the good client ${alone.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside them; ${Math.max(0, kbEach).toFixed(0)} KB of resident memory for each.`,
    );
    disperse();
    const endsAt = performance.now() + DEADLINE_MS;
    while (!crowd.reads && upstream.open() > 50 && performance.now() < endsAt) await pause(20);
    result.check(upstream.open() <= 50, () => `${upstream.open()} upstream connections stayed open`);
    results.push(result);
  }
  return results;
}

export const slowClients: Scenario = {
  name: 'slow-clients',
  about: 'slow heads, slow bodies and stopped readers by the thousand: a good client hardly notices',
  run,
};
