// Nothing of one request gets into another: a hundred at a time, streams and large bodies in memory that is used again, among
// upstreams that answer too early, too much or half, and clients that leave. Every byte carries its owner's nonce.
import { createHash } from 'node:crypto';
import {
  Agent,
  request as httpRequest,
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import t from 'tap';
import { KEY, send, startRig } from '../support/rig.ts';
import { KEEPS_IDLE } from '../support/keeps-idle.ts';

/** `npm run battery -- --only isolation` plays more. 200 cases are each mode with each name and each size once. */
const AT_ONCE = 100;
const WAVES = 2;
const NONCE = /n-[0-9a-f]{16}/g;

const MODES = [
  'small',
  'small',
  'stream',
  'stream',
  'large',
  'chunked',
  'echo',
  'echo',
  'early',
  'behind',
  'second-answer',
  'cut',
  'cut-stream',
  'half-head',
  'silent',
] as const;
type Mode = (typeof MODES)[number];
/** What these upstreams do to an exchange is no reason for another one to suffer; it may break its own. */
const HOSTILE: ReadonlySet<Mode> = new Set(['early', 'cut', 'cut-stream', 'half-head', 'silent']);

/** The upstream's name of each entry: as long, longer and shorter than the client's, so that bodies move in place. */
const NAMES: Readonly<Record<string, string>> = {
  same: 'same',
  longer: `acme/${'long-'.repeat(30)}model`,
  shorter: 'm',
};
/** Small ones, ones at the edges of the memory's sizes, ones of a usual agent call, and one that fits nowhere else. */
const SIZES = [0, 100, 16_384, 63_000, 65_536, 131_072, 200_000, 262_144, 440_000, 700_000, 1_500_000];

const nonceOf = (n: number): string => `n-${createHash('sha256').update(`${n}`).digest('hex').slice(0, 16)}`;
const padded = (nonce: string, size: number): string =>
  `${nonce} `.repeat(Math.ceil(size / (nonce.length + 1)));

interface Case {
  readonly nonce: string;
  readonly mode: Mode;
  readonly model: string;
  readonly size: number;
  readonly leaves: boolean;
}

const caseOf = (n: number): Case => ({
  nonce: nonceOf(n),
  mode: MODES[(n * 7) % MODES.length] as Mode,
  model: Object.keys(NAMES)[n % 3] as string,
  size: SIZES[(n * 5 + Math.floor(n / AT_ONCE)) % SIZES.length] as number,
  leaves: n % 6 === 5,
});

const bodyOf = ({ nonce, mode, size }: Case, model: string): string =>
  `{"messages":[],"nonce":"${nonce}","stream":${mode.includes('stream')},"stream_options":{"include_usage":true},` +
  `"mode":"${mode}","size":${size},"model":"${model}","pad":"${padded(nonce, size)}"}`;

/** What a whole answer to a case is. */
const answerOf = ({ nonce, mode, size }: Case): string => {
  if (mode !== 'stream')
    return JSON.stringify({ object: 'chat.completion', nonce, pad: padded(nonce, answerSize(mode, size)) });
  const event = (content: string, reason: string | null): string =>
    `data: {"nonce":"${nonce}","choices":[{"delta":{"content":"${content}"},"finish_reason":${JSON.stringify(reason)}}]}\n\n`;
  return (
    Array.from({ length: 30 }, (_, i) => event(padded(nonce, i * 37), i < 29 ? null : 'stop')).join('') +
    'data: [DONE]\n\n'
  );
};
const answerSize = (mode: Mode, size: number): number =>
  mode === 'large' ? 600_000 : mode === 'echo' ? size : 300;

const violations: string[] = [];
let wholeBodies = 0;

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const early = req.headers['x-litellm-session-id'] === 'early';
  if (early) {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 });
    res.end('{}');
    req.resume();
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('latin1');
  const nonce = text.match(NONCE)?.[0] ?? '';
  const one = caseOf(numberOf.get(nonce) ?? 0);
  if (text === bodyOf(one, NAMES[one.model] ?? '')) wholeBodies += 1;
  else
    violations.push(`the body of ${nonce} (${one.mode}, ${one.size}) arrived changed: ${text.slice(0, 200)}`);
  const whole = answerOf(one);
  const json = { 'content-type': 'application/json' };
  const { socket } = res;
  switch (one.mode) {
    case 'small':
    case 'large':
      res.writeHead(200, { ...json, 'content-length': whole.length }).end(whole);
      break;
    case 'chunked':
    case 'echo':
      res.writeHead(200, json);
      for (let i = 0; i < whole.length; i += 7_001) res.write(whole.slice(i, i + 7_001));
      res.end();
      break;
    case 'stream':
    case 'cut-stream':
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let i = 0; i < whole.length; i += 997) {
        res.write(whole.slice(i, i + 997));
        await new Promise(setImmediate);
        if (one.mode === 'cut-stream' && i > whole.length / 2) socket?.destroy();
      }
      res.end();
      break;
    case 'behind':
    case 'second-answer': {
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${whole.length}\r\n\r\n`;
      const evil = `{"nonce":"${nonceOf(-1)}"}`;
      const more =
        one.mode === 'behind' ? evil : `HTTP/1.1 200 OK\r\ncontent-length: ${evil.length}\r\n\r\n${evil}`;
      socket?.write(head + whole + more);
      break;
    }
    case 'cut':
      res.writeHead(200, { ...json, 'content-length': whole.length }).write(whole.slice(0, 100));
      setImmediate(() => socket?.resetAndDestroy());
      break;
    case 'half-head':
      socket?.end(`HTTP/1.1 200 OK\r\nx-nonce: ${nonce}\r\ncontent-le`);
      break;
    default: // silent: ended by its client, or by the upstream in the end
      setTimeout(() => socket?.destroy(), 300);
  }
}

const numberOf = new Map(Array.from({ length: AT_ONCE * WAVES }, (_, n) => [nonceOf(n), n]));
const upstream = createServer(KEEPS_IDLE, (req, res) => {
  req.on('error', () => undefined);
  res.on('error', () => undefined);
  answer(req, res).catch(() => undefined); // the proxy went away within the body
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
t.teardown(() => {
  upstream.closeAllConnections();
  upstream.close();
});
const { port } = upstream.address() as AddressInfo;
const entry = (name: string): string => `
  - model_name: ${name}
    litellm_params: { model: "openai/${NAMES[name]}", api_base: "http://127.0.0.1:${port}/v1", api_key: sk-up }`;

const rig = await startRig(t, {
  config: () => `
model_list:${Object.keys(NAMES).map(entry).join('')}
general_settings: { master_key: ${KEY}, max_request_size_mb: 8 }`,
});
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
const idleSince = new WeakMap<Duplex, number>();
agent.on('free', (socket: Duplex) => void idleSince.set(socket, performance.now()));
t.teardown(() => agent.destroy());

interface Ended {
  readonly status: number;
  readonly text: string;
  readonly whole: boolean;
}

/** One exchange; some clients leave once a part of the answer, or nothing yet, has come. */
function exchange(one: Case): Promise<Ended> {
  return new Promise((resolve) => {
    const body = bodyOf(one, one.model);
    const headers = {
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'content-length': body.length,
      'x-litellm-session-id': one.mode === 'early' ? 'early' : one.nonce,
    };
    let status = 0;
    let text = '';
    const end = (whole: boolean): void => resolve({ status, text, whole });
    const req = httpRequest(
      { port: rig.port, method: 'POST', path: '/v1/chat/completions', headers, agent },
      (res) => {
        status = res.statusCode ?? 0;
        res.setEncoding('latin1');
        res.on('data', (part: string) => {
          text += part;
          if (one.leaves && text.length > one.size / 2) req.destroy();
        });
        res.on('end', () => end(true));
        res.on('error', () => end(false));
      },
    );
    req.on('error', () => end(false));
    if (one.leaves && one.size % 3 === 0) {
      req.write(body.slice(0, body.length / 2), () => setImmediate(() => req.destroy())); // within its own body
      return;
    }
    req.end(body);
    if (one.leaves && one.mode === 'silent') setTimeout(() => req.destroy(), 50);
  });
}

/** The proxy closes a connection that is idle for 75 s; on a busy machine a wave takes longer, and the next meets its end. */
function closeIdle(): void {
  const isOld = (socket: Duplex): boolean => performance.now() - (idleSince.get(socket) ?? 0) > 20_000;
  for (const socket of Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []))
    if (isOld(socket)) socket.destroy();
}

t.test('a hundred exchanges at a time, twice over: no byte of one is seen in another', async (t) => {
  const ends = new Map<string, number>();
  for (let wave = 0; wave < WAVES; wave++) {
    closeIdle();
    const cases = Array.from({ length: AT_ONCE }, (_, n) => caseOf(wave * AT_ONCE + n));
    const all = await Promise.all(cases.map(async (one) => ({ one, got: await exchange(one) })));
    for (const { one, got } of all) {
      const foreign = (got.text.match(NONCE) ?? []).filter((nonce) => nonce !== one.nonce);
      if (foreign.length > 0)
        violations.push(`${one.nonce} (${one.mode}) got bytes of ${String(foreign[0])}`);
      const wanted = answerOf(one);
      const isWhole = got.whole && got.status === 200 && got.text === wanted;
      if (!one.leaves && !HOSTILE.has(one.mode) && !isWhole)
        violations.push(
          `${one.nonce} (${one.mode}, ${one.size}) got ${got.status} ${got.text.slice(0, 200)}`,
        );
      if (
        got.status === 200 &&
        one.mode !== 'early' &&
        !wanted.startsWith(got.text.split('data: {"error"')[0] ?? '')
      )
        violations.push(`${one.nonce} (${one.mode}) got what was not its answer: ${got.text.slice(0, 200)}`);
      const kind = one.leaves ? 'left' : isWhole ? 'whole' : `${one.mode} ${got.status}`;
      ends.set(kind, (ends.get(kind) ?? 0) + 1);
    }
  }
  t.same(violations, []);
  t.ok((ends.get('whole') ?? 0) > 0.5 * AT_ONCE * WAVES, JSON.stringify([...ends]));
  t.ok(wholeBodies > 0.7 * AT_ONCE * WAVES, `${wholeBodies} bodies arrived byte for byte`);
});

t.test('and nothing of it is left behind', async (t) => {
  const inFlight = async (): Promise<number> => {
    const { text } = await send(rig.url, 'GET', '/metrics');
    return Number(/^\w*in_flight\w*(?:\{[^}]*\})? (\d+)$/m.exec(text)?.[1]);
  };
  let now = await inFlight();
  while (now > 1) now = await inFlight();
  t.equal(now, 1, 'the one that asks');
});
