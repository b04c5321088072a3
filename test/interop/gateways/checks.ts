// What is checked through every gateway. A check rejects when it does not hold; its id is the evidence that
// docs/compatibility.md names.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { KEY, type Answer } from '../../support/rig.ts';
import { until } from '../harness/suite.ts';
import { call, events, lastBody, rowOf, type Chain, type Check } from './chain.ts';
import { PROTOCOL_CHECKS } from './protocol-checks.ts';
import {
  DELTA,
  dig,
  equalUsage,
  FINISH,
  isJson,
  listOf,
  says,
  text,
  TOOLS,
  WEATHER,
  type Json,
} from './expected.ts';

const CHAT = '/v1/chat/completions';
const asked = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: 'one two three' }],
  ...more,
});
const STREAM = { stream: true, stream_options: { include_usage: true } };

const failed = async (
  chain: Chain,
  model: string,
  status: readonly number[],
  told: RegExp,
): Promise<Answer> => {
  const answer = await call(chain, CHAT, asked(model));
  assert.ok(status.includes(answer.status), `status ${answer.status}: ${answer.text}`);
  assert.match(answer.text, told);
  assert.equal(typeof dig(JSON.parse(answer.text), 'error', 'message'), 'string');
  assert.equal(answer.headers['x-litellm-error-source'], 'upstream');
  return answer;
};

const CALLS: readonly Check[] = [
  {
    id: 'chat',
    title: 'chat completions',
    holds: "the provider's text and token counts reach the client and the row",
    play: async (chain) => {
      const answer = await call(chain, CHAT, asked('demo-one'));
      assert.equal(answer.status, 200, answer.text);
      const body = JSON.parse(answer.text) as unknown;
      assert.match(text(body, 'choices', 0, 'message', 'content'), says('demo-one'));
      assert.equal(dig(body, 'choices', 0, 'finish_reason'), 'stop');
      await equalUsage(chain, answer, dig(body, 'usage'));
    },
  },
  {
    id: 'chat-stream',
    title: 'streaming',
    holds: 'several events, one end, `[DONE]`, and the usage that was asked for, equal to the row',
    play: async (chain) => {
      const answer = await call(chain, CHAT, asked('demo-one', STREAM));
      assert.equal(answer.status, 200, answer.text);
      const frames = events(answer);
      const pieces = frames.map((frame) => text(frame, ...DELTA, 'content')).filter((piece) => piece !== '');
      assert.ok(pieces.length > 3, `${pieces.length} pieces`);
      assert.match(pieces.join(''), says('demo-one'));
      assert.equal(frames.filter((frame) => typeof dig(frame, ...FINISH) === 'string').length, 1);
      assert.match(answer.text, /data: \[DONE\]\s*$/);
      await equalUsage(chain, answer, frames.findLast(({ usage }) => isJson(usage))?.['usage']);
    },
  },
  {
    id: 'usage-unasked',
    title: 'usage of a stream that did not ask for it',
    holds: "the row has the provider's counts, and the client sees no chunk that it did not ask for",
    play: async (chain) => {
      const answer = await call(chain, CHAT, asked('demo-one', { stream: true }));
      const frames = events(answer);
      assert.equal(frames.filter(({ choices }) => Array.isArray(choices) && choices.length === 0).length, 0);
      await equalUsage(chain, answer, undefined);
    },
  },
  {
    id: 'tools',
    title: 'a tool call',
    holds: 'name and arguments arrive whole; the row is there',
    play: async (chain) => {
      chain.script = () => ({ tool: 'weather', arguments: WEATHER });
      const answer = await call(chain, CHAT, asked('demo-one', { tools: TOOLS }));
      assert.equal(answer.status, 200, answer.text);
      const choice = dig(JSON.parse(answer.text), 'choices', 0);
      assert.equal(dig(choice, 'finish_reason'), 'tool_calls');
      const called = dig(choice, 'message', 'tool_calls', 0, 'function');
      assert.equal(dig(called, 'name'), 'weather');
      assert.deepEqual(JSON.parse(text(called, 'arguments')), WEATHER);
      await rowOf(chain, answer);
    },
  },
  {
    id: 'tool-loop',
    title: 'a loop of four tool calls, streamed',
    holds:
      "each call's deltas join to its arguments, and each result reaches the provider under the id of its call",
    play: toolLoop,
  },
  {
    id: 'structured-image',
    title: 'a schema and a picture in the request',
    holds: '`response_format` and `image_url` reach the provider as they were sent',
    play: async (chain) => {
      const format = {
        type: 'json_schema',
        json_schema: { name: 'place', schema: { type: 'object', properties: { city: { type: 'string' } } } },
      };
      const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
      const content = [{ type: 'text', text: 'Where is it?' }, image];
      const body = { model: 'demo-one', messages: [{ role: 'user', content }], response_format: format };
      const answer = await call(chain, CHAT, body);
      assert.equal(answer.status, 200, answer.text);
      const arrived = lastBody(chain);
      assert.deepEqual(
        dig(arrived, 'response_format', 'json_schema', 'schema'),
        format.json_schema.schema,
        'the schema',
      );
      const url = dig(arrived, 'messages', 0, 'content', 1, 'image_url', 'url');
      assert.equal(url, image.image_url.url, 'the picture');
    },
  },
  {
    id: 'several-models',
    title: 'several models',
    holds: 'each name reaches its own model at the provider, and its row says so',
    play: async (chain) => {
      for (const model of ['demo-one', 'demo-two']) {
        const answer = await call(chain, CHAT, asked(model));
        assert.match(text(JSON.parse(answer.text), 'choices', 0, 'message', 'content'), says(model));
        assert.equal(lastBody(chain)['model'], model);
        assert.equal((await rowOf(chain, answer))['model_group'], model);
      }
    },
  },
  {
    id: 'wrong-key',
    title: 'a wrong key of the gateway',
    holds: '401 with the reason, from upstream; a wrong key of a client is 401 and reaches no gateway',
    play: async (chain) => {
      await failed(chain, 'wrong-key', [401], /key|auth/i);
      chain.tap.forget();
      const answer = await call(chain, CHAT, asked('demo-one'), { authorization: 'Bearer sk-nobody' });
      assert.equal(answer.status, 401);
      assert.deepEqual(chain.tap.paths(), []);
    },
  },
  {
    id: 'unknown-model',
    title: 'a model that the gateway does not have',
    holds: '400 or 404 that names the model, from upstream',
    play: async (chain) => {
      await failed(chain, 'unknown', [400, 404], /nobody-has-this/);
    },
  },
  {
    id: 'provider-400',
    title: 'a refusal of the provider',
    holds: "its 400 stays 400, with the provider's text",
    play: async (chain) => {
      await failed(chain, 'demo-refuse-400', [400], /./);
    },
  },
  {
    id: 'provider-429',
    title: 'a rate limit of the provider',
    holds: "429 with the provider's `retry-after`, also where the gateway renames it",
    play: async (chain) => {
      const { headers } = await failed(chain, 'demo-429', [429], /./);
      assert.match(
        String(headers['retry-after']),
        /^[1-9]/,
        `retry-after among ${Object.keys(headers).join(' ')}`,
      );
    },
  },
];

async function toolLoop(chain: Chain): Promise<void> {
  const cities = ['Oslo', 'Rome', 'Lima', 'Kyiv'];
  const results = (body: unknown): readonly Json[] =>
    listOf(dig(body, 'messages')).filter(({ role }) => role === 'tool');
  chain.script = (body) => {
    const city = cities[results(body).length];
    return city === undefined
      ? { text: 'All four are known.' }
      : { tool: 'weather', arguments: { city, days: 2 } };
  };
  const messages: Json[] = [{ role: 'user', content: 'Ask for four cities.' }];
  for (const city of cities) {
    const answer = await call(chain, CHAT, { model: 'demo-one', messages, tools: TOOLS, ...STREAM });
    assert.equal(answer.status, 200, answer.text);
    const deltas = events(answer).flatMap((frame) => listOf(dig(frame, ...DELTA, 'tool_calls')));
    const id = deltas.map((delta) => text(delta, 'id')).find((one) => one !== '');
    assert.equal(typeof id, 'string', answer.text);
    const written = deltas.map((delta) => text(delta, 'function', 'arguments')).join('');
    assert.deepEqual(JSON.parse(written), { city, days: 2 });
    messages.push(
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'weather', arguments: written } }],
      },
      { role: 'tool', tool_call_id: id, content: `${city}: sun` },
    );
  }
  const last = await call(chain, CHAT, { model: 'demo-one', messages, tools: TOOLS });
  assert.equal(text(JSON.parse(last.text), 'choices', 0, 'message', 'content'), 'All four are known.');
  const arrived = lastBody(chain);
  const called = listOf(dig(arrived, 'messages'))
    .flatMap((one) => listOf(one['tool_calls']))
    .map(({ id }) => id);
  assert.deepEqual(
    results(arrived).map((one) => [one['tool_call_id'], one['content']]),
    cities.map((city, at) => [called[at], `${city}: sun`]),
  );
}

const HEADERS: readonly Check[] = [
  {
    id: 'headers-on',
    title: 'headers of a client, forwarding on',
    holds: "a client's `x-from-client` and `anthropic-beta` reach the gateway; its key and `cookie` do not",
    play: async (chain) => {
      await withHeaders(chain, 'demo-one');
      assert.deepEqual(chain.tap.headers('x-from-client'), ['client-value']);
      assert.deepEqual(chain.tap.headers('anthropic-beta'), ['some-beta']);
      assert.deepEqual(chain.tap.headers('cookie'), []);
      assert.ok(!chain.tap.headers('authorization').some((value) => value.includes(KEY)));
    },
  },
  {
    id: 'headers-off',
    title: 'headers of a client, forwarding off',
    holds: 'none of them reaches the gateway',
    play: async (chain) => {
      await withHeaders(chain, 'quiet');
      assert.deepEqual(chain.tap.headers('x-from-client'), []);
      assert.deepEqual(chain.tap.headers('anthropic-beta'), []);
    },
  },
  {
    id: 'headers-provider',
    title: 'a header through to the provider',
    holds: 'with forwarding on at both, `x-from-client` reaches the provider; off here, it does not',
    play: async (chain) => {
      const atProvider = (): readonly string[] => {
        const raw = chain.provider.seen.at(-1)?.rawHeaders ?? [];
        return raw.filter((_, at) => raw[at - 1]?.toLowerCase() === 'x-from-client' && at % 2 === 1);
      };
      await withHeaders(chain, 'demo-one');
      assert.deepEqual(atProvider(), ['client-value'], 'the header did not reach the provider');
      await withHeaders(chain, 'quiet');
      assert.deepEqual(atProvider(), []);
    },
  },
  {
    id: 'identity-headers',
    title: 'the session in the words of the gateway',
    holds: 'the session of the row arrives in the header that this gateway reads',
    play: async (chain) => {
      const answer = await withHeaders(chain, 'demo-one', { 'x-litellm-session-id': 'session-one' });
      assert.deepEqual(chain.tap.headers(chain.recipe.sessionHeader), ['session-one']);
      assert.equal((await rowOf(chain, answer))['session_id'], 'session-one');
    },
  },
  {
    id: 'identity-log',
    title: "session, user, tags and metadata in the gateway's own log",
    holds: "the gateway's own row of the call has all four, equal to ours",
    play: async (chain) => {
      const { note } = chain.gateway;
      assert.ok(note !== undefined, 'the gateway keeps no rows');
      const headers = {
        'x-litellm-session-id': 'session-of-all-four',
        'x-litellm-tags': 'red,green',
        'x-litellm-spend-logs-metadata': '{"ticket":"T-7"}',
        'x-litellm-customer-id': 'ann',
      };
      await call(chain, CHAT, asked('demo-one', { user: 'ann' }), headers);
      const { user, tags, metadata } = await note('session-of-all-four');
      assert.equal(user, 'ann', `the user in its row is ${String(user)}`);
      assert.ok(
        ['red', 'green'].every((tag) => tags.includes(tag)),
        `tags ${JSON.stringify(tags)}`,
      );
      assert.equal(metadata['ticket'], 'T-7');
    },
  },
];

async function withHeaders(
  chain: Chain,
  model: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  chain.tap.forget();
  const sent = {
    'x-from-client': 'client-value',
    'anthropic-beta': 'some-beta',
    cookie: 'secret=1',
    ...more,
  };
  const answer = await call(chain, CHAT, asked(model), sent);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

const BREAKS: readonly Check[] = [
  {
    id: 'provider-cut',
    title: 'the provider breaks off in a stream',
    holds: 'the client sees no end and no `[DONE]`; the row is no success',
    play: async (chain) => {
      const answer = await call(chain, CHAT, asked('demo-cut', { stream: true }));
      await brokenOff(chain, answer);
    },
  },
  {
    id: 'client-leaves',
    title: 'a client that leaves stops the provider',
    holds: "the provider's request is aborted while it still answers",
    play: async (chain) => {
      const before = chain.provider.seen.length;
      const body = JSON.stringify(asked('demo-stall', { stream: true }));
      const head = `POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
      const socket = connect(chain.rig.port, '127.0.0.1', () => socket.write(head + body));
      await new Promise((resolve) => socket.once('data', resolve));
      socket.destroy();
      const seen = chain.provider.seen[before];
      assert.ok(seen !== undefined, 'the provider was not asked');
      const ended = await Promise.race([
        seen.finished,
        until('the row', async () => {
          const row = (await chain.rig.rows()).at(-1);
          return row?.['model_group'] === 'demo-stall' ? row : null;
        }).then(() => new Promise((resolve) => setTimeout(resolve, 5_000, 'the provider goes on'))),
      ]);
      assert.equal(ended, 'aborted');
    },
  },
  {
    // The last one: there is no gateway after it.
    id: 'killed',
    title: 'the gateway is killed in a stream',
    holds: 'the client sees a broken stream without `[DONE]`; the row is no success',
    play: async (chain) => {
      const before = chain.provider.seen.length;
      chain.tap.forget();
      const answer = call(chain, CHAT, asked('demo-stall', { stream: true }));
      await until('the call at the provider', () => chain.provider.seen[before]);
      await until('the first event', () => (chain.tap.isAnswering() ? true : null));
      await chain.gateway.kill();
      await brokenOff(chain, await answer);
    },
  },
];

async function brokenOff(chain: Chain, answer: Answer): Promise<void> {
  const row = await rowOf(chain, answer);
  assert.notEqual(row['end_reason'], 'complete');
  assert.equal(row['status'], 'failure');
  assert.ok(!events(answer).some((frame) => typeof dig(frame, ...FINISH) === 'string'), 'a finish_reason');
  assert.ok(!answer.text.includes('[DONE]'), 'the stream has a [DONE]');
}

export const CHECKS: readonly Check[] = [...CALLS, ...PROTOCOL_CHECKS, ...HEADERS, ...BREAKS];
