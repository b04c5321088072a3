// The end of the process as clients and probes see it: who is still served, what runs on, and the last words.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { openCall, startUpstream } from '../support/call.ts';
import { beforeNextLook } from '../support/patience.ts';
import { defaultConfig, KEY, send, startRig, type Rig, type Row } from '../support/rig.ts';
import { tempDir } from '../proxy/spend/store/fixture/temp-dir.ts';

const CHAT = { messages: [{ role: 'user', content: 'one two three four' }] };
const MORE = `
  - model_name: again
    litellm_params: { model: litellm_proxy/demo-429, api_base: "DEMO", num_retries: 1 }
`;

const withMore = (demo: { url: string }): string =>
  defaultConfig(demo as Rig['demo']).replace(
    '\ngeneral_settings',
    `${MORE.replace('DEMO', demo.url)}general_settings`,
  );

const oneEntry = (upstream: string): string => `
model_list: [{ model_name: one, litellm_params: { model: litellm_proxy/m, api_base: "${upstream}" } }]
general_settings: { master_key: ${KEY} }
`;

/** A socket, and what came on it until it closed. */
function plain(port: number, bytes: string): { socket: Socket; all: Promise<string> } {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (part: string) => {
    text += part;
  });
  socket.write(bytes);
  return { socket, all: once(socket, 'close').then(() => text) };
}

// Before all others: Node gives this warning once in a process.
t.test('a stop that gives running calls no time asks Node for no negative time', async (t) => {
  const warnings: Error[] = [];
  const keep = (warning: Error): void => void warnings.push(warning);
  process.on('warning', keep);
  t.teardown(() => process.off('warning', keep));
  const rig = await startRig(t);
  const call = openCall(rig.url, '/v1/chat/completions', { ...CHAT, model: 'demo-stall', stream: true });
  await call.received('data:');
  const told = call.received('shutting_down');
  await rig.gateway.stop({ minMs: 0, maxMs: 0 });
  await told;
  await new Promise(setImmediate); // warnings come in a later turn
  t.same(warnings, []);
});

t.test(
  'when its time is over, each running call is told so in its own shape; rows say the same',
  async (t) => {
    const folder = tempDir(t);
    const rig = await startRig(t, { countWithinMs: 100, folder, config: withMore });
    const streams = [
      openCall(rig.url, '/v1/chat/completions', { ...CHAT, model: 'demo-stall', stream: true }),
      openCall(rig.url, '/v1/messages', { ...CHAT, model: 'demo-stall', stream: true, max_tokens: 9 }),
      openCall(rig.url, '/v1/responses', { input: 'one two three', model: 'demo-stall', stream: true }),
    ];
    for (const stream of streams) await stream.received('data:');
    const silent = send(rig.url, 'POST', '/v1/chat/completions', { ...CHAT, model: 'demo-hold' });
    const pausing = send(rig.url, 'POST', '/v1/messages', { ...CHAT, model: 'again', max_tokens: 9 });
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\n`;
    const half = plain(
      rig.port,
      `${head}content-type: application/json\r\ncontent-length: 99\r\n\r\n{"model"`,
    );
    await rig.demo.waitFor(5);
    await send(rig.url, 'GET', '/health/liveness'); // the half request was read before this one was
    const ends = Promise.all(streams.map(({ received }) => received('shutting_down')));
    await rig.gateway.stop({ minMs: 0, maxMs: 0 });
    const [chat = '', messages = '', responses = ''] = await ends;
    t.match(
      chat,
      /data: \{"error":\{"message":"Connection lost: the proxy is stopping[^\n]*"type":"server_error"[^\n]*\}\n\n$/,
    );
    t.match(messages, /event: error\ndata: \{"type":"error","error":\{[^\n]*"code":"shutting_down"/);
    t.match(responses, /event: error\ndata: \{"type":"error","code":"shutting_down"/);
    t.notMatch([chat, messages, responses].join(''), /\[DONE\]|message_stop|response\.completed/);
    for (const answer of [await silent, await pausing]) {
      const headers = { connection: 'close', 'retry-after': '1', 'x-litellm-error-source': 'proxy' };
      t.match(answer, { status: 503, headers, broken: false });
      t.match(answer.text, /"code":"shutting_down"/);
    }
    t.match(await half.all, /^HTTP\/1\.1 503 [^]*\r\nconnection: close\r\n[^]*"code":"shutting_down"/);
    const rows = await (await startRig(t, { folder })).rows();
    t.equal(rows.length, 6);
    for (const row of rows)
      t.match(row, {
        status: 'failure',
        end_reason: 'stopped',
        metadata: { error_information: { error_class: 'shutting_down' } },
        error_source: 'proxy',
      });
    const httpStatus = (row: Row): unknown => row['http_status'];
    t.same(rows.map(httpStatus).sort(), [200, 200, 200, 503, 503, 503]);
    const unsent = rows.find((row) => row['attempts'] === 0);
    t.match(unsent, { spend: 0 }, 'the call without its body went nowhere');
  },
);

t.test(
  'clients are told first: counting the tokens of what was broken off takes longer than they have',
  async (t) => {
    const folder = tempDir(t);
    const rig = await startRig(t, { folder }); // counts for as long as it takes: some 2 s for each of these
    const messages = [{ role: 'user', content: 'a'.repeat(1_000_000) }];
    const streams = Array.from({ length: 6 }, () =>
      openCall(rig.url, '/v1/chat/completions', { messages, model: 'demo-stall', stream: true }),
    );
    for (const stream of streams) await stream.received('data:');
    const ends = Promise.allSettled(streams.map(({ received }) => received('shutting_down')));
    await rig.gateway.stop({ minMs: 0, maxMs: 0 });
    t.same(
      (await ends).map(({ status }) => status),
      streams.map(() => 'fulfilled'),
    );
    const rows = await (await startRig(t, { folder })).rows();
    t.equal(rows.length, streams.length);
    // What could not be counted in its time is left to the recovery.
    for (const row of rows) {
      if (row['end_reason'] === 'stopped') t.ok(Number(row['prompt_tokens']) > 0);
      else t.equal(row['end_reason'], 'interrupted');
    }
  },
);

t.test('an upstream that keeps its connection open after [DONE] has given a whole answer', async (t) => {
  const folder = tempDir(t);
  const upstream = await startUpstream(t, ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(
      'data: {"id":"c","choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    );
  });
  const config = (): string => oneEntry(upstream);
  const rig = await startRig(t, { countWithinMs: 100, folder, config });
  const call = openCall(rig.url, '/v1/chat/completions', { ...CHAT, model: 'one', stream: true });
  await call.received('[DONE]');
  await rig.gateway.stop({ minMs: 0, maxMs: 0 });
  t.match(await (await startRig(t, { folder, config })).rows(), [
    { end_reason: 'complete', status: 'success' },
  ]);
});

t.test(
  'for min_drain_seconds newcomers and open connections are served, and close with their answers; then idle ones do',
  async (t) => {
    const rig = await startRig(t, { countWithinMs: 100 });
    const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    const used = plain(rig.port, ask('/health/liveness'));
    await once(used.socket, 'data');
    const idle = plain(rig.port, ask('/health/liveness'));
    await once(idle.socket, 'data');
    const fresh = plain(rig.port, '');
    await once(fresh.socket, 'connect');
    await send(rig.url, 'GET', '/health/liveness'); // it has been accepted by now
    const stopped = rig.gateway.stop({ minMs: 300_000, maxMs: 600_000 });
    await new Promise(setImmediate); // a load balancer that has not noticed yet sends the next request
    used.socket.write(ask('/health/liveness'));
    t.match(
      await used.all,
      /^HTTP\/1\.1 200 [^]*\r\nconnection: keep-alive\r\n[^]*HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n/i,
      'was open, and its next request is answered',
    );
    fresh.socket.write(ask('/health/liveness'));
    t.match(await fresh.all, /^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n/);
    const late = await send(rig.url, 'POST', '/v1/chat/completions', {
      ...CHAT,
      model: 'demo',
      stream: true,
    });
    t.match(late, { status: 200, headers: { connection: 'close' }, broken: false });
    t.equal((await send(rig.url, 'GET', '/health/readiness')).status, 503);
    t.equal((await send(rig.url, 'GET', '/health/liveness')).status, 200);
    const running = send(rig.url, 'POST', '/v1/chat/completions', { ...CHAT, model: 'demo-hold' });
    await rig.demo.waitFor(2);
    void rig.gateway.stop(); // the second signal
    t.match(await running, { status: 503, headers: { connection: 'close' } });
    t.equal((await idle.all).split('HTTP/1.1 200 ').length, 2, 'nothing was asked on it');
    await stopped;
    await t.rejects(send(rig.url, 'GET', '/health/liveness'), { code: 'ECONNREFUSED' });
  },
);

t.test('an answer that promised to keep its connection keeps it while min_drain_seconds runs', async (t) => {
  const rig = await startRig(t, { countWithinMs: 100 });
  const body = JSON.stringify({ ...CHAT, model: 'demo-interval', stream: true });
  const ask =
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const call = plain(rig.port, ask);
  await once(call.socket, 'data'); // the head is out
  const stopped = rig.gateway.stop({ minMs: 300_000, maxMs: 600_000 });
  let text = '';
  await new Promise<void>((resolve) => {
    call.socket.on('data', (bytes) => {
      text += String(bytes);
      if (text.endsWith('\r\n0\r\n\r\n')) resolve();
    });
  });
  await new Promise(setImmediate); // what the proxy would do at the end of an answer, it has done
  call.socket.write('GET /health/liveness HTTP/1.1\r\nhost: localhost\r\n\r\n');
  t.match(
    await call.all,
    /^HTTP\/1\.1 200 [^]*connection: keep-alive\r\n[^]*\[DONE\][^]*HTTP\/1\.1 200 [^]*connection: close\r\n/i,
  );
  void rig.gateway.stop();
  await stopped;
});

t.test('a client that reads nothing does not hold the end up, and its row is written', async (t) => {
  const folder = tempDir(t);
  const event = `data: {"choices":[{"delta":{"content":"${'x'.repeat(60_000)}"}}]}\n\n`;
  const accepted: Socket[] = [];
  const accept = (message: unknown): void => void accepted.push((message as { socket: Socket }).socket);
  subscribe('net.server.socket', accept);
  t.teardown(() => unsubscribe('net.server.socket', accept));
  let isUpstreamFull = false;
  const upstream = await startUpstream(t, ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = (): void => {
      isUpstreamFull = false;
      while (res.write(event));
      isUpstreamFull = true;
      res.once('drain', write);
    };
    write();
  });
  const config = (): string => oneEntry(upstream);
  const rig = await startRig(t, { countWithinMs: 100, folder, config });
  const call = openCall(rig.url, '/v1/chat/completions', { ...CHAT, model: 'one', stream: true });
  await call.head;
  // The client takes no more, then the proxy takes no more: all buffers on the way are full.
  const isClientFull = (): boolean =>
    accepted.some((socket) => socket.localPort === rig.port && socket.writableNeedDrain);
  while (!isUpstreamFull || !isClientFull()) await beforeNextLook();
  await rig.gateway.stop({ minMs: 0, maxMs: 0 });
  call.leave();
  const [row] = await (await startRig(t, { folder, config })).rows();
  t.match(row, { end_reason: 'stopped', http_status: 200, error_source: 'proxy' });
});
