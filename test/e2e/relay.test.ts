// Bytes that need no change are passed on unchanged, both ways: what the upstream gets, what the client gets, and
// that the usage is read on the side all the same.
import { createHash, randomBytes } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import t from 'tap';
import { openCall, startUpstream } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { chat, defaultConfig, headerOf, KEY, lastSeen, raw, rowOf, send, startRig } from '../support/rig.ts';

// LiteLLM's own members are tried here; unless they are allowed, a client may not send all of them.
const rig = await startRig(t, {
  config: (demo) => defaultConfig(demo, '  allowed_client_parameters: [cache, litellm_x]\n'),
});

/** Sends a body as it stands and returns what the upstream got. */
async function passed(body: string | Buffer, path = '/v1/chat/completions'): Promise<string> {
  const answer = await send(rig.url, 'POST', path, Buffer.from(body));
  t.equal(answer.status, 200, answer.text.slice(0, 300));
  return lastSeen(rig).body.toString();
}

t.test('the upstream gets the bytes of the client, but for the members that must change', async (t) => {
  const messages = '"messages": [ {"role":"user","content":"caf\\u00e9 \\ud83d\\ude00 é 😀 \\/ \\u2028"} ]';
  const odd =
    '"seed":12345678901234567890,"a":1.0,"b":1e400,"c":-0,"d":0.1e-7,"__proto__":{"x":1},"constructor":null';
  t.test('nothing changes where the name is the same: the very bytes', async (t) => {
    const body = `\n{ "model" :  "demo-x" ,\t${messages},\r\n${odd} }\n\n`;
    t.equal(await passed(body), body);
  });
  t.test('the model alone is replaced, in its place', async (t) => {
    const before = `{${odd} , "model"\t:\n`;
    const after = ` , ${messages}}`;
    t.equal(await passed(`${before}"compat"${after}`), `${before}"acme/demo"${after}`);
  });
  t.test('a name spelled with escapes is understood and replaced', async (t) => {
    t.equal(
      await passed('{"\\u006dodel":"c\\u006fmpat","messages":[]}'),
      '{"\\u006dodel":"acme/demo","messages":[]}',
    );
  });
  t.test('the end user goes, its comma with it, wherever it stands', async (t) => {
    t.equal(await passed('{"user":"u","model":"demo","messages":[]}'), '{"model":"demo","messages":[]}');
    t.equal(await passed('{"model":"demo", "user": "u" ,"messages":[]}'), '{"model":"demo", "messages":[]}');
    t.equal(await passed('{"model":"demo","messages":[],"user":"u"}'), '{"model":"demo","messages":[]}');
  });
  t.test(
    'a proxy-type upstream keeps metadata and control members, a compat-type one never sees them',
    async (t) => {
      const more =
        '"metadata":{"session_id":"s-2"},"tags":["a"],"litellm_session_id":"s-2","litellm_x":{"y":[1.0]},"cache":{}';
      t.equal(
        await passed(`{"model":"demo","messages":[],${more},"top_p":1.0}`),
        `{"model":"demo","messages":[],${more},"top_p":1.0}`,
      );
      t.equal(
        await passed(`{"model":"compat","messages":[],${more},"top_p":1.0}`),
        '{"model":"acme/demo","messages":[],"top_p":1.0}',
      );
    },
  );
  t.test('usage is asked for in a stream: added, or put into the options that are there', async (t) => {
    t.equal(
      await passed(`{"model":"demo","stream":true,"messages":[]}`),
      '{"model":"demo","stream":true,"messages":[],"stream_options":{"include_usage":true}}',
    );
    t.equal(
      await passed(
        '{"stream_options":{"include_obfuscation":false},"stream":true,"model":"demo","messages":[]}',
      ),
      '{"stream_options":{"include_obfuscation":false,"include_usage":true},"stream":true,"model":"demo","messages":[]}',
    );
    const asked = '{"model":"demo","messages":[],"stream":true,"stream_options":{ "include_usage" : true }}';
    t.equal(await passed(asked), asked);
  });
  t.test('members of that name deeper down are nobody’s business', async (t) => {
    const body =
      '{"model":"demo","messages":[{"model":"x","user":"y","api_key":"z","role":"user","content":""}]}';
    t.equal(await passed(body), body);
  });
  t.test('a body of megabytes arrives as it was sent', async (t) => {
    const text = randomBytes(3_000_000).toString('base64');
    const body = `{"messages":[{"role":"user","content":"${text}"}],"model":"demo-tools"}`;
    const got = await passed(body);
    t.equal(got.length, body.length);
    t.ok(got === body);
  });
});

t.test('an answer arrives byte for byte', async (t) => {
  const usage = '"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12,"cost":1.0}';
  const oddJson = Buffer.from(
    `\n{ "id":"x-1" , "n":12345678901234567890,"f":1.0,"e":1e400,\t${usage}, "t":"\\u00e9é" }\n`,
  );
  const large = Buffer.from(`{"id":"x-2","text":"${'0123456789'.repeat(60_000)}",${usage}}`);
  const events =
    ': hello\n\nid: 7\nevent: x\ndata: {"id":"x-3","choices":[{"delta":{"content":"a\\u00e9é"}}]}\n\n' +
    'data:{"choices":[{"delta":{},"finish_reason":"stop"}],\ndata: "n":1.0}\n\nretry: 5\n\n' +
    `data: {"choices":[],${usage}}\n\ndata: [DONE]\n\n`;
  const audio = randomBytes(700_000);
  const answers: Readonly<
    Record<string, { type: string; body: Buffer; encoding?: string; chunked?: boolean }>
  > = {
    json: { type: 'application/json', body: oddJson },
    chunked: { type: 'application/json; charset=utf-8', body: oddJson, chunked: true },
    large: { type: 'application/json', body: large },
    'large-chunked': { type: 'application/json', body: large, chunked: true },
    gzip: { type: 'application/json', body: gzipSync(oddJson), encoding: 'gzip' },
    audio: { type: 'audio/mpeg', body: audio },
    'audio-chunked': { type: 'audio/mpeg', body: audio, chunked: true },
    html: { type: 'text/html', body: Buffer.from('<html>\xe9\0</html>', 'latin1') },
    empty: { type: 'text/plain', body: Buffer.alloc(0) },
    events: { type: 'text/event-stream', body: Buffer.from(events), chunked: true },
    'events-crlf': {
      type: 'text/event-stream; charset=utf-8',
      body: Buffer.from(events.replaceAll('\n', '\r\n')),
      chunked: true,
    },
    'events-gzip': { type: 'text/event-stream', body: gzipSync(events), encoding: 'gzip', chunked: true },
  };
  const url = await startUpstream(t, ({ res, body }) => {
    const { model } = JSON.parse(body.toString()) as { model: string };
    const { type, body: bytes, encoding, chunked } = answers[model] as (typeof answers)[string];
    res.setHeader('content-type', type);
    if (encoding !== undefined) res.setHeader('content-encoding', encoding);
    if (chunked !== true) res.setHeader('content-length', bytes.length);
    res.writeHead(200);
    // Odd cuts, so that events and characters are torn.
    for (let at = 0; at < bytes.length; at += 65_537) res.write(bytes.subarray(at, at + 65_537));
    res.end();
  });
  const scripted = await startRig(t, {
    config: () => `
model_list: [{ model_name: "*", litellm_params: { model: "litellm_proxy/*", api_base: "${url}" } }]
general_settings: { master_key: ${KEY} }
`,
  });
  for (const [model, { body, type, encoding, chunked }] of Object.entries(answers)) {
    t.test(model, async (t) => {
      const path = model.startsWith('audio') ? '/v1/audio/speech' : '/v1/chat/completions';
      const options = { stream: model.startsWith('events'), stream_options: { include_usage: true } };
      const answer = await send(scripted.url, 'POST', path, { model, messages: [], input: 'x', ...options });
      t.equal(answer.status, 200);
      t.ok(answer.body.equals(body), 'the same bytes');
      t.equal(answer.headers['content-type'], type);
      t.equal(answer.headers['content-encoding'], encoding);
      if (chunked !== true)
        t.equal(answer.headers['content-length'], String(body.length), 'the length is announced');
      const row = await rowOf(scripted, answer);
      const isAnswer = type !== 'text/html' && body.length > 0;
      const end = isAnswer ? 'complete' : 'upstream_error';
      t.match(row, { end_reason: end, response_bytes: body.length, http_status: 200 });
      const hasUsage = type.includes('json') || type.includes('event');
      if (hasUsage && body.length > 0) {
        t.match(row, { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12, usage_source: 'upstream' });
        t.match(row, { usage: { cost: 1 } });
      } else t.match(row, { usage: null, usage_source: 'none' });
    });
  }
});

t.test('what is compressed anyway stays so, and its usage is recorded', async (t) => {
  for (const stream of [false, true]) {
    const answer = await chat(rig, 'demo-gzip', { stream });
    t.equal(answer.headers['content-encoding'], 'gzip');
    const text = gunzipSync(answer.body).toString();
    t.match(text, /Hello/);
    const row = await rowOf(rig, answer);
    t.match(row, { end_reason: 'complete', prompt_tokens: 6, usage_source: 'upstream' });
    t.equal(headerOf(lastSeen(rig).rawHeaders, 'accept-encoding'), undefined);
  }
});

t.test('a huge answer arrives whole, streamed or not', async (t) => {
  for (const stream of [false, true]) {
    const answer = await chat(rig, 'demo-huge', { stream });
    t.notOk(answer.broken);
    t.ok(answer.body.length > 5_000_000, `${answer.body.length} bytes`);
    if (stream) t.ok(answer.text.endsWith('data: [DONE]\n\n'));
    else t.equal((JSON.parse(answer.text) as { object: string }).object, 'chat.completion');
    t.match(await rowOf(rig, answer), { end_reason: 'complete', completion_tokens: 1_000_000 });
  }
});

t.test('a slow client slows the upstream down, and nothing piles up in between', async (t) => {
  const event = `data: {"choices":[{"delta":{"content":"${'y'.repeat(65_000)}"}}]}\n\n`;
  const last = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const count = 800; // 52 MB
  let sent = 0;
  const url = await startUpstream(t, ({ res, body }) => {
    if (body.includes('silent')) return;
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = (): void => {
      while (sent < count) {
        sent += 1;
        if (!res.write(event)) return void res.once('drain', more);
      }
      res.end(last);
    };
    more();
  });
  const clock = new ManualClock();
  const slow = await startRig(t, {
    clock,
    config: () => `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}", idle_timeout: 0.4 } }
  - { model_name: silent, litellm_params: { model: litellm_proxy/silent, api_base: "${url}", timeout: 0.9 } }
general_settings: { master_key: ${KEY} }
`,
  });
  const before = process.memoryUsage().arrayBuffers;
  const call = openCall(slow.url, '/v1/chat/completions', { model: 'm', messages: [], stream: true });
  const res = await call.head;
  // The client reads nothing until the upstream has come to a standstill.
  for (let still = 0, seen = -1; still < 3_000; still = seen === sent ? still + 1 : 0) {
    seen = sent;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const ahead = sent * event.length;
  t.ok(ahead < 40_000_000, `the upstream is ${ahead} bytes ahead of a client that reads nothing`);
  const held = process.memoryUsage().arrayBuffers - before;
  t.ok(held < 24_000_000, `${held} bytes are held in buffers`);
  // Twice as long as the idle clock passes: the silence is the client's, not the upstream's.
  t.equal((await clock.during(chat(slow, 'silent'))).status, 504);
  const sum = createHash('sha256');
  let bytes = 0;
  for await (const chunk of res as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    sum.update(chunk);
  }
  const whole = createHash('sha256');
  for (let i = 0; i < count; i++) whole.update(event);
  t.equal(bytes, count * event.length + last.length);
  t.equal(sum.digest('hex'), whole.update(last).digest('hex'), 'not a byte is lost');
  t.match(await rowOf(slow, res), { end_reason: 'complete', response_bytes: bytes });
});

t.test('odd heads of an upstream', async (t) => {
  const url = await startUpstream(t, ({ req, res, body }) => {
    const { model } = JSON.parse(body.toString()) as { model: string };
    const { socket } = req;
    const write = (text: string): void => void socket.write(Buffer.from(text, 'latin1'));
    if (model === 'hints') {
      write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nx-early: 1\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n');
      write(
        'HTTP/1.1 200 Fine By Me\r\nx-note: caf\xe9\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
      );
    } else if (model === 'nothing') {
      write('HTTP/1.1 204 No Content\r\nx-note: none\r\n\r\n');
    } else if (model === 'until-close') {
      write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"id":"closed"}');
      socket.end();
    } else if (model === 'trailers') {
      res.writeHead(200, { 'content-type': 'application/json', trailer: 'x-sum' });
      res.addTrailers({ 'x-sum': '1' });
      res.end('{"id":"t"}');
    } else res.end(JSON.stringify({ headers: req.rawHeaders }));
  });
  const odd = await startRig(t, {
    config: () => `
model_list: [{ model_name: "*", litellm_params: { model: "litellm_proxy/*", api_base: "${url}" } }]
general_settings: { master_key: ${KEY}, forward_client_headers_to_llm_api: true }
`,
  });
  const hints = await chat(odd, 'hints');
  t.equal(hints.text, '{}');
  t.equal(hints.headers['x-note'], 'caf\xe9');
  t.equal(hints.headers['x-early'], undefined, 'what is between the hops stays there');
  const nothing = await chat(odd, 'nothing');
  t.match([nothing.status, nothing.headers['x-note'], nothing.body.length], [204, 'none', 0]);
  t.equal(nothing.headers['content-length'], undefined);
  t.equal((await chat(odd, 'until-close')).text, '{"id":"closed"}');
  const trailers = await chat(odd, 'trailers');
  t.equal(trailers.text, '{"id":"t"}');
  t.equal(trailers.headers['trailer'], undefined);
  for (const answer of [hints, trailers]) t.match(await rowOf(odd, answer), { end_reason: 'complete' });
  t.match(await rowOf(odd, nothing), { end_reason: 'upstream_error' });
  const latin = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer ${KEY}\r\n`;
  const answer = await raw(
    odd.port,
    Buffer.from(`${latin}x-note: caf\xe9\r\ncontent-length: 27\r\n\r\n{"model":"x","messages":[]}`, 'latin1'),
  );
  t.match(answer, 'caf\xc3\xa9', 'a value beyond ASCII arrives as its bytes');
});

t.test('an upstream that answers before it has read the body is heard', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      const body = '{"error":{"message":"too large for me"}}';
      socket.end(
        `HTTP/1.1 413 Payload Too Large\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const strict = await startRig(t, {
    config: (demo) => defaultConfig({ ...demo, url: `http://127.0.0.1:${port}` }),
  });
  const answer = await chat(strict, 'demo', { padding: 'x'.repeat(8_000_000) });
  t.equal(answer.status, 413, answer.text);
  t.match(answer.text, 'too large for me');
  t.match(await rowOf(strict, answer), {
    end_reason: 'upstream_error',
    http_status: 413,
    error_source: 'upstream',
  });
});

t.test('many calls on one connection get their own answers', async (t) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const ports = new Set<number>();
  for (const [i, model] of [
    'demo',
    'compat',
    'demo-huge',
    'demo-gzip',
    'demo-429',
    'nobody',
    'demo-pings',
    'demo',
  ].entries()) {
    const text = await new Promise<string>((resolve, reject) => {
      const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
      const req = httpRequest(`${rig.url}/v1/chat/completions`, { method: 'POST', agent, headers }, (res) => {
        ports.add(res.socket.localPort as number);
        t.equal(Number(res.statusCode) < 400, model !== 'demo-429' && model !== 'nobody');
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () => resolve(Buffer.concat(chunks).toString()));
      });
      req.on('error', reject);
      req.end(
        JSON.stringify({ model, stream: i % 2 === 0, messages: [{ role: 'user', content: 'w '.repeat(i) }] }),
      );
    });
    t.ok(text.length > 50, model);
  }
  t.equal(ports.size, 1, 'streams that end well leave the connection open');
});
