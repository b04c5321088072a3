// Realtime sessions from outside: a WebSocket client and a WebSocket server that are not ours, and the proxy between them.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { ManualClock } from '../support/clock.ts';
import { manage, newKey } from '../support/manage.ts';
import {
  openSession,
  Refused,
  startRealtimeUpstream,
  type RealtimeUpstream,
} from '../support/realtime-upstream.ts';
import { KEY, raw, rowOf, send, startRig, type Rig, type Row } from '../support/rig.ts';

const clock = new ManualClock();
const upstream = await startRealtimeUpstream(t);
const second = await startRealtimeUpstream(t);
const rig = await startRig(t, { clock, config: () => configFor(upstream, second) });
const AUTH = { authorization: `Bearer ${KEY}` };

function configFor(first: RealtimeUpstream, other: RealtimeUpstream, more = ''): string {
  return `
model_list:
  - model_name: rt
    litellm_params: { model: openai/gpt-realtime, api_base: "${first.url}/v1", api_key: sk-upstream-secret, input_cost_per_token: 0.001, output_cost_per_token: 0.002, input_cost_per_audio_token: 0.01, output_cost_per_audio_token: 0.02, cache_read_input_token_cost: 0.0001 }
  - model_name: proxied
    litellm_params: { model: litellm_proxy/gpt-realtime, api_base: "${first.url}", api_key: sk-upstream-secret }
  - model_name: elsewhere
    litellm_params: { model: openai/gpt-realtime, api_base: "${first.url}/v1", api_key: sk-upstream-secret }
  - model_name: spare
    litellm_params: { model: openai/gpt-spare, api_base: "${other.url}/v1", api_key: sk-upstream-spare }
router_settings:
  num_retries: 0
  fallbacks: [{ elsewhere: [spare] }]
general_settings:
  master_key: ${KEY}
${more}`;
}

const at = (path: string, to: Rig = rig): string => `${to.url}${path}`;
const open = (
  path = '/v1/realtime?model=rt',
  options: Parameters<typeof openSession>[1] = { headers: AUTH },
) => openSession(at(path), options);

/** The row of a session, once it is settled. */
async function rowOfSession(id: unknown, of: Rig = rig): Promise<Row> {
  await of.logged((line) => line['call_id'] === id && line['end'] !== undefined);
  return await rowOf(of, { headers: { 'x-litellm-call-id': String(id) } });
}

async function refused(act: Promise<unknown>): Promise<Refused> {
  const end = await act.then(
    () => null,
    (error: unknown) => error,
  );
  if (end instanceof Refused) return end;
  throw end instanceof Error ? end : new Error('it was opened');
}

const DONE = {
  type: 'response.done',
  event_id: 'event_2',
  response: {
    id: 'resp_1',
    status: 'completed',
    usage: {
      total_tokens: 150,
      input_tokens: 100,
      output_tokens: 50,
      input_token_details: {
        text_tokens: 40,
        audio_tokens: 60,
        cached_tokens: 10,
        cached_tokens_details: { text_tokens: 10, audio_tokens: 0 },
      },
      output_token_details: { text_tokens: 20, audio_tokens: 30 },
    },
  },
};

t.test('events pass unchanged both ways, and the session is one row', async (t) => {
  const { peer, headers } = await open('/v1/realtime?model=rt&user=x', {
    headers: {
      ...AUTH,
      'openai-beta': 'realtime=v1',
      'x-litellm-session-id': 's-1',
      'x-litellm-tags': 'a,b',
    },
  });
  const session = await upstream.next();
  t.equal(session.url, '/v1/realtime?model=gpt-realtime');
  t.match(session.headers, { authorization: 'Bearer sk-upstream-secret', 'openai-beta': 'realtime=v1' });
  t.notMatch(JSON.stringify(session.headers), KEY);
  session.peer.say({ type: 'session.created', session: { id: 'sess_1', model: 'gpt-realtime-2025' } });
  t.match(await peer.event(), { type: 'session.created' });
  const odd = ' {"type":"input_audio_buffer.append", "audio":"\\u00e9 é 😀"} ';
  peer.socket.send(odd);
  t.equal(await session.peer.message(), odd);
  const big = JSON.stringify({
    type: 'input_audio_buffer.append',
    audio: randomBytes(800_000).toString('base64'),
  });
  peer.socket.send(big);
  t.ok((await session.peer.message()) === big, 'a message of 1 MB');
  session.peer.socket.send(big);
  t.ok((await peer.message()) === big);
  session.peer.say(DONE);
  session.peer.say(DONE);
  await peer.event();
  t.same(await peer.event(), DONE);
  peer.socket.close(1000, 'bye');
  t.same(await session.peer.end(), { code: 1000, reason: 'bye' });
  t.equal((await peer.end()).code, 1000);
  const row = await rowOfSession(headers['x-litellm-call-id']);
  t.match(row, {
    call_type: 'realtime',
    model_group: 'rt',
    model: 'gpt-realtime',
    status: 'success',
    session_id: 's-1',
    prompt_tokens: 200,
    completion_tokens: 100,
    total_tokens: 300,
  });
  // Of 100: 10 cached, 60 audio, 30 text; of 50: 30 audio, 20 text. Twice.
  const each = 10 * 0.0001 + 60 * 0.01 + 30 * 0.001 + 30 * 0.02 + 20 * 0.002;
  t.equal(Number(row['spend']).toFixed(6), (2 * each).toFixed(6));
});

t.test('the key may stand in Authorization, in api-key, and in the subprotocol of a browser', async (t) => {
  for (const options of [
    { headers: AUTH },
    { headers: { 'api-key': KEY } },
    { protocols: ['realtime', `openai-insecure-api-key.${KEY}`, 'openai-beta.realtime-v1'] },
  ]) {
    const { peer, protocol } = await open('/realtime?model=proxied', options);
    const session = await upstream.next();
    t.equal(session.url, '/v1/realtime?model=gpt-realtime');
    t.notMatch(JSON.stringify(session.headers), KEY, 'it does not go upstream');
    t.equal(protocol, options.protocols === undefined ? '' : 'realtime');
    if (options.protocols !== undefined)
      t.equal(session.headers['sec-websocket-protocol'], 'realtime, openai-beta.realtime-v1');
    peer.socket.terminate();
    await session.peer.end();
  }
});

t.test('what is refused gets an HTTP error in the shape of the dialect', async (t) => {
  const cases: readonly (readonly [string, string, Parameters<typeof openSession>[1], number, string])[] = [
    ['no key', '/v1/realtime?model=rt', {}, 401, 'missing_api_key'],
    [
      'a wrong key',
      '/v1/realtime?model=rt',
      { headers: { authorization: 'Bearer sk-wrong-key' } },
      401,
      'invalid_api_key',
    ],
    [
      'a wrong key of a browser',
      '/v1/realtime?model=rt',
      { protocols: ['openai-insecure-api-key.sk-wrong-key'] },
      401,
      'invalid_api_key',
    ],
    ['no model', '/v1/realtime', { headers: AUTH }, 400, 'missing_model'],
    ['two models', '/v1/realtime?model=rt&model=spare', { headers: AUTH }, 400, 'duplicate_parameter'],
    ['an unknown model', '/v1/realtime?model=none', { headers: AUTH }, 404, 'model_not_found'],
    [
      'a page of another origin without a key',
      '/v1/realtime?model=rt',
      { headers: { origin: 'https://evil.example' } },
      403,
      'cross_origin_request',
    ],
    [
      'a key in the query',
      `/v1/realtime?model=rt&api-key=${KEY}`,
      { headers: AUTH },
      400,
      'credentials_in_query',
    ],
  ];
  const before = upstream.asked.length;
  for (const [name, path, options, status, code] of cases) {
    const { status: got, body } = await refused(open(path, options));
    t.same([got, (JSON.parse(body) as { error: { code: string } }).error.code], [status, code], name);
  }
  t.equal(upstream.asked.length, before, 'the upstream is not asked');
  const plain = await send(rig.url, 'GET', '/v1/realtime?model=rt');
  t.equal(plain.status, 426);
  t.equal(plain.headers['upgrade'], 'websocket');
  t.match(plain.text, /upgrade_required/);
});

t.test('an upgrade elsewhere is ignored', async (t) => {
  const text = await raw(
    rig.port,
    `GET /v1/models HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
  );
  t.match(text, /^HTTP\/1\.1 200 /);
});

const handshake = (more = ''): string =>
  `GET /v1/realtime?model=rt HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
  `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n${more}\r\n`;

t.test('bytes before the answer, a body and a wrong version open no session', async (t) => {
  const before = upstream.asked.length;
  t.match(await raw(rig.port, `${handshake()}\x81\x00`), /^HTTP\/1\.1 400 [^]*bad_handshake/);
  const other = `${handshake()}POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`;
  const smuggled = await raw(rig.port, other);
  t.match(smuggled, /^HTTP\/1\.1 400 /);
  t.equal(smuggled.match(/HTTP\/1\.1/g)?.length, 1, 'one answer');
  t.match(await raw(rig.port, handshake('content-length: 2\r\n') + 'ab'), /^HTTP\/1\.1 400 /);
  t.match(await raw(rig.port, handshake().replace('version: 13', 'version: 8')), /^HTTP\/1\.1 426 /);
  t.match(await raw(rig.port, handshake().replace(/key: .*/, 'key: short')), /^HTTP\/1\.1 400 /);
  t.equal(upstream.asked.length, before);
});

/** A session on a bare socket. */
async function openRaw(): Promise<{ socket: Socket; rest: Promise<Buffer> }> {
  const socket = connect(rig.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(handshake());
  const pieces: Buffer[] = [];
  const { promise: opened, resolve } = Promise.withResolvers<void>();
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    if (Buffer.concat(pieces).includes('\r\n\r\n')) resolve();
  });
  await opened;
  const rest = once(socket, 'close').then(() => {
    const all = Buffer.concat(pieces);
    return all.subarray(all.indexOf('\r\n\r\n') + 4);
  });
  return { socket, rest };
}

const masked = (first: number, payload: Buffer): Buffer => {
  const mask = randomBytes(4);
  const head =
    payload.length > 125
      ? [first, 0x80 | 126, payload.length >> 8, payload.length & 255]
      : [first, 0x80 | payload.length];
  return Buffer.concat([
    Buffer.from(head),
    mask,
    Buffer.from(payload.map((byte, i) => byte ^ (mask[i & 3] ?? 0))),
  ]);
};

t.test('frames that are none end the session with the code for it, and do not go upstream', async (t) => {
  const cases: readonly (readonly [string, Buffer, number])[] = [
    ['not masked', Buffer.from([0x81, 2, 0x7b, 0x7d]), 1002],
    ['a reserved bit', masked(0xc1, Buffer.from('{}')), 1002],
    ['a control frame of 126 bytes', masked(0x89, Buffer.alloc(126)), 1002],
    ['a continuation of nothing', masked(0x80, Buffer.from('{}')), 1002],
    [
      'a binary message',
      masked(0x82, Buffer.from('{"type":"session.update","session":{"model":"x"}}')),
      1003,
    ],
  ];
  for (const [name, bytes, code] of cases) {
    const { socket, rest } = await openRaw();
    const session = await upstream.next();
    socket.write(bytes);
    const last = await rest;
    const closeAt = last.lastIndexOf(0x88);
    t.equal(last.readUInt16BE(closeAt + 2), code, name);
    t.match(last.toString('latin1'), /websocket_violation/, name);
    await session.peer.end();
    t.equal(await session.peer.message(), '', name);
  }
});

t.test('frames that are cut at any byte are read as whole ones', async (t) => {
  const { socket, rest } = await openRaw();
  const session = await upstream.next();
  const text = '{"type":"input_audio_buffer.append","audio":"AAAA"}';
  const half = Buffer.from(text).subarray(0, 20);
  const other = Buffer.from(text).subarray(20);
  const bytes = Buffer.concat([
    masked(0x81, Buffer.from(text)),
    masked(0x01, half),
    masked(0x89, Buffer.from('ping')), // between the fragments
    masked(0x80, other),
  ]);
  socket.setNoDelay(true);
  for (const byte of bytes) socket.write(Buffer.from([byte]));
  t.equal(await session.peer.message(), text);
  t.equal(await session.peer.message(), text);
  socket.destroy();
  await rest;
  await session.peer.end();
});

t.test('an event that names another model ends the session before the upstream has it', async (t) => {
  for (const [name, text] of [
    ['plain', '{"type":"session.update","session":{"model":"gpt-dear"}}'],
    ['escaped', '{"type":"session.update","session":{"\\u006dodel":"gpt-dear"}}'],
    ['upper case', '{"type":"session.update","Session":{"MODEL":"gpt-dear"}}'],
    ['twice', '{"session":{"model":"rt"},"session":{"model":"gpt-dear"}}'],
    ['of a response', '{"type":"response.create","response":{"model":"gpt-dear"}}'],
    ['behind 1 MB', `{"audio":"${'A'.repeat(1_000_000)}","session":{"x":[{"model":1}],"model":"gpt-dear"}}`],
    ['no text', '{"session":{"model":{"id":"gpt-dear"}}}'],
  ] as const) {
    const { peer, headers } = await open();
    const session = await upstream.next();
    peer.socket.send(text);
    t.match(await peer.event(), { type: 'error', error: { code: 'parameter_not_allowed' } }, name);
    t.equal((await peer.end()).code, 1008, name);
    await session.peer.end();
    t.equal(await session.peer.message(), '', name);
    t.match(await rowOfSession(headers['x-litellm-call-id']), { status: 'failure' }, name);
  }
  const { peer } = await open();
  const session = await upstream.next();
  for (const model of ['rt', 'gpt-realtime']) {
    peer.say({
      type: 'session.update',
      session: { model, audio: { input: { transcription: { model: 'whisper-1' } } } },
    });
    t.match(await session.peer.event(), { session: { model } });
  }
  peer.socket.close();
  await session.peer.end();
});

t.test('an upstream that breaks off is never a clean end', async (t) => {
  t.test('between frames: an error event and 1011', async (t) => {
    const { peer, headers } = await open();
    const session = await upstream.next();
    session.peer.say(DONE);
    await peer.event();
    session.socket.destroy();
    t.match(await peer.event(), { type: 'error', error: { code: 'stream_broken' } });
    t.equal((await peer.end()).code, 1011);
    const row = await rowOfSession(headers['x-litellm-call-id']);
    t.match(row, { status: 'failure', total_tokens: 150 }, 'what was stated is charged');
  });
  t.test('within a frame: no close frame at all', async (t) => {
    const { peer } = await open();
    const session = await upstream.next();
    session.socket.write(Buffer.from([0x81, 0x7e, 0x10, 0x00, 0x7b]));
    session.socket.end();
    t.equal((await peer.end()).code, 1006);
  });
  t.test('a close code of a failure is passed on and recorded', async (t) => {
    const { peer, headers } = await open();
    const session = await upstream.next();
    session.peer.socket.close(1011, 'out of memory');
    t.same(await peer.end(), { code: 1011, reason: 'out of memory' });
    const row = await rowOfSession(headers['x-litellm-call-id']);
    t.match(row, { status: 'failure' });
    t.match(JSON.stringify(row), /out of memory/);
  });
});

t.test('a client that vanishes closes the upstream, and the row says so', async (t) => {
  const { peer, headers } = await open();
  const session = await upstream.next();
  peer.socket.terminate();
  t.equal((await session.peer.end()).code, 1001);
  t.match(JSON.stringify(await rowOfSession(headers['x-litellm-call-id'])), /client_gone/);
});

t.test('a refusal that repeats the key of the entry does not show it', async (t) => {
  upstream.refuse = { status: 401, body: '{"error":{"message":"Bearer sk-upstream-secret is wrong"}}' };
  t.teardown(() => (upstream.refuse = null));
  const { status, body } = await refused(open());
  t.match({ status, body }, { status: 401, body: /Bearer \*{18} is wrong/ });
});

t.test('before the upstream opens the session another one may take it', async (t) => {
  upstream.refuse = { status: 503, body: '{"error":{"message":"busy"}}' };
  t.teardown(() => (upstream.refuse = null));
  const { peer, headers } = await open('/v1/realtime?model=elsewhere');
  const session = await second.next();
  t.equal(session.url, '/v1/realtime?model=gpt-spare');
  t.equal(session.headers.authorization, 'Bearer sk-upstream-spare');
  t.equal(headers['x-litellm-attempted-fallbacks'], '1');
  peer.socket.close();
  await session.peer.end();
  const end = await refused(open());
  t.equal(end.status, 503, 'the last refusal is passed on');
  t.match(end.body, /busy/);
  t.match(await rowOf(rig, end), { status: 'failure', call_type: 'realtime' });
});

t.test('each session that a fallback serves counts as one, also while the model cools down', async (t) => {
  const config = configFor(upstream, second).replace('num_retries: 0', '$&\n  allowed_fails: 0');
  const own = await startRig(t, { clock, config: () => config });
  upstream.refuse = { status: 503, body: '{"error":{"message":"busy"}}' };
  t.teardown(() => (upstream.refuse = null));
  for (let i = 0; i < 2; i += 1) {
    const { peer, headers } = await openSession(at('/v1/realtime?model=elsewhere', own), { headers: AUTH });
    const session = await second.next();
    t.equal(headers['x-litellm-attempted-fallbacks'], '1');
    peer.socket.close();
    await session.peer.end();
    upstream.refuse = null; // it would serve the second one
  }
  const { text } = await send(own.url, 'GET', '/metrics');
  t.match(text, /throughline_fallbacks_total\{model="elsewhere",to="spare"\} 2/);
});

t.test('a blocked key loses its session', async (t) => {
  const key = await newKey(rig, { models: ['rt'] });
  const denied = await refused(
    open('/v1/realtime?model=spare', { headers: { authorization: `Bearer ${key}` } }),
  );
  t.match(denied.body, /key_model_access_denied/);
  const { peer } = await open(undefined, { headers: { authorization: `Bearer ${key}` } });
  await upstream.next();
  await manage(rig, 'POST /key/block', { key });
  t.match(await clock.during(peer.event()), { type: 'error', error: { code: 'key_blocked' } });
  t.equal((await peer.end()).code, 1008);
});

t.test(
  'another value of a key leaves its session, until the value that opened it is accepted no more',
  async (t) => {
    const [key, other] = [await newKey(rig, {}), await newKey(rig, {})];
    const { peer } = await open(undefined, { headers: { authorization: `Bearer ${key}` } });
    const session = await upstream.next();
    const { peer: asked } = await open(undefined, { headers: { authorization: `Bearer ${other}` } });
    await upstream.next();
    await manage(rig, 'POST /key/regenerate', { key, grace_period: '30s' });
    await manage(rig, 'POST /key/block', { key: other });
    await clock.during(asked.end()); // both keys are asked for in the same turn
    peer.say({ type: 'input_audio_buffer.clear' });
    t.match(await session.peer.event(), { type: 'input_audio_buffer.clear' });
    t.equal(peer.closed, null);
    clock.advance(30_000);
    t.match(await clock.during(peer.event()), { type: 'error', error: { code: 'invalid_api_key' } });
    t.equal((await peer.end()).code, 1008);
  },
);

t.test('max_parallel_requests counts sessions, and a budget ends one', async (t) => {
  const one = await newKey(rig, { max_parallel_requests: 1 });
  const first = await open(undefined, { headers: { authorization: `Bearer ${one}` } });
  const session = await upstream.next();
  t.equal((await refused(open(undefined, { headers: { authorization: `Bearer ${one}` } }))).status, 429);
  first.peer.socket.close();
  await session.peer.end();
  await rowOfSession(first.headers['x-litellm-call-id']);
  const again = await open(undefined, { headers: { authorization: `Bearer ${one}` } });
  (await upstream.next()).peer.socket.close(1000);
  t.equal((await again.peer.end()).code, 1000);

  const poor = await newKey(rig, { max_budget: 0.5 });
  t.equal((await refused(open(undefined, { headers: { authorization: `Bearer ${poor}` } }))).status, 422);
  const key = await newKey(rig, { max_budget: 100 });
  const { peer } = await open(undefined, { headers: { authorization: `Bearer ${key}` } });
  (await upstream.next()).peer.say(DONE); // $1.271
  t.same(await peer.event(), DONE, 'the response itself is delivered');
  t.match(await peer.event(), { error: { code: 'realtime_budget_used' } });
  t.equal((await peer.end()).code, 1008);
});

t.test('idle and long sessions are closed', async (t) => {
  const { peer, headers } = await open();
  await upstream.next();
  t.match(await clock.during(peer.event(), 60_000), { error: { code: 'realtime_expired' } });
  t.equal((await peer.end()).code, 1001);
  t.match(JSON.stringify(await rowOfSession(headers['x-litellm-call-id'])), /realtime_expired|timeout/);
});

t.test('a slow reader holds its upstream back, and loses nothing', async (t) => {
  const { peer } = await open();
  const session = await upstream.next();
  peer.socket.pause();
  const text = JSON.stringify({ type: 'x', a: 'y'.repeat(1_000_000) });
  for (let n = 0; n < 20; n += 1) session.peer.socket.send(text);
  session.peer.socket.close(1000);
  peer.socket.resume();
  for (let n = 0; n < 20; n += 1) t.ok((await peer.message()) === text);
  t.equal((await peer.end()).code, 1000);
});

t.test('at a shutdown a session is closed with 1001 once no response is under way', async (t) => {
  const other = await startRig(t, { config: () => configFor(upstream, second) });
  const idle = await openSession(at('/v1/realtime?model=rt', other), { headers: AUTH });
  await upstream.next();
  const busy = await openSession(at('/v1/realtime?model=rt', other), { headers: AUTH });
  const session = await upstream.next();
  session.peer.say({ type: 'response.created', response: { id: 'r' } });
  await busy.peer.event();
  const stopped = other.gateway.stop({ minMs: 0, maxMs: 60_000 });
  t.match(await idle.peer.event(), { error: { code: 'shutting_down' } });
  t.equal((await idle.peer.end()).code, 1001);
  session.peer.say(DONE);
  t.same(await busy.peer.event(), DONE);
  t.match(await busy.peer.event(), { error: { code: 'shutting_down' } });
  t.equal((await busy.peer.end()).code, 1001);
  await stopped;
});

t.test('of a process that was killed the row is recovered as interrupted', async (t) => {
  const other = await startRig(t, { config: () => configFor(upstream, second) });
  const { headers } = await openSession(at('/v1/realtime?model=rt', other), { headers: AUTH });
  await upstream.next();
  const folder = mkdtempSync(join(tmpdir(), 'throughline-killed-'));
  cpSync(other.folder, folder, { recursive: true, filter: (path) => !path.endsWith('.lock') });
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const next = await startRig(t, { folder, config: () => configFor(upstream, second) });
  const row = await rowOf(next, { headers });
  t.match(row, { call_type: 'realtime', status: 'failure' });
  t.match(JSON.stringify(row), /interrupted/);
});

t.test('metrics count the sessions', async (t) => {
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, /throughline_realtime_sessions \d+/);
  t.match(text, /throughline_realtime_sessions_ended_total\{reason="complete"\} \d+/);
});
