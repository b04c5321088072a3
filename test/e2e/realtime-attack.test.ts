// Realtime sessions under attack: upstreams that answer handshakes wrongly, frames that break the protocol in rarer ways, sessions
// that are broken off at any point, and what must be left of them: one row each, no socket, no reservation.
import { createHash, randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import t from 'tap';
import { newKey } from '../support/manage.ts';
import { openSession, Refused, startRealtimeUpstream } from '../support/realtime-upstream.ts';
import { KEY, rowOf, send, startRig, type Rig } from '../support/rig.ts';

const AUTH = { authorization: `Bearer ${KEY}` };
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Answers every handshake with the bytes that a test says. */
class HostileUpstream {
  readonly news = new EventEmitter();
  readonly open = new Set<Socket>();
  answer: (accept: string, socket: Socket) => void = () => undefined;
  readonly server = createServer((socket) => {
    this.open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.open.delete(socket);
      this.news.emit('news');
    });
    socket.once('data', (head: Buffer) => {
      const key = /sec-websocket-key: (\S+)/i.exec(head.toString())?.[1] ?? '';
      this.news.emit('news');
      this.answer(createHash('sha1').update(`${key}${GUID}`).digest('base64'), socket);
    });
  });

  async until(fits: () => boolean): Promise<void> {
    while (!fits()) await once(this.news, 'news');
  }
}

const hostile = new HostileUpstream();
hostile.server.listen(0, '127.0.0.1');
await once(hostile.server, 'listening');
t.teardown(() => {
  for (const socket of hostile.open) socket.destroy();
  hostile.server.close();
});
const good = await startRealtimeUpstream(t);
const config = (): string => `
model_list:
  - model_name: hostile
    litellm_params: { model: openai/gpt-realtime, api_base: "http://127.0.0.1:${(hostile.server.address() as AddressInfo).port}/v1", api_key: sk-upstream-secret }
  - model_name: rt
    litellm_params: { model: openai/gpt-realtime, api_base: "${good.url}/v1", api_key: sk-upstream-secret, input_cost_per_token: 0.001, output_cost_per_token: 0.002 }
router_settings: { num_retries: 0, disable_cooldowns: true }
general_settings: { master_key: ${KEY} }
`;
const rig = await startRig(t, { config });

const open = (model: string, headers: Record<string, string> = AUTH, of: Rig = rig) =>
  openSession(`${of.url}/v1/realtime?model=${model}`, { headers });

const ok = (accept: string, more = ''): string =>
  `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n${more}\r\n`;

t.test('an upstream that answers the handshake wrongly opens no session and keeps no socket', async (t) => {
  const cases: readonly (readonly [string, (accept: string) => string, number])[] = [
    ['a wrong accept key', () => ok('AAAAAAAAAAAAAAAAAAAAAAAAAAA='), 503],
    ['no accept key', (a) => ok(a).replace(/sec-websocket-accept.*\r\n/, ''), 503],
    ['two accept keys', (a) => ok(a, `sec-websocket-accept: ${a}\r\n`), 503],
    ['an extension', (a) => ok(a, 'sec-websocket-extensions: permessage-deflate\r\n'), 503],
    ['an empty extension', (a) => ok(a, 'sec-websocket-extensions:\r\n'), 503],
    ['a subprotocol', (a) => ok(a, 'sec-websocket-protocol: mine\r\n'), 503],
    ['another protocol', (a) => ok(a).replace('websocket', 'h2c'), 503],
    ['200', () => 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok', 502],
    ['204', () => 'HTTP/1.1 204 No Content\r\n\r\n', 502],
    [
      '302',
      () =>
        'HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\nContent-Location: http://169.254.169.254/\r\nRefresh: 0; url=http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n',
      502,
    ],
    ['401', () => 'HTTP/1.1 401 No\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n{}', 401],
    ['429, chunked', () => 'HTTP/1.1 429 No\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n', 429],
    ['endless headers', () => `HTTP/1.1 101 X\r\n${`x-a: ${'b'.repeat(1000)}\r\n`.repeat(100)}`, 503],
    [
      'a refusal of 200 KB',
      () => `HTTP/1.1 403 No\r\ncontent-length: 200000\r\n\r\n${'x'.repeat(200_000)}`,
      403,
    ],
    ['no HTTP', () => 'SSH-2.0-x\r\n\r\n', 503],
  ];
  for (const [name, answer, status] of cases) {
    hostile.answer = (accept, socket) => void socket.write(answer(accept));
    const end = await open('hostile').then(
      () => null,
      (error: unknown) => error,
    );
    t.type(end, Refused, name);
    if (!(end instanceof Refused)) continue;
    t.equal(end.status, status, name);
    t.match(end.headers, { location: undefined, 'content-location': undefined, refresh: undefined }, name);
    t.match(await rowOf(rig, end), { status: 'failure' }, name);
    await hostile.until(() => hostile.open.size === 0);
    t.pass(`${name}: the socket is closed`);
  }
});

t.test('answers in between, and frames right behind the handshake, are fine', async (t) => {
  hostile.answer = (accept, socket) =>
    void socket.write(`${'HTTP/1.1 103 Early\r\n\r\n'.repeat(20)}${ok(accept)}\x81\x02{}`, 'latin1');
  const { peer } = await open('hostile');
  t.equal(await peer.message(), '{}');
  peer.socket.terminate();
  await hostile.until(() => hostile.open.size === 0);
});

const masked = (
  first: number,
  payload: Buffer,
  length: readonly number[] = [0x80 | payload.length],
): Buffer => {
  const mask = randomBytes(4);
  return Buffer.concat([
    Buffer.from([first, ...length]),
    mask,
    payload.map((byte, i) => byte ^ (mask[i & 3] ?? 0)),
  ]);
};

/** A session on a bare socket. */
async function openRaw(model = 'rt', more = ''): Promise<{ socket: Socket; rest: Promise<Buffer> }> {
  const socket = connect({ port: rig.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write(handshake(model, more));
  const pieces: Buffer[] = [];
  const { promise: opened, resolve } = Promise.withResolvers<void>();
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    if (Buffer.concat(pieces).includes('\r\n\r\n')) resolve();
  });
  socket.on('end', () => socket.end());
  await opened;
  const rest = once(socket, 'close').then(() => {
    const all = Buffer.concat(pieces);
    return all.subarray(all.indexOf('\r\n\r\n') + 4);
  });
  return { socket, rest };
}

const handshake = (model: string, more = ''): string =>
  `GET /v1/realtime?model=${model} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
  `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n${more}\r\n`;

t.test('frames that two parsers could read differently do not pass', async (t) => {
  const text = Buffer.from('{"type":"x"}');
  const cases: readonly (readonly [string, Buffer, number])[] = [
    ['a ping whose length stands in two more bytes', masked(0x89, text, [0xfe, 0, text.length]), 1002],
    ['a length in two bytes that fits into one', masked(0x81, text, [0xfe, 0, text.length]), 1002],
    [
      'a length in eight bytes that fits into one',
      masked(0x81, text, [0xff, 0, 0, 0, 0, 0, 0, 0, text.length]),
      1002,
    ],
    [
      'a length with its first bit set',
      masked(0x81, text, [0xff, 0x80, 0, 0, 0, 0, 0, 0, text.length]),
      1002,
    ],
    ['a length of 4 GB', masked(0x81, text, [0xff, 0, 0, 0, 1, 0, 0, 0, 0]), 1009],
    ['a close frame of one byte', masked(0x88, Buffer.from([3])), 1002],
    ['a close code that nobody may send', masked(0x88, Buffer.from([3, 0xed, 0x62])), 1002], // 1005
    ['a close code that is none', masked(0x88, Buffer.from([0, 7])), 1002],
    ['a close reason that is no UTF-8', masked(0x88, Buffer.from([3, 0xe8, 0xff])), 1007],
    ['text that is no UTF-8', masked(0x81, Buffer.from('{"ses\xffsion":{"model":"x"}}', 'latin1')), 1007],
    ['half a character at the end', masked(0x81, Buffer.from('{"a":"\xe2\x82', 'latin1')), 1007],
    ['a new message within another', Buffer.concat([masked(0x01, text), masked(0x81, text)]), 1002],
    ['a ping in fragments', masked(0x09, text), 1002],
  ];
  for (const [name, bytes, code] of cases) {
    const { socket, rest } = await openRaw();
    const session = await good.next();
    socket.write(bytes);
    const last = await rest;
    const closeAt = last.lastIndexOf(0x88);
    t.equal(closeAt < 0 ? 'no close frame' : last.readUInt16BE(closeAt + 2), code, name);
    socket.destroy();
    await session.peer.end();
    t.equal(await session.peer.message(), '', name);
  }
});

t.test('characters that are cut between frames and reads are whole ones', async (t) => {
  const { socket } = await openRaw();
  const session = await good.next();
  const text = Buffer.from('{"type":"é€😀𐍈"}');
  socket.setNoDelay(true);
  const frames = [...text].map((byte, i) =>
    masked((i === 0 ? 1 : 0) | (i === text.length - 1 ? 0x80 : 0), Buffer.from([byte])),
  );
  for (const one of frames) socket.write(one);
  t.equal(await session.peer.message(), text.toString());
  socket.destroy();
  await session.peer.end();
});

t.test('spellings of `session` and `model` that other parsers take for the same', async (t) => {
  for (const text of [
    '{"type":"session.update","ſession":{"model":"gpt-dear"}}',
    '{"type":"session.update","se\\u017F\\u017Fion":{"model":"gpt-dear"}}',
    '{"type":"response.create","re\u017fPonſE":{"\\u006Dodel":"gpt-dear"}}',
    '\ufeff{"session":{"model":"gpt-dear"}}',
    '{"type":"x"}{"session":{"model":"gpt-dear"}}',
    '{"session":{"model":["gpt-dear"]}}',
    '{"session":{"model":"rt\\u0000"}}',
    '{"session":{"model":"RT"}}',
  ]) {
    const { peer } = await open('rt');
    const session = await good.next();
    peer.socket.send(text);
    t.match(await peer.event(), { type: 'error', error: { code: 'parameter_not_allowed' } }, text);
    await session.peer.end();
    t.equal(await session.peer.message(), '', text);
  }
});

t.test('a session that opens while the proxy stops is told so', async (t) => {
  const other = await startRig(t, { config });
  let accept = '';
  let waiting: Socket | null = null;
  hostile.answer = (value, socket) => {
    accept = value;
    waiting = socket;
    hostile.news.emit('news');
  };
  const opening = open('hostile', AUTH, other);
  await hostile.until(() => waiting !== null);
  const idle = connect(other.port, '127.0.0.1');
  await once(idle, 'connect');
  await send(other.url, 'GET', '/health/liveness'); // so that the server has it, too
  const stopped = other.gateway.stop({ minMs: 0, maxMs: 600_000 });
  await once(idle.resume(), 'end'); // a connection without a request is closed when sessions are told
  idle.destroy();
  (waiting as Socket | null)?.write(ok(accept));
  const { peer } = await opening;
  t.match(await peer.event(), { error: { code: 'shutting_down' } });
  t.equal((await peer.end()).code, 1001);
  await stopped;
});

t.test('a subprotocol that stands twice goes upstream once, those of two headers all go', async (t) => {
  for (const [more, goes] of [
    ['sec-websocket-protocol: realtime,,realtime\r\n', 'realtime'],
    [
      'sec-websocket-protocol: realtime\r\nSec-WebSocket-Protocol: openai-beta.realtime-v1, realtime\r\n',
      'realtime, openai-beta.realtime-v1',
    ],
  ] as const) {
    const { socket } = await openRaw('rt', more);
    const session = await good.next();
    t.equal(session.headers['sec-websocket-protocol'], goes);
    socket.destroy();
    await session.peer.end();
  }
});

const budgetsOf = async (of: Rig): Promise<readonly { scope_id: string; reserved: string | number }[]> =>
  (JSON.parse((await send(of.url, 'GET', '/spend/budgets')).text) as { budgets: never[] }).budgets;

t.test('200 sessions that are broken off at any point: one row each, and nothing is left', async (t) => {
  const key = await newKey(rig, { max_budget: 1_000_000, max_parallel_requests: 500 });
  const before = (await rig.rows()).length;
  hostile.answer = (accept, socket) => void socket.write(`${ok(accept)}\x81\x02{}`, 'latin1');
  const chance = (n: number): number => randomBytes(1).readUInt8() % n;
  const one = async (n: number): Promise<void> => {
    const text = handshake(n % 2 === 0 ? 'hostile' : 'rt').replace(KEY, key);
    const bytes = Buffer.concat([
      Buffer.from(text),
      chance(3) === 0 ? masked(0x81, Buffer.from('{"type":"early"}')) : Buffer.alloc(0),
    ]);
    const socket = connect(rig.port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    const closed = once(socket, 'close');
    socket.write(bytes);
    switch (chance(5)) {
      case 0:
        socket.resetAndDestroy();
        break;
      case 1:
        socket.end();
        break;
      case 2:
        socket.once('data', () => socket.destroy());
        break;
      case 3:
        socket.once('data', () => socket.end(masked(0x88, Buffer.from([3, 0xe8]))));
        break;
      default:
        socket.once('data', () => socket.write(Buffer.from([0x81, 0xfe, 1]), () => socket.resetAndDestroy()));
    }
    socket.resume();
    await closed;
  };
  await Promise.all(Array.from({ length: 200 }, (_, n) => one(n)));
  await hostile.until(() => hostile.open.size === 0);
  for (;;) {
    const { text } = await send(rig.url, 'GET', '/metrics');
    if (/^throughline_realtime_sessions 0$/m.test(text)) break;
  }
  const rows = (await rig.rows()).slice(before);
  const ids = new Set(rows.map((row) => row['request_id']));
  t.equal(ids.size, rows.length, 'no row stands twice');
  t.ok(rows.length <= 200);
  for (;;) {
    const { budgets } = { budgets: await budgetsOf(rig) };
    if (budgets.every(({ reserved }) => Number(reserved) === 0)) break;
  }
  t.pass('nothing is reserved');
});
