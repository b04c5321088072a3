// The tap on event streams: what it passes on and when. eventsource-parser is the second opinion on events.
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import { SseTap } from '../../../proxy/relay/sse-tap.ts';
import {
  DONE,
  KEEP,
  PROTOCOLS,
  STRIP,
  USAGE,
  chunk,
  cutAt,
  data,
  mayLackDone,
  named,
  run,
  stateOf,
  usageOnly,
} from './fixture/streams.ts';
import { runs } from '../../support/runs.ts';

t.test('a chunk that ends with a whole event is passed on as the same Buffer', (t) => {
  const tap = new SseTap(chat.events, STRIP);
  for (const text of [
    chunk('a'),
    chunk('b') + chunk('c'),
    ': ping\n\n',
    'data: x\r\n\r\n',
    'data: x\r\r',
    'data: x\n\r',
  ]) {
    const bytes = Buffer.from(text);
    t.equal(tap.push(bytes), bytes, JSON.stringify(text));
  }
  t.equal(tap.push(Buffer.alloc(0)), null);
  t.end();
});

t.test('an unfinished event is held until it is whole', (t) => {
  const tap = new SseTap(chat.events, KEEP);
  const push = (text: string): string | undefined => tap.push(Buffer.from(text))?.toString();
  t.equal(push('data: 1\n\ndata: 2'), 'data: 1\n\n');
  t.ok(tap.midEvent);
  t.equal(push('\n'), undefined);
  t.equal(push('id: 7'), undefined);
  t.equal(push('\n\ndata: 3\n\nda'), 'data: 2\nid: 7\n\ndata: 3\n\n');
  t.equal(tap.events, 3);
  t.equal(tap.end()?.toString(), 'da', 'at a clean end the rest is passed on as it came');
  t.match(stateOf(tap), { midEvent: false, torn: false }, 'nothing of it had been passed on before');
  t.equal(tap.end(), null);
  t.end();
});

t.test('held bytes do not change when the chunk they came in is used again', (t) => {
  const tap = new SseTap(chat.events, KEEP);
  const shared = Buffer.from('data: 1');
  tap.push(shared);
  shared.fill('x');
  t.equal(tap.push(Buffer.from('\n\n'))?.toString(), 'data: 1\n\n');
  t.end();
});

t.test('chat: the usage event is left out for a client that did not ask, and only that event', (t) => {
  const kept = [
    chunk('hi'),
    data({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: USAGE }), // usage in the last chunk with a choice
    data({ choices: [], usage: null }),
    data({ choices: [], prompt_filter_results: [] }),
    data({ usage: USAGE }),
    `: "choices":[],"usage":{}\n\n`,
    data({ choices: [], usage: USAGE, error: { message: 'x' } }),
    DONE,
  ];
  for (let at = 0; at <= kept.length; at++) {
    const stream = [...kept.slice(0, at), usageOnly, ...kept.slice(at)];
    t.equal(run(chat, stream, STRIP).all.toString(), kept.join(''), `one event each, left out at ${at}`);
    t.equal(
      run(chat, [stream.join('')], STRIP).all.toString(),
      kept.join(''),
      `one chunk, left out at ${at}`,
    );
  }
  const { tap, passed } = run(chat, [usageOnly, DONE], STRIP);
  t.strictSame(passed, [null, DONE, null]);
  t.strictSame(tap.usage, USAGE, 'left out, but read');
  t.equal(run(chat, [usageOnly, DONE], KEEP).all.toString(), usageOnly + DONE);
  const azure = data({ id: '', model: '', choices: [], prompt_filter_results: [] });
  t.equal(run(chat, [azure, usageOnly], STRIP).all.toString(), azure, 'no usage, no usage event');
  t.end();
});

t.test(
  'an event that is left out takes the LF of its last CRLF with it, whichever chunk that comes in',
  (t) => {
    const stream = `data: 1\r\n\r\n${usageOnly.replaceAll('\n', '\r\n')}data: 2\r\n\r\n`;
    for (let at = 0; at <= stream.length; at++) {
      const chunks = [stream.slice(0, at), stream.slice(at)];
      if (run(chat, chunks, STRIP).all.toString() !== 'data: 1\r\n\r\ndata: 2\r\n\r\n')
        t.fail(`cut at ${at}`);
    }
    const kept = run(chat, ['data: 1\r\n\r', '\n', 'data: 2\r\n\r', '\ndata: 3\n\n']);
    t.strictSame(kept.passed, ['data: 1\r\n\r', '\n', 'data: 2\r\n\r', '\ndata: 3\n\n', null]);
    t.end();
  },
);

t.test('an event larger than the bound is passed on as it comes, and its outline is read', (t) => {
  const big = 'y'.repeat(300_000);
  const tap = new SseTap(responses.events, STRIP);
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const event = named('response.completed', {
    response: { id: 'r', instructions: big, usage, user: null },
    sequence_number: 9,
  });
  const first = event.slice(0, 270_000);
  t.equal(tap.push(Buffer.from(first.slice(0, 200_000))), null);
  t.equal(tap.push(Buffer.from(first.slice(200_000)))?.toString(), first);
  t.match(stateOf(tap), { torn: true, midEvent: true, terminal: false });
  t.equal(tap.push(Buffer.from(event.slice(270_000)))?.toString(), event.slice(270_000));
  t.match(stateOf(tap), { torn: false, midEvent: false, terminal: true, finished: true, usage, events: 1 });
  t.equal(
    tap.push(Buffer.from('data: small\n\nda'))?.toString(),
    'data: small\n\n',
    'the next event is held as ever',
  );

  const whole = run(responses, [event], STRIP);
  t.equal(whole.all.toString(), event);
  t.match(stateOf(whole.tap), { terminal: true, usage }, 'however it is cut up');
  const half = run(responses, [event.slice(0, -40)], STRIP);
  t.match(stateOf(half.tap), { terminal: false, torn: true }, 'half of it is no end');
  const error = run(chat, [data({ error: { type: 'server_error', code: null, message: big } })]).tap;
  t.match(stateOf(error), { failed: true, finished: true });
  const fooled = run(chat, [chunk(`${big}"usage":{"prompt_tokens":1}`)]).tap;
  t.equal(fooled.usage, null, 'a usage inside a text is not taken for one');
  t.end();
});

t.test('a stream of one endless event costs bounded memory and linear time, byte by byte', (t) => {
  const tap = new SseTap(chat.events, { stripUsage: true, maxHeldBytes: 10_000 });
  const lines = Buffer.from('data: x\n'.repeat(100_000));
  let passed = 0;
  for (let i = 0; i < lines.length; i++) passed += tap.push(lines.subarray(i, i + 1))?.length ?? 0;
  t.equal(passed, lines.length);
  t.match(stateOf(tap), { torn: true, events: 0 });
  t.equal(tap.end(), null);
  t.end();
});

t.test('however a stream is cut up, the same bytes pass and the same is read', (t) => {
  const events: Record<string, fc.Arbitrary<string>> = {
    chat: fc.constantFrom(chunk('hé€😀'), chunk('', 'stop'), usageOnly, DONE, chunk('[DONE]"usage"')),
    odd: fc.constantFrom(
      ': ping\n\n',
      '\n',
      'data\n\n',
      'event: x\n\n',
      'data: {"choices":[],\ndata: "usage":{"a":1}}\n\n',
      'id: 1\n',
    ),
    error: fc.constantFrom('event: error\ndata: {}\n\n', data({ error: { code: 'c' } })),
    rest: fc.constantFrom(
      named('message_start', { message: { id: 'm', usage: { input_tokens: 1 } } }),
      named('message_stop', {}),
      named('response.completed', { response: { id: 'r', usage: { input_tokens: 1 } } }),
      named('a.done', {}),
    ),
  };
  const {
    chat: chunks,
    odd,
    error,
    rest,
  } = events as Record<'chat' | 'odd' | 'error' | 'rest', fc.Arbitrary<string>>;
  const event = fc.oneof(
    { weight: 5, arbitrary: chunks },
    { weight: 3, arbitrary: odd },
    { weight: 1, arbitrary: error },
    rest,
  );
  const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
  const stream = fc
    .tuple(
      fc.constantFrom('', '\ufeff'),
      fc.array(fc.tuple(event, lineEnd), { maxLength: 8 }),
      fc.constantFrom('', 'data: {"usa', 'data: [DONE]', '\r', '\n'),
    )
    .map(([bom, parts, tail]) =>
      Buffer.from(bom + parts.map(([text, end]) => text.replaceAll('\n', end)).join('') + tail),
    );
  fc.assert(
    fc.property(
      stream,
      fc.array(fc.nat(), { maxLength: 12 }),
      fc.constantFrom(...PROTOCOLS),
      fc.boolean(),
      (bytes, cuts, protocol, stripUsage) => {
        const whole = run(protocol, [bytes], { stripUsage });
        const pieces = run(protocol, cutAt(bytes, cuts), { stripUsage });
        const single = run(
          protocol,
          cutAt(
            bytes,
            Array.from(bytes, (_, i) => i),
          ),
          { stripUsage },
        );
        const state = JSON.stringify(stateOf(whole.tap));
        return (
          whole.all.equals(pieces.all) &&
          whole.all.equals(single.all) &&
          state === JSON.stringify(stateOf(pieces.tap)) &&
          state === JSON.stringify(stateOf(single.tap)) &&
          (stripUsage || mayLackDone(bytes) || whole.all.equals(bytes)) &&
          eventsOf(bytes.toString()) === whole.tap.events - eventsInTail(bytes)
        );
      },
    ),
    { numRuns: runs(250) },
  );
  t.pass('all runs');
  t.end();
});

t.test('what has been passed on is whole events at any moment', (t) => {
  const stream = Buffer.from([chunk('a'), ': ping\r\n\r\n', usageOnly, 'data: x\r\r', DONE].join(''));
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 12 }), (cuts) => {
      const tap = new SseTap(chat.events, KEEP);
      let passed = '';
      return cutAt(stream, cuts).every((piece) => {
        passed += tap.push(piece)?.toString() ?? '';
        return passed === '' || /(?:\n\n|\r\r\n?|\n\r\n?)$/.test(passed);
      });
    }),
    { numRuns: runs(250) },
  );
  t.pass('all streams');
  t.end();
});

/** Events that the second opinion dispatches. */
function eventsOf(text: string): number {
  let events = 0;
  const parser = createParser({ onEvent: () => events++ });
  parser.feed(text);
  return events;
}

/** The tap also reads an event that lacks its blank line at the end; by the specification it is no event. */
function eventsInTail(bytes: Buffer): number {
  const tap = new SseTap(chat.events, KEEP);
  tap.push(bytes);
  const before = tap.events;
  tap.end();
  return tap.events - before;
}
