// What the client gets of an upstream that speaks another protocol, piece by piece. The translation is the real one, from chat
// completions to messages.
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import { chat } from '../../../proxy/protocols/chat.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { translate } from '../../../proxy/protocols/translation/translation.ts';
import type { Outcome } from '../../../proxy/relay/outcome.ts';
import { NOTHING_READ } from '../../../proxy/relay/tap.ts';
import { TranslatedSink } from '../../../proxy/relay/translated-sink.ts';
import { MESSAGES } from '../../support/apis.ts';
import { NotingSink } from './fixture/exchange.ts';
import { chunk, cutAt, DONE, usageOnly } from './fixture/streams.ts';

const SSE = ['content-type', 'text/event-stream', 'content-length', '9', 'x-up', '1'];
const JSON_HEAD = ['content-type', 'text/plain', 'content-encoding', 'gzip', 'x-up', '1'];
const endpoint = ENDPOINTS.find(({ path }) => path === 'messages') as Endpoint;
const STREAM = Buffer.from(
  [chunk('Hel'), ': ping\n\n', chunk('lo ä漢'), chunk('', 'stop'), usageOnly, DONE].join(''),
);

function opened(priceUsage: (() => string) | null = null, isReplaceable = false, stream = true) {
  const client = new NotingSink();
  const request = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] };
  const options = {
    model: 'up',
    baseModel: null,
    asked: 'm',
    stream,
    dropParams: true,
    defaultMaxTokens: 5,
    sessionId: null,
  };
  const translation = translate(endpoint, chat, request, options);
  if (translation === null) throw new Error('there is a translation');
  const aborted: string[] = [];
  const sink = new TranslatedSink(
    client,
    {
      translation,
      caller: messages,
      isStream: stream,
      streamType: 'text/event-stream',
      lastEvent: 'finish',
      headers: ['x-translated', 'yes'],
      errorHeaders: ['x-error-source', 'upstream'],
      priceUsage,
    },
    ({ message }) => void aborted.push(message),
    isReplaceable,
  );
  const read = (): string =>
    client.calls
      .filter((call) => /^(write|end) /.test(call))
      .map((call) => call.replace(/^\w+ /, ''))
      .join('');
  return { client, sink, aborted, read };
}

const outcomeOf = (more: Partial<Outcome>): Outcome => ({
  end: 'complete',
  status: 200,
  fault: null,
  readOn: null,
  firstByteAt: null,
  upstreamMs: 0,
  responseBytes: 0,
  reading: NOTHING_READ,
  upstreamCallId: null,
  upstreamCost: null,
  retryAfter: null,
  isStream: false,
  contentEncoding: null,
  unsent: [],
  finish: () => undefined,
  ...more,
});

const streamed = (more: Partial<Outcome> = {}): Outcome =>
  outcomeOf({ isStream: true, unsent: null, ...more });

t.test('a stream is translated the same however its bytes are cut', async (t) => {
  const of = (pieces: readonly Buffer[]): string => {
    const { sink, read } = opened();
    sink.writeHead(200, SSE);
    for (const piece of pieces) sink.write(piece);
    t.equal(sink.settle(streamed()).end, 'complete');
    sink.end();
    return read();
  };
  const whole = of([STREAM]);
  t.match(MESSAGES.events(whole), {
    text: 'Hello ä漢',
    end: 'end_turn',
    prompt: 3,
    completion: 2,
    error: null,
  });
  fc.assert(
    fc.property(fc.array(fc.nat()), (places) => of(cutAt(STREAM, places)) === whole),
    { numRuns: 100 },
  );
});

t.test('headers that describe the bytes of the upstream do not go with ours', async (t) => {
  const { client, sink } = opened();
  sink.writeHead(200, SSE);
  t.same(client.headers, ['content-type', 'text/event-stream', 'x-up', '1', 'x-translated', 'yes']);
});

t.test('the client has everything when the last event of its own protocol is on its way', async (t) => {
  const { client, sink, read } = opened();
  sink.writeHead(200, SSE);
  let delivered = 0;
  const done = (): void => void (delivered += 1);
  sink.write(Buffer.from(chunk('Hel')));
  sink.write(Buffer.from(chunk('', 'stop')), done); // the upstream has said all; the client waits for the usage
  t.notMatch(read(), 'message_stop');
  t.equal(client.written, null);
  sink.write(Buffer.from(usageOnly + DONE));
  t.match(read(), 'message_stop');
  client.written?.(); // the system has it
  t.equal(delivered, 1);
});

t.test('a stream that broke ends with the error event of the caller, once', async (t) => {
  const { sink, read } = opened();
  sink.writeHead(200, SSE);
  sink.write(Buffer.from(chunk('Hel')));
  sink.watcher = null;
  sink.write(sink.errors.event(new Fault('stream_broken', 'it broke')), () => undefined);
  t.match(MESSAGES.events(read()), { text: 'Hel', error: 'it broke' });
});

t.test('an event that is too long, or a stream that cannot be read, ends the attempt', async (t) => {
  const long = opened();
  long.sink.writeHead(200, SSE);
  for (let i = 0; i < 18; i += 1) long.sink.write(Buffer.alloc(1_048_576, 'x'));
  t.equal(long.aborted.length, 1);
  t.match(long.aborted[0], /longer than 16 MiB/);
  for (const head of [[...SSE, 'content-encoding', 'br'], JSON_HEAD]) {
    const other = opened();
    other.sink.writeHead(200, head);
    other.sink.write(STREAM);
    t.equal(other.aborted.length, 1);
    other.sink.destroy();
    t.match(other.client.calls[0], 'head 503');
    t.match(MESSAGES.error(JSON.parse(other.read())), 'The answer of the upstream');
  }
});

t.test('a whole answer is translated before it is judged', async (t) => {
  const answer = {
    id: 'chatcmpl-1',
    choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  };
  const bytes = Buffer.from(JSON.stringify(answer));
  for (const [contentEncoding, unsent] of [
    [null, [bytes.subarray(0, 5), bytes.subarray(5)]],
    ['gzip', [gzipSync(bytes)]],
  ] as const) {
    const { client, sink, read } = opened(null, false, false);
    t.match(sink.settle(outcomeOf({ unsent, contentEncoding })), { end: 'complete', status: 200 });
    t.same(client.calls, [], 'nothing is sent yet');
    sink.writeHead(200, [...JSON_HEAD, 'x-cost', '1']);
    sink.end();
    t.match(MESSAGES.whole(JSON.parse(read())), { text: 'Hi', end: 'end_turn' });
    t.match(
      client.headers.join(),
      /^content-type,application\/json,x-up,1,x-cost,1,x-translated,yes,content-length,\d+$/,
    );
  }
});

t.test(
  'what cannot be translated is a failure of the upstream, told in the shape of the caller',
  async (t) => {
    const cases: readonly (readonly [Partial<Outcome>, status: number, RegExp])[] = [
      [{ unsent: [Buffer.from('{"choices":[]}')] }, 503, /cannot be translated/],
      [{ unsent: [Buffer.from('[1]')] }, 503, /no JSON object/],
      [{ unsent: [Buffer.from('zip')], contentEncoding: 'gzip' }, 503, /cannot be read/],
      [{ end: 'truncated', unsent: [Buffer.from('{"cho')] }, 503, /without an answer/],
      [{ end: 'upstream_error', status: 307, unsent: [] }, 503, /status 307/],
      [
        { end: 'upstream_error', unsent: [Buffer.from('{"error":{"message":"no","code":"429"}}')] },
        429,
        /no/,
      ],
      [
        { end: 'upstream_error', status: 529, unsent: [Buffer.from('{"error":{"message":"busy"}}')] },
        529,
        /busy/,
      ],
    ];
    for (const [outcome, status, message] of cases) {
      const { client, sink, read } = opened();
      const settled = sink.settle(outcomeOf(outcome));
      t.not(settled.end, 'complete');
      t.equal(settled.status, status, String(message));
      sink.writeHead(outcome.status ?? 200, JSON_HEAD);
      sink.end();
      t.match(client.calls[0], `head ${status}`);
      t.match(MESSAGES.error(JSON.parse(read())), message);
      t.notMatch(read(), '..', 'one full stop');
    }
  },
);

t.test('of a client that has left, only what is kept for a repeated call is translated', async (t) => {
  const { sink, client } = opened();
  const gone = outcomeOf({ end: 'client_gone', unsent: [Buffer.from('{"cho')] });
  t.equal(sink.settle(gone), gone);
  const before = outcomeOf({ end: 'client_gone', status: null });
  t.equal(sink.settle(before), before);
  const whole = '{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}';
  const kept = outcomeOf({ end: 'client_gone', readOn: 'whole', unsent: [Buffer.from(whole)] });
  t.match(sink.settle(kept), { end: 'client_gone', status: 200 });
  sink.writeHead(200, JSON_HEAD);
  sink.end();
  t.match(client.calls.at(-1), '"Hi"');
});

const held = () => opened(null, true);
const ROLE = Buffer.from(chunk(''));

t.test('while another upstream can take over, nothing goes out before the first token', async (t) => {
  const { client, sink, read } = held();
  sink.writeHead(200, SSE);
  sink.flushHeaders();
  sink.write(ROLE);
  t.same(client.calls, [], 'a role is no token');
  sink.write(Buffer.from(chunk('Hel')));
  t.match(MESSAGES.events(read()).text, 'Hel');
  const now = opened();
  now.sink.writeHead(200, SSE);
  now.sink.write(ROLE);
  t.match(now.read(), 'message_start', 'else it flows');
});

t.test(
  'a stream whose fault is found at its end is settled as a failure, and told after its rest',
  async (t) => {
    const { sink, client, read } = opened();
    sink.writeHead(200, SSE);
    sink.write(Buffer.from(chunk('Hel')));
    sink.write(Buffer.from(chunk('lo').trimEnd()));
    t.match(sink.settle(streamed()), {
      end: 'truncated',
      status: 200,
      unsent: null,
      fault: { code: 'stream_truncated' },
    });
    sink.watcher = null;
    sink.end();
    t.match(MESSAGES.events(read()), { text: 'Hello', error: /terminal event/ });
    t.equal(client.calls.includes('end'), false, 'it has no clean end');
  },
);

t.test(
  'a stream that fails while its client has nothing may be replaced, else the client gets an error',
  async (t) => {
    const idle = new Fault('idle_timeout', 'It fell silent.');
    for (const [outcome, settled] of [
      [streamed(), { end: 'truncated', status: 503, fault: { code: 'stream_truncated' } }],
      [streamed({ end: 'timeout', fault: idle }), { end: 'timeout', status: 504, fault: idle }],
      [streamed({ end: 'upstream_error' }), { end: 'upstream_error', status: 503 }],
    ] as const) {
      const { sink, client, read } = held();
      sink.writeHead(200, SSE);
      sink.write(ROLE);
      t.match(sink.settle(outcome), { ...settled, unsent: [] });
      if (outcome.fault === null) sink.end();
      else sink.write(sink.errors.event(outcome.fault), () => undefined);
      sink.destroy();
      t.match(client.calls, [`head ${settled.status}`, /^end \{/]);
      t.equal(client.calls.length, 2, 'the connection stays');
      t.ok(MESSAGES.error(JSON.parse(read())) !== '');
    }
  },
);

t.test('a client that has nothing yet is told that the proxy stops', async (t) => {
  const { sink, client } = held();
  sink.writeHead(200, SSE);
  sink.write(ROLE);
  const fault = new Fault('shutting_down', 'The proxy stops.');
  sink.write(sink.errors.event(fault), () => undefined);
  t.match(client.calls, ['head 503', /The proxy stops/]);
  t.match(sink.settle(streamed({ end: 'stopped', fault })), { end: 'stopped', status: 503 });
});

t.test('a stream that came whole before its first token is translated before it is judged', async (t) => {
  for (const [pieces, code] of [
    [[ROLE, chunk('', 'stop'), DONE], null],
    [[ROLE, 'data: no JSON\n\n', DONE], 'upstream_broken'],
  ] as const) {
    const { sink, client, read } = held();
    const unsent = pieces.map((piece) => Buffer.from(piece));
    const settled = sink.settle(streamed({ unsent }));
    t.equal(settled.fault?.code ?? null, code);
    t.equal(settled.end, code === null ? 'complete' : 'upstream_error');
    t.equal(settled.unsent, unsent);
    sink.writeHead(200, SSE);
    for (const piece of unsent) sink.write(piece);
    sink.end();
    if (code === null) t.match(MESSAGES.events(read()), { end: 'end_turn', error: null });
    else t.match(client.calls, ['head 503', /cannot be translated/]);
  }
});

t.test('a response is valid once something of it is translated', async (t) => {
  const counted = ({ sink }: ReturnType<typeof held>): (() => number) => {
    let valid = 0;
    const head = sink.headWriter({ ownHeaders: () => ['x-own', '1'], onValid: () => void (valid += 1) });
    t.equal(head.onValid, undefined, 'the relay does not say it');
    t.same(head.ownHeaders(200, 1), ['x-own', '1']);
    return () => valid;
  };
  const stream = held();
  const ofStream = counted(stream);
  stream.sink.writeHead(200, SSE);
  stream.sink.write(ROLE);
  t.equal(ofStream(), 0);
  stream.sink.write(Buffer.from(chunk('Hel')));
  t.equal(ofStream(), 1);
  for (const [body, times] of [
    ['{"choices":[]}', 0],
    ['{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}', 1],
  ] as const) {
    const whole = held();
    const ofWhole = counted(whole);
    whole.sink.settle(outcomeOf({ unsent: [Buffer.from(body)] }));
    t.equal(ofWhole(), times, body);
  }
});

t.test('the cost is written into the usage that the client reads', async (t) => {
  const { sink, read } = opened(() => '0.25');
  sink.writeHead(200, SSE);
  sink.write(STREAM);
  sink.settle(streamed());
  sink.end();
  t.match(read(), /event: message_delta\ndata: .*"cost":0\.25/);
});

const DOCUMENT = Buffer.from(
  JSON.stringify({
    choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  }),
);

t.test('a client that asked for a stream gets a document as events, with the cost', async (t) => {
  const { client, sink, read } = opened(() => '0.25');
  t.match(sink.settle(outcomeOf({ unsent: [DOCUMENT] })), { end: 'complete', status: 200 });
  sink.writeHead(200, JSON_HEAD);
  sink.end();
  t.match(MESSAGES.events(read()), { text: 'Hi', end: 'end_turn', prompt: 3, completion: 2, error: null });
  t.match(read(), /event: message_delta\ndata: .*"cost":0\.25/);
  t.match(client.headers.slice(0, 2), ['content-type', 'text/event-stream']);
  t.match(client.headers.join(), `content-length,${Buffer.byteLength(read())}`);
});

t.test('a client that asked for a document gets one, or an error, of a stream', async (t) => {
  const document = (isReplaceable = false) => opened(() => '0.25', isReplaceable, false);
  for (const isReplaceable of [false, true]) {
    const { client, sink, read } = document(isReplaceable);
    sink.writeHead(200, SSE);
    sink.flushHeaders();
    sink.write(STREAM);
    t.same(client.calls, [], 'nothing before its end');
    t.match(sink.settle(streamed()), { end: 'complete', status: 200 });
    sink.end();
    t.match(MESSAGES.whole(JSON.parse(read())), { text: 'Hello ä漢', end: 'end_turn', prompt: 3 });
    t.match(client.headers.join(), 'content-type,application/json,x-up,1');
  }
  const cut = document();
  cut.sink.writeHead(200, SSE);
  cut.sink.write(Buffer.from(chunk('Hel')));
  t.match(cut.sink.settle(streamed()), { end: 'truncated', status: 503, unsent: [] });
  cut.sink.end();
  t.match(cut.client.calls, ['head 503', /terminal event/]);
  const silent = document();
  silent.sink.writeHead(200, SSE);
  silent.sink.write(Buffer.from(chunk('Hel')));
  silent.sink.write(silent.sink.errors.event(new Fault('idle_timeout', 'It fell silent.')), () => undefined);
  t.match(silent.client.calls, ['head 504', /It fell silent/]);
  t.match(MESSAGES.error(JSON.parse(silent.read())), 'It fell silent.');
});

t.test('what has more values than an answer is not built: a document, an error, an event', async (t) => {
  const nested = `[${Array.from({ length: 340 }, () => '['.repeat(300) + ']'.repeat(300)).join(',')}]`;
  const answer = `{"choices":[{"message":{"content":"Hi","x":${nested}},"finish_reason":"stop"}]}`;
  const notUtf8 = Buffer.concat([
    Buffer.from('{"a":"'),
    Buffer.from([0xff]),
    Buffer.from(`","b":${nested}}`),
  ]);
  for (const [outcome, status, message] of [
    [{ unsent: [Buffer.from(answer)] }, 503, /more than 100000 values/],
    [{ unsent: [notUtf8] }, 503, /more than 100000 values/],
    [{ unsent: [Buffer.from(`\ufeff${answer}`)] }, 503, /more than 100000 values/],
    [
      {
        end: 'upstream_error',
        status: 400,
        unsent: [Buffer.from(`{"error":{"message":"no","x":${nested}}}`)],
      },
      400,
      /answered with status 400/,
    ],
  ] as const) {
    const { sink, read } = opened(null, false, false);
    t.equal(sink.settle(outcomeOf(outcome)).status, status);
    sink.writeHead('status' in outcome ? outcome.status : 200, JSON_HEAD);
    sink.end();
    t.match(MESSAGES.error(JSON.parse(read())), message);
  }
  const { sink, aborted } = opened();
  sink.writeHead(200, SSE);
  sink.write(Buffer.from(`data: {"choices":[{"index":0,"delta":{"content":"hi","x":${nested}}}]}\n\n`));
  t.match(aborted, [/more than 100000 values/]);
});

t.test('what is large, but has few values, is translated', async (t) => {
  const content = 'ä"\n'.repeat(1_000_000);
  const { sink, read } = opened(null, false, false);
  const answer = { choices: [{ message: { content }, finish_reason: 'stop' }] };
  sink.settle(outcomeOf({ unsent: [Buffer.from(JSON.stringify(answer))] }));
  sink.writeHead(200, JSON_HEAD);
  sink.end();
  t.equal(MESSAGES.whole(JSON.parse(read())).text, content);
});
