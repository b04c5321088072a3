// What a translation costs: one proxy in front of an upstream of chat completions, the same stream for callers of each API. The
// caller of chat completions gets the bytes as they come.
import { requestOf, smallBody } from '../harness/bodies.ts';
import { fixed, measureCpu } from '../harness/measure.ts';
import { MODEL, OURS, throughline, type Running } from '../harness/peers.ts';
import type { Bench, Scenario } from '../harness/scenario.ts';
import type { Wish } from '../upstream.ts';

const EVENTS = 200;
const GAP_MS = 5;
const WISH: Wish = { kind: 'stream', events: EVENTS, gapMs: GAP_MS, stamped: false };
const TEXT = 'lorem ipsum dolor sit amet '.repeat(34);

interface Caller {
  readonly name: string;
  readonly path: string;
  readonly body: Buffer;
}

const caller = (name: string, path: string, body: object): Caller => ({
  name,
  path,
  body: Buffer.from(JSON.stringify(body)),
});
const wish = JSON.stringify(WISH);
const CALLERS: readonly Caller[] = [
  { name: 'chat completions, passed on', path: '/v1/chat/completions', body: smallBody(WISH) },
  caller('messages', '/v1/messages', {
    model: MODEL,
    max_tokens: 1_000,
    stream: true,
    system: wish,
    messages: [{ role: 'user', content: TEXT }],
  }),
  caller('responses', '/v1/responses', { model: MODEL, stream: true, instructions: wish, input: TEXT }),
  caller('gemini', `/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`, {
    systemInstruction: { parts: [{ text: wish }] },
    contents: [{ role: 'user', parts: [{ text: TEXT }] }],
  }),
];

/** What a whole stream of this caller looks like. */
async function lookAt({ port }: Running, { path, body }: Caller): Promise<{ events: number; end: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-bench', 'content-type': 'application/json' },
    body: new Uint8Array(body),
  });
  const text = await response.text();
  const events = text.split('\n\n').length - 1;
  if (!response.ok || events < EVENTS - 3)
    throw new Error(`${path}: ${response.status} ${text.slice(0, 500)}`);
  return { events, end: text.slice(-8) };
}

async function run(bench: Bench): Promise<readonly [ReturnType<typeof rowsOf>]> {
  const upstreamPort = await bench.upstream('asked');
  const peer = throughline(OURS, undefined, [], [], undefined, '      supported_endpoints: [chat]\n');
  const [running] = await bench.start([peer], upstreamPort);
  if (running === undefined) throw new Error('the proxy did not start');
  const streams = bench.count(300, 50, bench.wanted.streams);
  const measured = [];
  for (const one of CALLERS) {
    const look = await lookAt(running, one);
    measured.push(
      ...(await measureCpu(bench, {
        peers: [{ ...running, name: one.name }],
        upstreamPort: null,
        unitsPerRequest: EVENTS,
        load: (to) => ({
          connections: streams,
          requests: streams,
          request: requestOf(one.body, to, undefined, one.path),
          expected: { status: 200, stamped: false, ...look },
        }),
      })),
    );
  }
  return [rowsOf(bench, streams, measured)];
}

function rowsOf(bench: Bench, streams: number, measured: Awaited<ReturnType<typeof measureCpu>>) {
  const passed = measured[0]?.cpuUs ?? NaN;
  return {
    title: `Translated streams: ${streams} at once, ${EVENTS} events of chat completions ${GAP_MS} ms apart, best of ${bench.wanted.rounds}`,
    columns: ['caller', 'CPU us per event', 'x passed on', 'p50 ms', 'p99 ms', 'RSS MB'],
    rows: measured.map(({ name, cpuUs, p50Ms, p99Ms, residentMb }) => [
      name,
      fixed(cpuUs, 2),
      fixed(cpuUs / passed, 2),
      fixed(p50Ms, 0),
      fixed(p99Ms, 0),
      fixed(residentMb, 0),
    ]),
    notes: [...bench.notes, 'Events of the upstream; the callers of other APIs get a few more.'],
  };
}

export const translate: Scenario = {
  name: 'translate',
  about: 'a stream of chat completions for callers of each API: CPU per event, passed on and translated',
  run,
};
