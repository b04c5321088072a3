// One exchange from its start to each of its ends, transition by transition. The test is the upstream, the client and the
// clock.
import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import { Fault } from '../../../proxy/errors/fault.ts';
import { chat } from '../../../proxy/protocols/chat.ts';
import { gemini } from '../../../proxy/protocols/gemini.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import type { UpstreamRequest } from '../../../proxy/relay/upstream-request.ts';
import {
  NO_CLOCKS,
  NO_OBSERVATION,
  NotingSink,
  play,
  type Options,
  type Played,
} from './fixture/exchange.ts';
import { chunk, data, DONE, named, USAGE, usageOnly } from './fixture/streams.ts';

const JSON_TYPE = ['content-type', 'application/json'] as const;
const SSE_TYPE = ['content-type', 'text/event-stream'] as const;
const ROLE = data({
  choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
});
const ERROR_EVENT = data({ error: { message: 'overloaded', type: 'server_error', code: 503 } });
const READ_ON = { readOn: { ms: 1_000, most: 2 } };
const LARGE = 'x'.repeat(262_145);

/** The request is out. */
function sent(options: Options = {}): Played {
  const played = play(options);
  played.upstream.onSent();
  return played;
}

/** A stream of which a token has come. */
function streaming(options: Options = {}): Played {
  const played = sent(options);
  played.upstream.head(200, ...SSE_TYPE);
  played.upstream.data(chunk('a'));
  return played;
}

const code = (played: Played): Promise<unknown> =>
  played.ended.then(
    ({ end }) => end,
    (thrown: unknown) => (thrown instanceof Fault ? thrown.code : thrown),
  );

t.test('a small response is gathered: nothing leaves before its record is settled', async (t) => {
  const played = sent();
  const { upstream, sink, clock } = played;
  clock.advance(20);
  upstream.head(200, ...JSON_TYPE, 'content-length', '20', 'x-cost', '0.5', 'x-call-id', 'up-1');
  t.equal(played.valid(), 1);
  upstream.data('{"id":"x",');
  clock.advance(5);
  upstream.data('"usage":{}}');
  upstream.onEnd(true);
  const outcome = await played.ended;
  t.match(outcome, {
    end: 'complete',
    status: 200,
    fault: null,
    readOn: null,
    responseBytes: 21,
    upstreamMs: 25,
    upstreamCost: '0.5',
    upstreamCallId: 'up-1',
    firstByteAt: 1_020,
  });
  t.equal(outcome.unsent?.map(String).join(''), '{"id":"x","usage":{}}');
  t.same(sink.calls, []);
  t.equal(sink.watcher, null);
  t.equal(played.watched(), 0);
  t.equal(played.bodySent(), 1);
  outcome.finish(['x-more', '1']);
  t.same(sink.calls, ['head 200', 'end {"id":"x","usage":{}}']);
  t.equal(sink.header('content-length'), '21');
  t.equal(sink.header('x-own'), '200 after 25');
  t.equal(sink.header('x-more'), '1');
});

t.test('a refusal is gathered too, and is not called valid', async (t) => {
  for (const type of [JSON_TYPE, ['content-type', 'text/html'] as const, SSE_TYPE]) {
    const played = sent({ request: { holdsHead: true } });
    played.upstream.head(503, ...type, 'retry-after', '7');
    played.upstream.data('no');
    played.upstream.onEnd(false);
    const outcome = await played.ended;
    t.match(outcome, { end: 'upstream_error', status: 503, retryAfter: '7' });
    t.equal(played.valid(), 0);
    t.equal(played.bodySent(), 0, 'the system does not have all of the request yet');
    outcome.finish([]);
    t.same(played.sink.calls, ['head 503', 'end no']);
  }
});

t.test('a document that ends in the middle is passed on as it came, and called truncated', async (t) => {
  const played = sent();
  played.upstream.head(200, ...JSON_TYPE);
  played.upstream.data('{"id":');
  played.upstream.onEnd(true);
  t.match(await played.ended, { end: 'truncated', fault: null });
});

t.test('a response without a body has no length of ours', async (t) => {
  const played = sent();
  played.upstream.head(204);
  played.upstream.onEnd(true);
  const outcome = await played.ended;
  outcome.finish([]);
  t.equal(outcome.end, 'upstream_error', 'a model was asked, and said nothing');
  t.same(played.sink.calls, ['head 204', 'end ']);
  t.equal(played.sink.header('content-length'), undefined);
});

t.test(
  'a stream that was asked for is one whatever it is called, from the first byte that says so',
  async (t) => {
    for (const type of [JSON_TYPE, ['content-type', 'text/html'] as const, []])
      for (const holdsHead of [false, true]) {
        const { upstream, sink, ended } = sent({ request: { wantsStream: true, holdsHead } });
        upstream.head(200, ...type);
        upstream.data('da');
        t.same(sink.calls, []);
        upstream.data(chunk('a').slice(2));
        t.same(sink.calls, ['head 200', `write ${chunk('a')}`]);
        t.match(
          [sink.header('content-type'), sink.header('cache-control')],
          ['text/event-stream', 'no-cache'],
        );
        upstream.onError(new Error('reset'));
        t.match(await ended, { end: 'truncated', isStream: true, fault: { code: 'stream_broken' } });
      }
  },
);

t.test('a document that is called a stream is gathered as one', async (t) => {
  for (const holdsHead of [false, true]) {
    const { upstream, sink, ended } = sent({ request: { holdsHead } });
    upstream.head(200, ...SSE_TYPE);
    upstream.data('{"id":');
    upstream.data('"x"}');
    upstream.onEnd(true);
    const outcome = await ended;
    t.match(outcome, { end: 'complete', isStream: false, reading: { id: 'x' } });
    t.same(sink.calls, []);
    outcome.finish([]);
    t.same(sink.calls, ['head 200', 'end {"id":"x"}']);
    t.equal(sink.header('content-type'), 'application/json');
  }
});

t.test('where no stream was asked for, the head waits for the first bytes', async (t) => {
  const { upstream, sink, ended } = sent();
  upstream.head(200, ...SSE_TYPE);
  await new Promise((resolve) => setImmediate(resolve));
  t.same(sink.calls, []);
  upstream.data('{"id":"x"}');
  upstream.onEnd(true);
  t.match(await ended, { end: 'complete', isStream: false, reading: { id: 'x' } });
});

t.test('no client gets the key of the entry', async (t) => {
  const apiKey = new Secret('sk-key-of-the-entry');
  const said = data({ error: { message: 'sk-key-of-the-entry is wrong' } });
  const { upstream, sink } = sent({ request: { apiKey } });
  upstream.head(200, ...SSE_TYPE, 'x-echo', 'Bearer sk-key-of-the-entry');
  upstream.data(chunk('sk-key-of-the-entry'));
  upstream.data(said);
  const stars = said.replace('sk-key-of-the-entry', '*'.repeat(19));
  t.same(sink.calls, ['head 200', `write ${chunk('sk-key-of-the-entry')}`, `write ${stars}`]);
  t.equal(sink.header('x-echo'), `Bearer ${'*'.repeat(19)}`);
});

t.test('a gathered document states the model that was asked for, where that is wanted', async (t) => {
  const observation = { ...NO_OBSERVATION, askedModel: 'asked' };
  const played = async (text: string, status = 200, ...list: string[]) => {
    const { upstream, sink, ended } = sent({ request: { observation } });
    upstream.head(status, ...JSON_TYPE, 'content-length', String(text.length), ...list);
    upstream.data(text.slice(0, 20));
    upstream.data(text.slice(20));
    upstream.onEnd(true);
    const outcome = await ended;
    t.equal(outcome.reading.model, list.length === 0 ? 'up' : null, 'the row has the other one');
    outcome.finish([]);
    return { said: sink.calls.at(-1)?.replace('end ', ''), length: sink.header('content-length') };
  };
  const text = '{"id":"x", "choices":[{"model":"up"}],"model":"up"}';
  const wanted = '{"id":"x", "choices":[{"model":"up"}],"model":"asked"}';
  t.same(await played(text), { said: wanted, length: String(wanted.length) });
  t.same(await played(text, 500), { said: text, length: String(text.length) }, 'an error stays');
  const coded = await played(text, 200, 'content-encoding', 'x-unknown');
  t.same(coded, { said: text, length: String(text.length) }, 'what is coded stays');
});

t.test('a large document flows, and states the model of the upstream', async (t) => {
  const observation = { ...NO_OBSERVATION, askedModel: 'asked' };
  const { upstream, sink, ended } = sent({ request: { observation } });
  upstream.head(200, ...JSON_TYPE);
  const text = `{"model":"up","choices":[],"text":"${LARGE}"}`;
  upstream.data(text);
  upstream.onEnd(true);
  const outcome = await ended;
  outcome.finish([]);
  t.same(sink.calls, ['head 200', `write ${text}`, 'end']);
});

t.test('what nobody asked to be a stream stays the document that it is called', async (t) => {
  const { upstream, sink, ended } = sent();
  upstream.head(200, ...JSON_TYPE);
  upstream.data(chunk('a', 'stop') + DONE);
  upstream.onEnd(true);
  const outcome = await ended;
  t.match(outcome, { end: 'complete', isStream: false });
  outcome.finish([]);
  t.equal(sink.header('content-type'), 'application/json');
});

t.test('a gathered response that grows large begins to flow; pieces go on as they come', async (t) => {
  const played = sent();
  const { upstream, sink } = played;
  upstream.head(200, ...JSON_TYPE);
  upstream.data('{"a":"');
  t.same(sink.calls, []);
  upstream.data(LARGE);
  t.same(sink.calls, ['head 200', 'write {"a":"', `write ${LARGE}`]);
  upstream.data('"}');
  upstream.onEnd(true);
  const outcome = await played.ended;
  t.match(outcome, { end: 'complete', unsent: null });
  outcome.finish([]);
  t.same(sink.calls.slice(3), ['write "}', 'end']);
});

t.test('of a large response with a length the last piece waits for its record', async (t) => {
  const played = sent();
  const { upstream, sink } = played;
  upstream.head(200, 'content-type', 'audio/mpeg', 'content-length', '4');
  t.same(sink.calls, ['head 200']);
  t.equal(sink.header('content-length'), '4');
  upstream.data('ab');
  t.same(sink.calls, ['head 200']);
  upstream.data('cd');
  t.same(sink.calls, ['head 200', 'write ab']);
  upstream.onEnd(true);
  (await played.ended).finish([]);
  t.same(sink.calls, ['head 200', 'write ab', 'end cd']);
});

t.test('a stream flows event by event', async (t) => {
  const played = streaming();
  const { upstream, sink } = played;
  t.equal(played.valid(), 1);
  t.equal(sink.header('cache-control'), 'no-cache');
  t.equal(sink.header('x-accel-buffering'), 'no');
  upstream.data(chunk('b', 'stop') + usageOnly);
  upstream.data(DONE);
  upstream.onEnd(true);
  const outcome = await played.ended;
  t.match(outcome, { end: 'complete', unsent: null, reading: { usage: USAGE } });
  t.same(sink.calls, [
    'head 200',
    `write ${chunk('a')}`,
    `write ${chunk('b', 'stop')}${usageOnly}`,
    `write ${DONE}`,
  ]);
  outcome.finish([]);
  t.equal(sink.calls.at(-1), 'end');
});

t.test('the head of a stream without a first event leaves by itself, once', async (t) => {
  for (const event of [null, chunk('a')]) {
    const played = sent({ request: { wantsStream: true } });
    played.upstream.head(200, ...SSE_TYPE);
    if (event !== null) played.upstream.data(event);
    await new Promise((resolve) => setImmediate(resolve));
    t.same(played.sink.calls, ['head 200', event === null ? 'flush' : `write ${event}`]);
  }
});

t.test('a held stream', async (t) => {
  const held = (): Played => {
    const played = sent({ request: { holdsHead: true } });
    played.upstream.head(200, ...SSE_TYPE);
    played.upstream.data(ROLE);
    t.same(played.sink.calls, [], 'nothing is sent before its first token');
    t.equal(played.valid(), 0);
    return played;
  };

  t.test('goes out with its first token', async (t) => {
    const played = held();
    played.upstream.data(chunk('a'));
    t.same(played.sink.calls, ['head 200', `write ${ROLE}`, `write ${chunk('a')}`]);
    t.equal(played.valid(), 1);
  });

  t.test('goes out when too much would have to be kept', (t) => {
    const played = held();
    played.upstream.data(`: ${LARGE}\n\n`);
    t.equal(played.sink.calls[0], 'head 200');
    t.end();
  });

  t.test('goes out as it comes when it is compressed', (t) => {
    const played = sent({ request: { holdsHead: true } });
    played.upstream.head(200, ...SSE_TYPE, 'content-encoding', 'gzip');
    played.upstream.onData(gzipSync(ROLE));
    t.equal(played.sink.calls[0], 'head 200');
    t.end();
  });

  t.test('that says an error ends at once; another upstream can take over', async (t) => {
    const played = held();
    played.upstream.data(ERROR_EVENT);
    const outcome = await played.ended;
    t.match(outcome, { end: 'upstream_error', status: 200 });
    t.equal(outcome.unsent?.length, 2);
    t.same(played.asked, ['resume'], 'what follows is read, so that the connection can be used again');
    outcome.finish([]);
    t.same(played.sink.calls, ['head 200', `write ${ROLE}`, `write ${ERROR_EVENT}`, 'end']);
  });

  t.test('that ends without a token is refused', async (t) => {
    const played = held();
    played.upstream.onEnd(true);
    t.equal(await code(played), 'stream_truncated');
    t.same(played.sink.calls, []);
  });

  t.test('that is called done without a token is refused at once', async (t) => {
    for (const isCut of [false, true]) {
      const played = sent({ request: { holdsHead: true } });
      played.upstream.head(200, ...SSE_TYPE);
      if (!isCut) played.upstream.data(`: ping\n\n${ROLE}`);
      played.upstream.data(isCut ? DONE.trimEnd() : DONE);
      if (isCut) played.upstream.onEnd(true);
      t.equal(await code(played), 'stream_truncated');
      t.same(played.sink.calls, []);
      t.equal(played.valid(), 0);
    }
  });

  t.test('may end with half an event', async (t) => {
    const played = held();
    played.upstream.data(chunk('', 'stop').trimEnd());
    played.upstream.onEnd(true);
    const outcome = await played.ended;
    t.equal(outcome.end, 'complete');
    outcome.finish([]);
    t.same(played.sink.calls, ['head 200', `write ${ROLE}`, `write ${chunk('', 'stop').trimEnd()}`, 'end']);
  });
});

t.test('a stream that breaks', async (t) => {
  t.test('before anything was sent is a fault, by how far it had come', async (t) => {
    const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const connecting = play();
    connecting.upstream.onError(refused);
    t.equal(await code(connecting), 'upstream_unreachable');
    const waiting = sent();
    waiting.upstream.onError(refused);
    t.equal(await code(waiting), 'upstream_broken', 'its work may have been done');
    const gathering = sent();
    gathering.upstream.head(200, ...JSON_TYPE);
    gathering.upstream.data('{');
    gathering.upstream.onError(reset);
    t.equal(await code(gathering), 'upstream_broken');
    for (const { sink, watched } of [connecting, waiting, gathering]) {
      t.same(sink.calls, []);
      t.equal(sink.watcher, null);
      t.equal(watched(), 0);
    }
  });

  t.test('ends with an error event, and then the connection is cut', async (t) => {
    const played = streaming();
    played.upstream.onError(new Error('reset'));
    const outcome = await played.ended;
    t.match(outcome, { end: 'truncated', fault: { code: 'stream_broken' }, unsent: null });
    outcome.finish([]);
    t.match(played.sink.calls.at(-1), /^write data: \{"error":.*stream_broken/);
  });

  t.test('within an event is cut without one: half a line would be joined to it', async (t) => {
    const played = sent();
    played.upstream.head(200, 'content-type', 'text/event-stream', 'content-encoding', 'gzip');
    played.upstream.onData(gzipSync(chunk('a')).subarray(0, 20));
    played.upstream.onError(new Error('reset'));
    (await played.ended).finish([]);
    t.equal(played.sink.calls.at(-1), 'destroy');
  });

  t.test('without its terminal event is truncated', async (t) => {
    const played = streaming();
    played.upstream.data('data: {"half');
    played.upstream.onEnd(true);
    t.match(await played.ended, { end: 'truncated', fault: { code: 'stream_truncated' } });
    t.notMatch(played.sink.calls.join(), 'half');
  });

  t.test('and is called done is truncated at once: SDKs would take it for whole', async (t) => {
    for (const encoding of ['identity', 'gzip'] as const) {
      const played = sent({ request: { protocol: messages } });
      played.upstream.head(200, ...SSE_TYPE, 'content-encoding', encoding);
      const said = named('content_block_delta', { delta: { type: 'text_delta', text: 'half an' } });
      if (encoding === 'gzip') {
        played.upstream.onData(gzipSync(said + DONE));
        played.upstream.onEnd(true);
      } else played.upstream.data(said + DONE);
      const outcome = await played.ended;
      t.match(outcome, { end: 'truncated', fault: { code: 'stream_truncated' } });
      if (encoding === 'gzip') continue;
      outcome.finish([]);
      t.same(played.sink.calls.slice(0, 2), ['head 200', `write ${said}`]);
      t.match(played.sink.calls.at(-1), /^write event: error\ndata: .*stream_truncated/);
    }
  });

  t.test('has the number that follows in its error event, where events have numbers', async (t) => {
    const numbered = (sequence_number: number, more: object = {}): string =>
      named('response.output_text.delta', { delta: 'x', ...more, sequence_number });
    const cases: readonly (readonly [events: readonly string[], want: number])[] = [
      [[numbered(0), numbered(1)], 2],
      [[numbered(40) + numbered(41)], 42], // a stored response, from the middle on
      [[numbered(0), numbered(7, { delta: '{"sequence_number":99}' }).slice(0, 9)], 1],
      [[numbered(7, { delta: '"sequence_number":99' })], 8],
      [[named('response.output_text.delta', { delta: 'x' })], 1],
      [[numbered(5), ': ping\n\n'], 6],
    ];
    for (const [events, want] of cases) {
      const played = sent({ request: { protocol: responses, errors: responses.errors } });
      played.upstream.head(200, ...SSE_TYPE);
      for (const event of events) played.upstream.data(event);
      played.upstream.onError(new Error('reset'));
      (await played.ended).finish([]);
      t.match(played.sink.calls.at(-1), /^write event: error\ndata: /);
      t.match(played.sink.calls.at(-1), `"sequence_number":${want},`);
    }
  });

  t.test(
    'with one of several choices in the middle is truncated, unless it says that it is done',
    async (t) => {
      const observation = { ...NO_OBSERVATION, lastEvent: 'done' } as const;
      const say = (index: number, content: string, finish: string | null = null): string =>
        data({ id: 'c', model: 'm', choices: [{ delta: { content }, finish_reason: finish, index }] });
      const both = say(0, 'a') + say(1, 'b');
      for (const [events, end] of [
        [both + say(0, '', 'stop'), 'truncated'],
        [both + say(1, '', 'stop'), 'truncated'],
        [both + say(1, '', 'stop') + say(0, '', 'length'), 'complete'],
        [both + say(0, '', 'stop') + DONE, 'complete'],
        [both + ERROR_EVENT, 'upstream_error'],
        // A gateway that knows no `n`, and calls with an index of their own in the one choice that it gives.
        [
          say(0, 'a') +
            data({ choices: [{ index: 0, delta: { tool_calls: [{ index: 1 }] } }] }) +
            say(0, '', 'stop'),
          'complete',
        ],
      ] as const) {
        const played = sent({ request: { observation } });
        played.upstream.head(200, ...SSE_TYPE);
        played.upstream.data(events);
        played.upstream.onEnd(true);
        t.equal((await played.ended).end, end, events);
      }
      const candidates = [
        { index: 0, finishReason: 'STOP' },
        { index: 1, content: { parts: [{ text: 'b' }] } },
      ];
      const played = sent({ request: { observation, protocol: gemini } });
      played.upstream.head(200, ...SSE_TYPE);
      played.upstream.data(data({ candidates }));
      played.upstream.onEnd(true);
      t.equal((await played.ended).end, 'truncated');
    },
  );

  t.test('with nothing but [DONE] is truncated', async (t) => {
    const played = sent();
    played.upstream.head(200, ...SSE_TYPE);
    played.upstream.data(DONE);
    const outcome = await played.ended;
    t.match(outcome, { end: 'truncated', fault: { code: 'stream_truncated' } });
    t.same(played.sink.calls, ['head 200']);
  });

  t.test('after its last event is whole', async (t) => {
    for (const stop of ['error', 'interrupt'] as const) {
      const played = streaming();
      played.upstream.data(chunk('b', 'stop') + DONE);
      if (stop === 'error') played.upstream.onError(new Error('reset'));
      else played.sink.watcher?.onInterrupt(new Fault('shutting_down', 'stops'));
      t.match(await played.ended, { end: 'complete', fault: null });
    }
  });

  t.test('by an error event is the error of the upstream', async (t) => {
    const played = streaming();
    played.upstream.data(ERROR_EVENT);
    played.upstream.onEnd(true);
    t.match(await played.ended, { end: 'upstream_error', fault: null, unsent: null });
  });
});

t.test('a compressed response is judged when it has been read', async (t) => {
  for (const [body, end] of [
    ['{"id":"x"}', 'complete'],
    ['{"id":', 'truncated'],
  ] as const) {
    const played = sent();
    played.upstream.head(200, ...JSON_TYPE, 'content-encoding', 'gzip');
    played.upstream.onData(gzipSync(body));
    played.upstream.onEnd(true);
    t.equal((await played.ended).end, end);
  }
  const left = sent();
  left.upstream.head(200, ...JSON_TYPE, 'content-encoding', 'gzip');
  left.upstream.onData(gzipSync('{"id":"x"}'));
  left.upstream.onEnd(true);
  left.sink.leave();
  t.match(await left.ended, { end: 'client_gone', reading: { id: 'x' } }, 'a client that leaves meanwhile');
});

t.test('a slow client stops the upstream, and its silence is not the upstream’s', async (t) => {
  const played = streaming({ request: { clocks: { ...NO_CLOCKS, idleMs: 100 } } });
  const { upstream, sink, asked } = played;
  sink.isSlow = true;
  upstream.data(chunk('b'));
  upstream.data(chunk('c')); // was on its way
  t.same(asked, ['pause']);
  played.pass(1_000);
  t.equal(played.watched(), 1);
  sink.isSlow = false;
  sink.watcher?.onDrain();
  sink.watcher?.onDrain();
  t.same(asked, ['pause', 'resume']);
  played.pass(100);
  t.equal(played.watched(), 1, 'the idle clock begins again');
  played.pass(1);
  t.equal(await code(played), 'timeout');
});

t.test('each clock', async (t) => {
  const clocks = { ...NO_CLOCKS, connectMs: 10, idleMs: 20, totalMs: 100 };
  const table: readonly [
    fault: string,
    request: Partial<UpstreamRequest>,
    afterMs: number,
    to: (played: Played) => void,
  ][] = [
    ['connect_timeout', { clocks }, 10, () => undefined],
    ['first_byte_timeout', { clocks, firstByteMs: 30 }, 30, ({ upstream }) => upstream.onSent()],
    ['first_token_timeout', { clocks, firstTokenMs: 15 }, 15, ({ upstream }) => upstream.onSent()],
    [
      'first_token_timeout',
      { clocks, firstTokenMs: 15, holdsHead: true },
      15,
      ({ upstream }) => {
        upstream.onSent();
        upstream.head(200, ...SSE_TYPE);
      },
    ],
    [
      'idle_timeout',
      { clocks, firstByteMs: 5 },
      20,
      ({ upstream }) => {
        upstream.onSent();
        upstream.head(200, ...JSON_TYPE);
      },
    ],
    ['total_timeout', { clocks: { ...clocks, totalMs: 8 } }, 8, () => undefined],
  ];
  for (const [fault, request, afterMs, to] of table) {
    const played = play({ request });
    to(played);
    played.pass(afterMs);
    t.equal(played.watched(), 1, `${fault}: not yet`);
    played.pass(1);
    t.equal(await code(played), fault);
    t.same(played.asked, ['destroy'], fault);
  }
  const flowing = streaming({ request: { clocks } });
  flowing.pass(21);
  t.match(await flowing.ended, { end: 'timeout', fault: { code: 'idle_timeout' } });
  t.same(flowing.asked, ['destroy']);
});

t.test('a request that is sent again has the whole time to connect', async (t) => {
  const clocks = { ...NO_CLOCKS, connectMs: 10, totalMs: 100 };
  const played = sent({ request: { clocks } });
  played.pass(50); // a connection that was used before, and closes without an answer
  played.upstream.onResend?.();
  played.pass(10);
  t.equal(played.watched(), 1, 'not yet');
  played.pass(1);
  t.equal(await code(played), 'connect_timeout');
  const late = sent({ request: { clocks } });
  late.pass(50);
  late.upstream.onResend?.();
  late.upstream.onSent();
  late.pass(50);
  late.pass(1);
  t.equal(await code(late), 'total_timeout');
});

t.test('a client that leaves', async (t) => {
  t.test('ends the exchange, wherever it stands', async (t) => {
    for (const to of [play, sent, streaming]) {
      const played = to();
      played.sink.leave();
      const outcome = await played.ended;
      t.match(outcome, { end: 'client_gone', readOn: null, fault: null });
      t.same(played.asked, ['destroy']);
      const before = played.sink.calls.length;
      outcome.finish([]);
      t.equal(played.sink.calls.length, before, 'nothing is said to nobody');
    }
  });

  t.test('had left before: nothing is sent upstream', async (t) => {
    const sink = new NotingSink();
    sink.destroyed = true;
    const played = play({ sink, request: READ_ON });
    t.match(await played.ended, { end: 'client_gone', status: null, readOn: null });
    t.throws(() => played.upstream.onSent(), /nothing was sent/);
    t.equal(played.watched(), 0);
  });

  t.test('before the request is out owes nothing', async (t) => {
    const played = play({ request: READ_ON });
    played.sink.leave();
    t.match(await played.ended, { end: 'client_gone', readOn: null });
  });
});

t.test('a detached response', async (t) => {
  t.test('is read to its end, and nothing is written', async (t) => {
    const played = streaming({ request: READ_ON });
    played.sink.leave();
    t.equal(played.detached.size, 1);
    const before = [...played.sink.calls];
    played.upstream.data(chunk('b', 'stop') + usageOnly + DONE);
    played.upstream.onEnd(true);
    const outcome = await played.ended;
    t.match(outcome, {
      end: 'client_gone',
      readOn: 'whole',
      fault: null,
      unsent: null,
      reading: { usage: USAGE },
    });
    outcome.finish([]);
    t.same(played.sink.calls, before);
    t.equal(played.detached.size, 0);
  });

  t.test('goes through the same stages', async (t) => {
    const waiting = sent({ request: READ_ON });
    waiting.sink.leave();
    waiting.upstream.head(200, ...JSON_TYPE);
    waiting.upstream.data('{"id":"x"}');
    waiting.upstream.onEnd(true);
    t.match(await waiting.ended, { readOn: 'whole', status: 200, reading: { id: 'x' } });
    const holding = sent({ request: { ...READ_ON, holdsHead: true } });
    holding.upstream.head(200, ...SSE_TYPE);
    holding.sink.leave();
    holding.upstream.data(chunk('a'));
    t.equal(holding.valid(), 1);
    holding.upstream.onEnd(true);
    t.match(await holding.ended, { end: 'client_gone', readOn: 'broken', fault: null, unsent: null });
    t.same(holding.sink.calls, []);
    const silent = sent({ request: { ...READ_ON, holdsHead: true } });
    silent.upstream.head(200, ...SSE_TYPE);
    silent.sink.leave();
    silent.upstream.onEnd(true);
    t.match(await silent.ended, { end: 'client_gone', readOn: 'broken' });
  });

  t.test('of a slow client flows again', (t) => {
    const played = sent({ request: READ_ON });
    played.upstream.head(200, ...SSE_TYPE);
    played.sink.isSlow = true;
    played.upstream.data(chunk('a'));
    played.sink.leave();
    t.same(played.asked, ['pause', 'resume']);
    t.end();
  });

  t.test('ends by its own time, by the clocks, by an error, and when the proxy stops', async (t) => {
    const late = streaming({ request: READ_ON });
    late.sink.leave();
    late.pass(1_000);
    t.equal(late.watched(), 1);
    late.pass(1);
    t.match(await late.ended, { end: 'client_gone', readOn: 'given_up' });
    const idle = sent({ request: { ...READ_ON, firstByteMs: 10 } });
    idle.sink.leave();
    idle.pass(11);
    t.match(await idle.ended, { end: 'client_gone', readOn: 'broken', fault: null });
    const broken = sent({ request: READ_ON });
    broken.sink.leave();
    broken.upstream.onError(new Error('reset'));
    t.match(await broken.ended, { end: 'client_gone', readOn: 'broken', fault: null, status: null });
    const stopped = streaming({ request: READ_ON });
    stopped.sink.leave();
    stopped.detached.giveUp();
    t.match(await stopped.ended, { end: 'client_gone', readOn: 'given_up' });
    t.same(stopped.asked, ['destroy']);
    t.equal(stopped.detached.size, 0);
    const cancelled = streaming({ request: READ_ON });
    cancelled.sink.leave();
    cancelled.handle.cancel();
    t.match(await cancelled.ended, { end: 'client_gone', readOn: 'broken' });
  });

  t.test('is one of so many; the next one is aborted', async (t) => {
    const played = streaming({ request: { readOn: { ms: 1_000, most: 0 } } });
    played.sink.leave();
    t.match(await played.ended, { end: 'client_gone', readOn: null });
  });

  t.test(
    'that is kept for a repeated call is sent even so, also when it had no connection yet',
    async (t) => {
      const sink = new NotingSink();
      sink.keeps = true;
      const played = play({ sink, request: READ_ON });
      sink.leave();
      played.upstream.onSent();
      played.upstream.head(200, ...JSON_TYPE);
      played.upstream.data('{}');
      played.upstream.onEnd(true);
      const outcome = await played.ended;
      t.match(outcome, { end: 'client_gone', readOn: 'whole' });
      outcome.finish([]);
      t.same(sink.calls, ['head 200', 'end {}']);
    },
  );
});

t.test('the proxy stops', async (t) => {
  const fault = new Fault('shutting_down', 'The proxy stops.');
  const waiting = sent();
  waiting.sink.watcher?.onInterrupt(fault);
  t.equal(await code(waiting), 'shutting_down');
  const flowing = streaming();
  flowing.sink.watcher?.onInterrupt(fault);
  const outcome = await flowing.ended;
  t.match(outcome, { end: 'stopped', fault: { code: 'shutting_down' } });
  outcome.finish([]);
  t.match(flowing.sink.calls.at(-1), /^write data: .*shutting_down/);
  const sink = new NotingSink();
  sink.interrupted = fault;
  const late = play({ sink });
  t.equal(await code(late), 'shutting_down');
  t.throws(() => late.upstream.onSent(), /nothing was sent/);
});

t.test('whoever started an exchange ends it', async (t) => {
  const cancelled = streaming();
  cancelled.handle.cancel();
  t.match(await cancelled.ended, { end: 'client_gone' });
  const aborted = streaming();
  aborted.handle.abort(new Fault('stream_broken', 'not what was asked for'));
  t.match(await aborted.ended, { end: 'truncated', fault: { code: 'stream_broken' } });
  const early = sent();
  early.handle.abort(new Fault('stream_broken', 'not what was asked for'));
  t.equal(await code(early), 'stream_broken');
});

t.test('after its end an exchange does nothing', async (t) => {
  const played = streaming({ request: READ_ON });
  played.upstream.onError(new Error('reset'));
  const outcome = await played.ended;
  const calls = [...played.sink.calls];
  const other = { onClose: () => undefined, onDrain: () => undefined, onInterrupt: () => undefined };
  played.sink.watcher = other;
  played.upstream.onSent();
  played.upstream.head(200, ...JSON_TYPE);
  played.upstream.data('late');
  played.upstream.onEnd(true);
  played.upstream.onError(new Error('again'));
  played.handle.cancel();
  played.handle.abort(new Fault('stream_broken', 'again'));
  played.pass(100_000);
  t.same(played.sink.calls, calls);
  t.equal(played.sink.watcher, other, 'the next one watches the client now');
  t.equal(await played.ended, outcome);
});

t.test('a bug ends one exchange and leaves nobody waiting', async (t) => {
  const bug = new TypeError('a bug');
  const broken = (): never => {
    throw bug;
  };

  t.test('in sending', async (t) => {
    const played = play({ send: broken });
    t.equal(await code(played), bug);
    t.equal(played.watched(), 0);
    t.equal(played.sink.watcher, null);
  });

  t.test('in our own head of a stream: nothing was sent, so the client can get an error', async (t) => {
    for (const headWriter of [{ ownHeaders: broken }, { ownHeaders: () => [], onValid: broken }]) {
      const played = sent({ headWriter, request: { wantsStream: true } });
      t.doesNotThrow(() => played.upstream.head(200, ...SSE_TYPE));
      t.equal(await code(played), 'internal_error');
      t.same(played.asked, ['destroy']);
      t.same(played.sink.calls, []);
    }
    const refusing = new NotingSink();
    refusing.writeHead = broken;
    const played = sent({ sink: refusing, request: { wantsStream: true } });
    played.upstream.head(200, ...SSE_TYPE);
    t.equal(await code(played), 'internal_error');
  });

  t.test('in reading the response at its end', async (t) => {
    const answers = { ...chat.response, usageIn: broken };
    for (const encoding of [[], ['content-encoding', 'gzip']]) {
      const played = sent({ request: { protocol: { ...chat, response: answers } } });
      played.upstream.head(200, ...JSON_TYPE, ...encoding);
      const body = Buffer.from('{"id":"x","usage":{}}');
      played.upstream.onData(encoding.length > 0 ? gzipSync(body) : body);
      try {
        played.upstream.onEnd(true);
      } catch (error) {
        played.upstream.onError(error as Error); // as the upstream's side does
      }
      t.equal(await code(played), 'internal_error');
      t.equal(played.watched(), 0);
    }
    const left = sent({ request: { protocol: { ...chat, response: answers } } });
    left.upstream.head(200, ...JSON_TYPE);
    left.upstream.data('{"id":"x","usage":{}}');
    left.sink.leave();
    t.equal(await code(left), 'internal_error', 'also when the client has left');
  });

  t.test('in judging a whole answer when the client has left or the proxy stops', async (t) => {
    for (const tell of ['onClose', 'onInterrupt'] as const) {
      const protocol = { ...chat };
      const played = streaming({ request: { protocol } });
      played.upstream.data(`${chunk('b', 'stop')}${DONE}`);
      played.sink.written?.();
      Object.defineProperty(protocol, 'events', { get: broken });
      const { watcher } = played.sink;
      t.doesNotThrow(() => watcher?.[tell](new Fault('shutting_down', 'The proxy stops.')));
      t.equal(await code(played), 'internal_error', tell);
      t.same([played.watched(), played.sink.watcher], [0, null]);
    }
  });

  t.test('in its clocks', async (t) => {
    const clocks = Object.defineProperty({ ...NO_CLOCKS }, 'totalMs', { get: broken });
    const played = sent({ request: { clocks } });
    played.pass(50);
    t.equal(await code(played), 'internal_error');
    t.same(played.asked, ['destroy']);
    t.equal(played.watched(), 0);
  });

  t.test('in changing a response that nobody has got yet', async (t) => {
    const apiKey = new Secret('sk-upstream-secret');
    const played = sent({ request: { apiKey } });
    played.upstream.head(400, ...JSON_TYPE);
    apiKey.reveal = broken;
    played.upstream.data('{"error":{}}');
    played.upstream.onEnd(true);
    t.equal(await code(played), 'internal_error');
    t.equal(played.watched(), 0);
  });

  t.test('in telling a client that the proxy stops', async (t) => {
    const played = streaming({ request: { errors: { ...chat.errors, event: broken } } });
    played.sink.watcher?.onInterrupt(new Fault('shutting_down', 'The proxy stops.'));
    t.equal(await code(played), 'internal_error');
    t.same(played.asked, ['destroy', 'destroy']);
  });
});
