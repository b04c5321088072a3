// How an answer is observed is chosen by its head: as events, as JSON, through a decoder, or not at all.
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { tapFor, type Tap } from '../../../proxy/relay/tap.ts';
import { NO_OBSERVATION } from './fixture/exchange.ts';
import { DONE, USAGE, chunk, usageOnly } from './fixture/streams.ts';

const PLAIN = NO_OBSERVATION;
const tapOf = (contentType: string, contentEncoding: string | null = null, wanted = PLAIN): Tap =>
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
    chat,
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
  t.match(tap, { terminal: true, failed: false, finished: false });
  t.strictSame(tap.reading().usage, USAGE);
  const unknown = tapOf('application/json', 'x-unknown');
  unknown.push(Buffer.from('??'));
  await unknown.decoded();
  t.ok(unknown.terminal, 'what cannot be read is not called cut short');
});

t.test('anything else is not read', async (t) => {
  for (const type of ['audio/mpeg', 'text/html', '']) {
    const tap = tapOf(type);
    const bytes = Buffer.from('{"usage":{"a":1}}');
    t.equal(tap.push(bytes), bytes);
    t.match(tap, { streams: false, terminal: true, failed: false });
    t.equal(tap.reading().usage, null, type);
  }
});
