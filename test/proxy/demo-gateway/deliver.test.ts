// The accidents and the clocks, looked at as raw bytes on a socket.
import { once } from 'node:events';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { createParser } from 'eventsource-parser';
import type { Test } from 'tap';
import t from 'tap';
import type { DemoGateway, DemoOptions } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';

async function start(t: Test, options?: DemoOptions): Promise<DemoGateway> {
  const gateway = await startDemoGateway(options);
  t.teardown(() => gateway.close());
  return gateway;
}

interface Raw {
  readonly status: number;
  readonly head: string;
  /** Body bytes, chunked framing taken off. */
  readonly body: Buffer;
  /** The framing came to its own end: the last chunk, or content-length bytes. */
  readonly isWhole: boolean;
  readonly reads: number;
}

interface Wish {
  readonly model: string;
  readonly stream?: boolean;
  readonly path?: string;
  readonly more?: object;
}

async function raw(gateway: DemoGateway, wish: Wish): Promise<Raw> {
  const { model, stream = true, path = '/v1/chat/completions', more = {} } = wish;
  const heard = path.endsWith('/responses')
    ? { input: 'one two' }
    : { messages: [{ role: 'user', content: 'one two' }] };
  const body = JSON.stringify({ model, stream, ...heard, ...more });
  const socket = connect(gateway.port, '127.0.0.1');
  const reads: Buffer[] = [];
  socket.on('data', (read) => reads.push(read));
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: demo\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await once(socket, 'close');
  const bytes = Buffer.concat(reads);
  const headEnd = bytes.indexOf('\r\n\r\n') + 4;
  const head = bytes.subarray(0, headEnd).toString().toLowerCase();
  const rest = bytes.subarray(headEnd);
  const shared = { head, status: Number(head.split(' ')[1] ?? 0), reads: reads.length };
  if (head.includes('transfer-encoding: chunked')) return { ...shared, ...unchunked(rest) };
  const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? -1);
  return { ...shared, body: rest, isWhole: rest.length === length };
}

function unchunked(bytes: Buffer): { body: Buffer; isWhole: boolean } {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16);
    if (size === 0) return { body: Buffer.concat(parts), isWhole: true };
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return { body: Buffer.concat(parts), isWhole: false };
}

interface Read {
  readonly datas: string[];
  readonly comments: number;
  readonly text: string;
  readonly finish: string | null;
}

function read(body: Buffer): Read {
  const datas: string[] = [];
  let comments = 0;
  const parser = createParser({ onEvent: ({ data }) => datas.push(data), onComment: () => comments++ });
  parser.feed(body.toString());
  let text = '';
  let finish: string | null = null;
  for (const data of datas) {
    if (data === '[DONE]') continue;
    let chunk: { choices?: { delta: { content?: string | null }; finish_reason: string | null }[] };
    try {
      chunk = JSON.parse(data) as typeof chunk;
    } catch {
      continue;
    }
    text += chunk.choices?.[0]?.delta.content ?? '';
    finish = chunk.choices?.[0]?.finish_reason ?? finish;
  }
  return { datas, comments, text, finish };
}

const sentence = (model: string): string => `Hello from ${model}: the demo gateway heard 2 words.`;

t.test('a normal stream is chunked, word by word, with its finish reason and [DONE]', async (t) => {
  const gateway = await start(t);
  const { status, head, body, isWhole } = await raw(gateway, { model: 'demo-model' });
  t.equal(status, 200);
  t.match(head, 'content-type: text/event-stream; charset=utf-8');
  t.ok(isWhole);
  const { datas, text, finish } = read(body);
  t.equal(text, sentence('demo-model'));
  t.equal(finish, 'stop');
  t.equal(datas.at(-1), '[DONE]');
  t.equal(datas.length, 1 + 9 + 1 + 1, 'role, nine words, finish, [DONE]');
});

t.test('cut closes midway: some of the answer, no end of the framing', async (t) => {
  const gateway = await start(t);
  const stream = await raw(gateway, { model: 'demo-cut' });
  t.notOk(stream.isWhole);
  const { text, finish } = read(stream.body);
  t.match(text, /^Hello from /);
  t.ok(text.length < sentence('demo-cut').length);
  t.equal(finish, null);
  const whole = await raw(gateway, { model: 'demo-cut', stream: false });
  t.match(whole.head, 'content-length');
  t.notOk(whole.isWhole);
  t.ok(whole.body.length > 0);
});

t.test('cut-clean and malformed: the framing is whole, the content is not', async (t) => {
  const gateway = await start(t);
  const clean = await raw(gateway, { model: 'demo-cut-clean' });
  t.ok(clean.isWhole);
  const cleanRead = read(clean.body);
  t.match(cleanRead.text, /^Hello from /);
  t.equal(cleanRead.finish, null);
  t.not(cleanRead.datas.at(-1), '[DONE]');
  const malformed = await raw(gateway, { model: 'demo-malformed' });
  const { datas, text } = read(malformed.body);
  t.equal(text, sentence('demo-malformed'), 'all other events are there');
  t.equal(datas.filter((data) => data !== '[DONE]' && !data.endsWith('}')).length, 1);
  for (const model of ['demo-cut-clean', 'demo-malformed']) {
    const whole = await raw(gateway, { model, stream: false });
    t.ok(whole.isWhole, model);
    t.throws(() => JSON.parse(whole.body.toString()) as unknown, model);
  }
});

t.test('no-done has a finish reason and nothing after it', async (t) => {
  const gateway = await start(t);
  const { datas, finish } = read((await raw(gateway, { model: 'demo-no-done' })).body);
  t.equal(finish, 'stop');
  t.notOk(datas.includes('[DONE]'));
  const path = '/v1/messages';
  const messages = (await raw(gateway, { model: 'demo-no-done', path })).body.toString();
  t.match(messages, 'event: message_delta');
  t.notMatch(messages, 'message_stop');
  const responses = (await raw(gateway, { model: 'demo-no-done', path: '/v1/responses' })).body.toString();
  t.match(responses, 'event: response.output_item.done');
  t.notMatch(responses, 'response.completed');
});

t.test('error-event comes midway in a 200 stream, in the words of each format', async (t) => {
  const gateway = await start(t);
  const model = 'demo/demo-error-event';
  const bodyOf = async (path: string): Promise<string> => {
    const { status, isWhole, body } = await raw(gateway, { model, path });
    t.equal(status, 200);
    t.ok(isWhole);
    return body.toString();
  };
  t.match(
    await bodyOf('/v1/chat/completions'),
    /"content":"Hello ".*\ndata: \{"error":\{"message":[^\n]+\n\n$/s,
  );
  t.match(
    await bodyOf('/compat/v1/chat/completions'),
    /data: \{"is_bifrost_error":false[^\n]+\n\ndata: \[DONE\]\n\n$/,
  );
  t.match(await bodyOf('/v1/messages'), /event: error\ndata: \{"type":"error","error":\{[^\n]+\n\n$/);
  t.match(await bodyOf('/v1/responses'), /event: error\ndata: \{"type":"error","code":[^\n]+\n\n$/);
});

t.test('stall sends half, then nothing until the gateway gives up after stallMs', async (t) => {
  const gateway = await start(t, { stallMs: 40 });
  for (const stream of [true, false]) {
    const { isWhole, body } = await raw(gateway, { model: 'demo-stall', stream });
    t.notOk(isWhole);
    t.match(body.toString(), stream ? '"Hello "' : '"id"');
  }
  t.equal((await raw(gateway, { model: 'demo-silent' })).reads, 0);
});

t.test('drop closes without a byte, header-then-close after the headers', async (t) => {
  const gateway = await start(t);
  t.equal((await raw(gateway, { model: 'demo-drop' })).reads, 0);
  for (const stream of [true, false]) {
    const { status, body, isWhole } = await raw(gateway, { model: 'demo-header-then-close', stream });
    t.equal(status, 200);
    t.equal(body.length, 0);
    t.notOk(isWhole);
  }
});

t.test('slow waits before the first byte, interval between two events', async (t) => {
  const late = await start(t, { slowMs: 3_600_000, eventIntervalMs: 3_600_000 });
  let hasCome = false;
  void raw(late, { model: 'demo-slow' }).then(() => (hasCome = true));
  await late.waitFor(1);
  t.ok((await raw(late, { model: 'demo' })).isWhole);
  t.notOk(hasCome, 'a later call was answered meanwhile');
  const body = JSON.stringify({ model: 'demo-interval', stream: true, messages: [] });
  const res = await fetch(`${late.url}/v1/chat/completions`, { method: 'POST', body });
  const first = await res.body?.getReader().read();
  t.equal(
    Buffer.from(first?.value ?? [])
      .toString()
      .match(/data:/g)?.length,
    1,
    'one event, and no other',
  );

  const soon = await start(t, { slowMs: 10, eventIntervalMs: 10 });
  t.ok((await raw(soon, { model: 'demo-slow' })).isWhole);
  for (const model of ['demo-slow-stream', 'demo-interval']) {
    const { isWhole, reads } = await raw(soon, { model });
    t.ok(isWhole);
    t.ok(reads > 2, `${model}: events come apart`);
  }
  const whole = await raw(soon, { model: 'demo-interval', stream: false });
  t.ok(whole.isWhole);
});

t.test('slow-stream has its headers at once', async (t) => {
  const gateway = await start(t, { slowMs: 3_600_000 });
  const body = JSON.stringify({ model: 'demo-slow-stream', stream: true, messages: [] });
  const res = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body });
  t.equal(res.status, 200);
  await res.body?.cancel();
  t.equal(await gateway.seen[0]?.finished, 'aborted');
});

t.test('bytewise writes each byte by itself and loses none', async (t) => {
  const gateway = await start(t);
  const { body, reads, isWhole } = await raw(gateway, { model: 'demo-bytewise' });
  t.ok(isWhole);
  t.equal(read(body).text, sentence('demo-bytewise'));
  t.ok(reads > 100, `${reads} reads`);
});

t.test('crlf and pings change the framing, not the content', async (t) => {
  const gateway = await start(t);
  const crlf = (await raw(gateway, { model: 'demo-crlf' })).body;
  t.notMatch(crlf.toString(), /[^\r]\n/);
  t.equal(read(crlf).text, sentence('demo-crlf'));
  const pings = read((await raw(gateway, { model: 'demo-pings-crlf' })).body);
  t.equal(pings.text, sentence('demo-pings-crlf'));
  t.equal(pings.comments, pings.datas.length);
});

t.test('gzip is sent though nobody asked, and streams are flushed event by event', async (t) => {
  const gateway = await start(t, { eventIntervalMs: 5 });
  const whole = await raw(gateway, { model: 'demo-gzip', stream: false });
  t.match(whole.head, 'content-encoding: gzip');
  t.ok(whole.isWhole);
  t.match(gunzipSync(whole.body).toString(), sentence('demo-gzip'));
  const stream = await raw(gateway, { model: 'demo-gzip-interval' });
  t.ok(stream.reads > 2);
  t.equal(read(gunzipSync(stream.body)).text, sentence('demo-gzip-interval'));
});

t.test('huge is 5 MB whole or 20,000 events, and big-event one event of 300 KB', async (t) => {
  const gateway = await start(t);
  const whole = await raw(gateway, { model: 'demo-huge', stream: false });
  t.ok(whole.isWhole);
  t.ok(whole.body.length > 5_000_000);
  const stream = await raw(gateway, { model: 'demo-huge' });
  t.ok(stream.isWhole);
  t.equal(read(stream.body).datas.length, 20_003);
  const big = read((await raw(gateway, { model: 'demo-big-event' })).body);
  t.equal(big.datas.filter((data) => data.length > 300_000).length, 1);
  t.equal(big.datas.at(-1), '[DONE]');
});

t.test('a long echo is streamed in slices and whole characters', async (t) => {
  const gateway = await start(t);
  const note = '😀 a '.repeat(20_000);
  const { body } = await raw(gateway, { model: 'demo-echo', more: { note } });
  const { datas, text } = read(body);
  t.ok(datas.length < 500);
  t.notMatch(body.toString(), /\\ud8/i, 'no half of a surrogate pair');
  const echo = JSON.parse(text) as { body: string };
  t.equal((JSON.parse(echo.body) as { note: string }).note, note);
});

t.test('usage in chat streams: only when asked, null before, or on the last chunk', async (t) => {
  const gateway = await start(t);
  const more = { stream_options: { include_usage: true } };
  const chunksOf = async (model: string, wish: object): Promise<Record<string, unknown>[]> => {
    const { datas } = read((await raw(gateway, { model, more: wish })).body);
    return datas.slice(0, -1).map((data) => JSON.parse(data) as Record<string, unknown>);
  };
  const usage = { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 };
  const unasked = await chunksOf('demo-model', {});
  t.notOk(unasked.some((chunk) => 'usage' in chunk));
  const asked = await chunksOf('demo-model', more);
  t.match(asked.at(-1), { choices: [], usage });
  t.ok(asked.slice(0, -1).every((chunk) => chunk['usage'] === null));
  const inLast = await chunksOf('demo-usage-in-last', more);
  t.match(inLast.at(-1), { choices: [{ finish_reason: 'stop' }], usage });
  t.notOk((await chunksOf('demo-no-usage', more)).some((chunk) => 'usage' in chunk));
});
