// How an answer is observed is chosen by its head: as events, as JSON, through a decoder, or not at all.
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { audio } from '../../../proxy/protocols/audio.ts';
import { chat } from '../../../proxy/protocols/chat.ts';
import { tapFor, type Tap } from '../../../proxy/relay/tap.ts';
import { NO_OBSERVATION } from './fixture/exchange.ts';
import { DONE, USAGE, chunk, data, usageOnly } from './fixture/streams.ts';

const PLAIN = NO_OBSERVATION;
const tapOf = (
  contentType: string,
  contentEncoding: string | null = null,
  wanted = PLAIN,
  protocol = chat,
): Tap =>
  tapFor(
    {
      contentType,
      contentEncoding,
      pass: [],
      contentLength: null,
      cost: null,
      callId: null,
      retryAfter: null,
    },
    protocol,
    wanted,
  );

t.test('an event stream is passed on event by event, without the usage that nobody asked for', async (t) => {
  const tap = tapOf('Text/Event-Stream; charset=utf-8', null, { ...PLAIN, stripUsage: true });
  t.match(tap, { streams: true, keeps: false, opaque: false, terminal: false });
  t.equal(tap.push(Buffer.from(chunk('a', 'stop') + usageOnly))?.toString(), chunk('a', 'stop'));
  t.match(tap, { terminal: true, finished: false });
  tap.push(Buffer.from(DONE));
  t.match(tap, { terminal: true, finished: true, failed: false });
  t.match(tap.reading(), { usage: USAGE, id: 'chatcmpl-1', delivered: null });
});

t.test('a JSON answer is whole when its document is', async (t) => {
  const whole = tapOf('application/json', 'identity', { ...PLAIN, keepText: true });
  whole.push(Buffer.from('{"id":"x",'));
  whole.push(Buffer.from('"choices":[]}'));
  t.match(whole, { streams: false, keeps: true, terminal: true });
  t.match(whole.reading(), { id: 'x', usage: null, delivered: { form: 'json', bytes: 23 } });
  const half = tapOf('application/problem+json');
  half.push(Buffer.from('{"id":"x",'));
  t.notOk(half.terminal);
});

t.test('a compressed answer is passed on as it is, and read beside', async (t) => {
  const bytes = gzipSync(chunk('a', 'stop') + usageOnly + DONE);
  const tap = tapOf('text/event-stream', 'GZIP', { ...PLAIN, stripUsage: true });
  t.equal(tap.push(bytes), bytes, 'nothing of it can be left out');
  t.match(tap, { streams: true, opaque: true });
  await tap.decoded();
  t.match(tap, { terminal: true, failed: false, finished: true });
  t.strictSame(tap.reading().usage, USAGE);
  const named = tapOf('text/event-stream', 'gzip', { ...PLAIN, askedModel: 'asked' });
  t.equal(named.push(bytes), bytes, 'nor named otherwise');
  await named.decoded();
  t.equal(
    tapOf('text/event-stream', null, { ...PLAIN, askedModel: 'asked' })
      .push(Buffer.from(chunk('a')))
      ?.toString(),
    chunk('a').replace('gpt-x', 'asked'),
  );
  const unknown = tapOf('application/json', 'x-unknown');
  unknown.push(Buffer.from('??'));
  await unknown.decoded();
  t.ok(unknown.terminal, 'what cannot be read is not called cut short');
});

t.test('where answers are sounds or texts, anything else is not read', async (t) => {
  for (const type of ['audio/mpeg', 'text/html', '']) {
    const tap = tapOf(type, null, PLAIN, audio);
    const bytes = Buffer.from('{"usage":{"a":1}}');
    t.equal(tap.push(bytes), bytes);
    t.match(tap, { streams: false, terminal: true, failed: false, isAnswer: type !== 'text/html' });
    t.equal(tap.reading().usage, null, type);
  }
});

t.test('where answers are objects, the content tells and not the type', async (t) => {
  const cases: readonly [type: string, body: string, expected: object][] = [
    ['text/plain', '{"choices":[],"usage":{"a":1}}', { isAnswer: true, terminal: true }],
    ['', '{"choices":[]', { isAnswer: true, terminal: false }],
    ['text/html', '<!doctype html><title>Sign in</title>', { isAnswer: false, terminal: true }],
    ['application/json', '<html>', { isAnswer: false }],
    ['text/plain', 'Service Temporarily Unavailable', { isAnswer: false }],
    ['', `: ping\n\n${chunk('a')}${DONE}`, { isAnswer: true, terminal: true }],
    ['application/json', '[]', { isAnswer: false }],
    ['application/json', '"ok"', { isAnswer: false }],
    ['application/json', 'null', { isAnswer: false }],
    ['application/json', ' \r\n\t{"choices":[]}', { isAnswer: true, terminal: true }],
    ['application/json', '{"error":{"message":"no"}}', { isAnswer: false, terminal: true }],
    ['application/json', '{"error":"no","choices":[]}', { isAnswer: false }],
    ['application/json', '{"\\u0065rror":{"message":"no"}}', { isAnswer: false }],
    [
      'application/json',
      '{"error":"no","choices":null,"output":{},"content":"","data":[ ]}',
      { isAnswer: false },
    ],
    ['application/json', '{"error":null,"choices":[]}', { isAnswer: true }],
    ['application/json', '{"error":{},"output":[]}', { isAnswer: true }],
    ['application/json', '{"error":"","choices":[]}', { isAnswer: true }],
    ['application/json', '{"error":{"message":"no"},"choices":[{"index":0}]}', { isAnswer: true }],
    ['application/json', '{"choices":[{"message":{"error":"no"}}]}', { isAnswer: true }],
  ];
  for (const [type, body, expected] of cases) {
    for (const encoding of [null, 'gzip']) {
      const tap = tapOf(type, encoding);
      tap.push(encoding === null ? Buffer.from(body) : gzipSync(body));
      await tap.decoded();
      t.match(tap, expected, `${type}: ${body}`);
    }
  }
});

t.test('events are read whatever they are called', async (t) => {
  const whole = chunk('a') + chunk('b', 'stop') + usageOnly + DONE;
  const broken = chunk('a') + data({ error: { message: 'no' } });
  for (const [type, coding] of [
    ['text/plain', null],
    ['', null],
    ['application/json', null],
    ['application/json', 'gzip'],
    ['text/event-stream', 'utf-8'],
    ['text/event-stream; charset=utf-8', 'None'],
  ] as const) {
    for (const [text, expected, usage] of [
      [whole, { terminal: true, failed: false }, USAGE],
      [`\ufeff${whole.trimEnd()}`, { terminal: true, failed: false }, USAGE],
      [chunk('a'), { terminal: false, failed: false }, null],
      [broken, { terminal: true, failed: true }, null],
    ] as const) {
      for (const size of [1, 50, 100_000]) {
        const tap = tapOf(type, coding, { ...PLAIN, keepText: true });
        const bytes = coding === 'gzip' ? gzipSync(text) : Buffer.from(text);
        const passed: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += size) {
          passed.push(tap.push(Buffer.from(bytes.subarray(at, at + size))) ?? Buffer.alloc(0));
        }
        await tap.decoded();
        passed.push(tap.end() ?? Buffer.alloc(0));
        t.ok(Buffer.concat(passed).equals(bytes));
        t.match(tap, { isAnswer: true, ...expected }, `${type} ${coding}: ${text}`);
        t.match(tap.reading(), { usage, model: 'gpt-x', delivered: { form: 'events' } });
      }
    }
  }
});

t.test('bytes that are not what their encoding says are whole for nobody', async (t) => {
  const whole = gzipSync('{"choices":[{"index":0}]}');
  const damaged = Buffer.from(whole);
  damaged.fill(0xff, 10, 20);
  const tap = tapOf('application/json', 'gzip');
  tap.push(damaged);
  await tap.decoded();
  t.notOk(tap.terminal);
  const plain = tapOf('application/json', 'gzip');
  plain.push(Buffer.from('{"choices":[{"index":0}]}'));
  await plain.decoded();
  t.notOk(plain.terminal, 'not compressed at all');
});
