// Streams from the first event to the last: usage that was or was not asked for, streams that break in every way there
// is, clients that leave. An end is never prettier than it was.
import t from 'tap';
import { openCall, startUpstream } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import {
  chat,
  defaultConfig,
  lastSeen,
  rowOf,
  send,
  startRig,
  type Answer,
  type Rig,
} from '../support/rig.ts';

const ENDPOINTS = {
  chat: {
    path: '/v1/chat/completions',
    ask: { messages: [{ role: 'user', content: 'one two' }] },
    end: 'data: [DONE]',
  },
  completions: { path: '/v1/completions', ask: { prompt: 'one two' }, end: 'data: [DONE]' },
  responses: { path: '/v1/responses', ask: { input: 'one two' }, end: 'event: response.completed' },
  messages: {
    path: '/v1/messages',
    ask: { max_tokens: 9, messages: [{ role: 'user', content: 'one two' }] },
    end: 'event: message_stop',
  },
} as const;
type Name = keyof typeof ENDPOINTS;
const NAMES = Object.keys(ENDPOINTS) as Name[];

function stream(rig: Rig, name: Name, model: string, more: object = {}): Promise<Answer> {
  const { path, ask } = ENDPOINTS[name];
  const answer = send(rig.url, 'POST', path, { model, stream: true, ...ask, ...more });
  return model.endsWith('-stall') ? clock.during(answer) : answer;
}

const clocks = 'router_settings: { default_litellm_params: { idle_timeout: 0.25 } }';
const clock = new ManualClock();
const rig = await startRig(t, { clock, config: (demo) => defaultConfig(demo, clocks) });

t.test('usage that nobody asked for', async (t) => {
  t.test('is asked for and kept: the client gets what it would have got', async (t) => {
    for (const name of ['chat', 'completions'] as const) {
      // The twin that asks shows all events; ids and times differ from call to call.
      const plain = (text: string): string[] =>
        text.replaceAll(/"(id|created)":("[^"]*"|\d+)/g, '"$1":0').split('\n\n');
      const asked = await stream(rig, name, 'demo-x', { stream_options: { include_usage: true } });
      const silent = await stream(rig, name, 'demo-x');
      t.match(asked.text, /"choices":\[\],"usage":\{"prompt_tokens":5/);
      t.notMatch(silent.text, /"usage":\{/);
      const expected = plain(asked.text).filter((event) => !event.includes('"choices":[]'));
      t.same(plain(silent.text), expected);
      for (const answer of [asked, silent]) {
        t.match(await rowOf(rig, answer), {
          prompt_tokens: 5,
          usage_source: 'upstream',
          end_reason: 'complete',
        });
      }
      t.match(JSON.parse(lastSeen(rig).body.toString()), { stream_options: { include_usage: true } });
    }
  });
  t.test('is kept also from a client that says no', async (t) => {
    const answer = await chat(rig, 'demo-x', { stream: true, stream_options: { include_usage: false } });
    t.notMatch(answer.text, /"usage":\{/);
    t.match(await rowOf(rig, answer), { usage_source: 'upstream' });
  });
  t.test('comes anyway on the last chunk of some gateways, and stays there', async (t) => {
    const answer = await chat(rig, 'demo-usage-in-last', { stream: true });
    t.match(answer.text, /"finish_reason":"stop"\}\],"usage":\{/);
    t.match(await rowOf(rig, answer), { usage_source: 'upstream' });
  });
  t.test('is not asked for where streams always have it: the body stays as it is', async (t) => {
    for (const name of ['responses', 'messages'] as const) {
      const answer = await stream(rig, name, 'demo-x');
      t.notMatch(lastSeen(rig).body.toString(), /stream_options/);
      t.match(await rowOf(rig, answer), { prompt_tokens: 5, completion_tokens: 9, end_reason: 'complete' });
    }
  });
  t.test('events cut at every byte are still told apart', async (t) => {
    for (const model of ['demo-bytewise-crlf', 'demo-bytewise-pings', 'compat-bytewise-cached']) {
      const answer = await chat(rig, model, { stream: true });
      t.notMatch(answer.text, /"usage":\{/);
      t.match(answer.text, /data: \[DONE\]\r?\n\r?\n$/);
      t.match(await rowOf(rig, answer), {
        prompt_tokens: 6,
        usage_source: 'upstream',
        end_reason: 'complete',
      });
    }
  });
  t.test('an event too large to hold passes on, and the usage behind it is kept all the same', async (t) => {
    const answer = await chat(rig, 'demo-big-event', { stream: true });
    t.match(answer.text, /x{300000}/);
    t.notMatch(answer.text, /"usage":\{/);
    t.match(await rowOf(rig, answer), { prompt_tokens: 6, usage_source: 'upstream', end_reason: 'complete' });
  });
  t.test('a gateway that states none leaves a row that says so', async (t) => {
    const answer = await chat(rig, 'demo-no-usage', { stream: true });
    t.match(await rowOf(rig, answer), {
      usage: null,
      usage_source: 'estimate',
      end_reason: 'complete',
      spend: null,
    });
  });
});

t.test('always_include_stream_usage', async (t) => {
  const withSetting = (value: boolean): Promise<Rig> =>
    startRig(t, {
      config: (demo) =>
        defaultConfig(demo).replace(
          'general_settings:',
          `general_settings:\n  always_include_stream_usage: ${value}`,
        ),
    });
  t.test('true: asked for and handed on', async (t) => {
    const always = await withSetting(true);
    const answer = await chat(always, 'demo-x', { stream: true });
    t.match(answer.text, /"choices":\[\],"usage":\{"prompt_tokens":6/);
    t.match(await rowOf(always, answer), { usage_source: 'upstream' });
  });
  t.test('false: never asked for, the body stays as it is', async (t) => {
    const never = await withSetting(false);
    const answer = await chat(never, 'demo-x', { stream: true });
    t.notMatch(lastSeen(never).body.toString(), /stream_options/);
    t.notMatch(answer.text, /"usage":\{/);
    t.match(await rowOf(never, answer), { usage_source: 'estimate', end_reason: 'complete' });
    const asked = await chat(never, 'demo-x', { stream: true, stream_options: { include_usage: true } });
    t.match(asked.text, /"choices":\[\],"usage":\{/, 'a client that asks is not overruled');
  });
});

t.test('a stream that breaks ends broken', async (t) => {
  /** Behaviour -> what the row says and which error event comes last; null: the stream of the upstream as it was. */
  const ends = {
    cut: ['truncated', 'stream_broken'],
    'cut-clean': ['truncated', 'stream_truncated'],
    stall: ['timeout', 'idle_timeout'],
    'header-then-close': ['truncated', 'stream_broken'],
    'no-done': ['truncated', 'stream_truncated'],
    'error-event': ['upstream_error', null],
    malformed: ['complete', null],
  } as const;
  for (const name of NAMES) {
    const { end } = ENDPOINTS[name];
    for (const [behaviour, [reason, code]] of Object.entries(ends)) {
      for (const face of ['demo', 'compat']) {
        t.test(`${name}, ${face}-${behaviour}`, async (t) => {
          const answer = await stream(rig, name, `${face}-${behaviour}`);
          t.equal(answer.status, 200);
          t.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8');
          const row = await rowOf(rig, answer);
          const isFinished = behaviour === 'no-done' && (name === 'chat' || name === 'completions');
          if (code === null || isFinished) {
            t.notOk(answer.broken, 'the end is the upstream’s own');
            t.match(row, { end_reason: isFinished ? 'complete' : reason });
            if (behaviour === 'error-event') t.match(answer.text, /The provider failed in the middle/);
            t.equal(answer.text.includes('stream_'), false, 'nothing is added');
            return;
          }
          t.ok(answer.broken, 'the connection is broken, not ended');
          t.notMatch(answer.text, end);
          t.ok(answer.text.endsWith('\n\n'), 'the last event is whole');
          const last = answer.text.trimEnd().split('\n\n').at(-1) ?? '';
          if (name === 'responses' || name === 'messages')
            t.match(last, /^event: error\ndata: \{"type":"error"/);
          const data = JSON.parse(last.replace(/^event: error\n/, '').slice('data: '.length)) as object;
          t.match(data, { error: { code, message: /./ } });
          // Claude Code sends a broken turn again on Anthropic's words alone, Continue on OpenAI's; Pi and opencode on texts.
          const word = name === 'messages' ? 'api_error' : 'server_error';
          t.match(data, { error: { type: code === 'idle_timeout' ? 'timeout_error' : word } });
          t.match(last, /Connection lost|ended without|timed out/);
          t.notMatch(last.replaceAll(/127\.0\.0\.1:\d+/g, ''), /\b429\b|rate.?limit/i);
          t.match(row, { end_reason: reason, status: 'failure', http_status: 200, error_source: 'upstream' });
          t.match(row['metadata'], { error_information: { error_class: code } });
        });
      }
    }
    t.test(`${name}: a gateway that closes without a reply is an answer of ours, not a stream`, async (t) => {
      const answer = await stream(rig, name, 'demo-drop');
      t.equal(answer.status, 503);
      const type = name === 'messages' ? 'api_error' : 'upstream_error';
      t.match(JSON.parse(answer.text), { error: { code: 'upstream_broken', type } });
      t.match(await rowOf(rig, answer), { end_reason: 'upstream_broken', http_status: 503, attempts: 1 });
    });
  }
  t.test('what came before the break is the upstream’s, whole events only', async (t) => {
    const events = [1, 2, 3].map((n) => `data: {"choices":[{"delta":{"content":"${n}"}}]}\n\n`);
    const url = await startUpstream(t, ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(events.join('') + 'data: {"choices":[{"del', () => res.destroy());
    });
    const torn = await startRig(t, { config: (demo) => defaultConfig({ ...demo, url }) });
    const answer = await chat(torn, 'demo', { stream: true });
    t.ok(answer.broken);
    t.ok(answer.text.startsWith(`${events.join('')}data: {"error":{`), answer.text);
  });
  t.test(
    'the usage that came before the break is recorded, and completed by what was delivered',
    async (t) => {
      const answer = await stream(rig, 'messages', 'demo-cut');
      t.match(await rowOf(rig, answer), {
        end_reason: 'truncated',
        prompt_tokens: 5,
        usage_source: 'estimate', // the input is the upstream's, the output had only begun to be counted
      });
    },
  );
});

t.test('an answer that is no stream and breaks', async (t) => {
  t.test('before its first bytes were handed on: a clean error', async (t) => {
    for (const [behaviour, status, reason] of [
      ['cut', 503, 'upstream_broken'],
      ['header-then-close', 503, 'upstream_broken'],
      ['drop', 503, 'upstream_broken'],
      ['stall', 504, 'timeout'],
    ] as const) {
      const called = chat(rig, `demo-${behaviour}`);
      const answer = await (behaviour === 'stall' ? clock.during(called) : called);
      t.equal(answer.status, status, behaviour);
      t.equal(answer.headers['x-litellm-error-source'], 'upstream');
      t.match(JSON.parse(answer.text), { error: { message: /./, type: /./, code: /./ } });
      t.match(await rowOf(rig, answer), {
        end_reason: reason,
        http_status: status,
        error_source: 'upstream',
      });
    }
  });
  t.test('after: the connection breaks inside the announced length', async (t) => {
    const answer = await chat(rig, 'demo-huge-cut');
    t.equal(answer.status, 200);
    t.ok(answer.broken);
    t.match(await rowOf(rig, answer), { end_reason: 'truncated', status: 'failure' });
  });
  t.test('ended short but cleanly: passed on as it is, and called truncated', async (t) => {
    const answer = await chat(rig, 'demo-cut-clean');
    t.equal(answer.status, 200);
    t.notOk(answer.broken);
    t.throws(() => JSON.parse(answer.text));
    t.match(await rowOf(rig, answer), { end_reason: 'truncated', http_status: 200 });
  });
});

t.test('a client that leaves stops the upstream at once', async (t) => {
  const gone = (session: string): Promise<unknown> => rig.logged((line) => line['session'] === session);
  const rowsOf = async (session: string): Promise<unknown[]> =>
    JSON.parse((await send(rig.url, 'GET', `/spend/logs?session_id=${session}`)).text) as unknown[];

  for (const name of NAMES) {
    t.test(`${name}: in the middle of a stream`, async (t) => {
      const session = `gone-mid-${name}`;
      const { path, ask } = ENDPOINTS[name];
      const call = openCall(
        rig.url,
        path,
        { model: 'demo-interval', stream: true, ...ask },
        { 'x-litellm-session-id': session },
      );
      await call.received('data: ');
      call.leave();
      t.equal(await lastSeen(rig).finished, 'aborted');
      await gone(session);
      t.match(await rowsOf(session), [
        {
          end_reason: 'client_gone',
          status: 'failure',
          error_source: 'client',
          http_status: 200,
          stream: true,
        },
      ]);
      const id = { chat: /^chatcmpl-/, completions: /^cmpl-/, responses: /^resp_/, messages: /^msg_/ }[name];
      const [row] = (await rowsOf(session)) as { upstream_id: string; response_bytes: number }[];
      t.match(row?.upstream_id, id, 'what was known is kept');
      t.ok((row?.response_bytes ?? 0) > 0);
    });
  }
  for (const isStream of [true, false]) {
    t.test(`before the answer began, ${isStream ? 'streamed' : 'not streamed'}`, async (t) => {
      const session = `gone-before-${isStream}`;
      const before = rig.demo.seen.length;
      const body = { model: 'demo-silent', stream: isStream, messages: [] };
      const call = openCall(rig.url, '/v1/chat/completions', body, { 'x-litellm-session-id': session });
      await rig.demo.waitFor(before + 1);
      call.leave();
      t.equal(await lastSeen(rig).finished, 'aborted');
      await gone(session);
      t.match(await rowsOf(session), [
        { end_reason: 'client_gone', response_bytes: 0, http_status: null, prompt_tokens: 0 },
      ]);
    });
  }
  t.test('while its body is still on the way: nothing goes upstream, a row tells', async (t) => {
    const before = rig.demo.seen.length;
    const session = 'gone-early';
    const headers = { 'content-length': '1000', 'x-litellm-session-id': session };
    const call = openCall(rig.url, '/v1/chat/completions', { model: 'demo' }, headers);
    call.req.on('socket', (socket) => socket.on('connect', () => setImmediate(() => call.leave())));
    call.req.on('error', () => undefined);
    await gone(session);
    t.match(await rowsOf(session), [{ end_reason: 'client_gone', api_base: null }]);
    t.equal(rig.demo.seen.length, before);
  });
  t.test('while it reads too slowly: what was paused is aborted too', async (t) => {
    const event = `data: {"choices":[{"delta":{"content":"${'x'.repeat(60_000)}"}}]}\n\n`;
    const closed = Promise.withResolvers<void>();
    const url = await startUpstream(t, ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      // Without end: an answer of some size may fit into the buffers on the way, and is then whole.
      const write = (): void => {
        while (res.write(event));
        res.once('drain', write);
      };
      res.once('close', closed.resolve);
      write();
    });
    const endless = await startRig(t, { config: (demo) => defaultConfig({ ...demo, url }) });
    const session = 'gone-paused';
    const body = { model: 'demo', stream: true, messages: [] };
    const call = openCall(endless.url, '/v1/chat/completions', body, { 'x-litellm-session-id': session });
    await call.head; // and reads nothing
    call.leave();
    await closed.promise;
    await endless.logged((line) => line['session'] === session);
    t.match(await endless.rows(), [{ end_reason: 'client_gone' }]);
  });
  t.test('nobody else is disturbed', async (t) => {
    t.equal((await chat(rig, 'demo')).status, 200);
    t.match(await send(rig.url, 'GET', '/health/readiness'), { status: 200 });
  });
});
