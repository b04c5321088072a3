// What is read out of answers that do not stream, small and large, well-formed or not.
import fc from 'fast-check';
import t from 'tap';
import { JsonTap, type JsonReading } from '../../../proxy/relay/json-tap.ts';
import type { Protocol } from '../../../proxy/protocols/protocol.ts';
import { chat } from '../../../proxy/protocols/chat.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import { rerank } from '../../../proxy/protocols/rerank.ts';

const NOTHING: JsonReading = {
  usage: null,
  id: null,
  model: null,
  serviceTier: null,
  duration: undefined,
  tools: {},
};
const USAGE = {
  prompt_tokens: 3,
  completion_tokens: 0,
  total_tokens: 3,
  prompt_tokens_details: { cached_tokens: 0 },
};

function read(body: string | Buffer, chunkBytes = 16_384, protocol: Protocol = chat): JsonReading {
  const tap = new JsonTap(protocol.response);
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += chunkBytes) tap.push(bytes.subarray(at, at + chunkBytes));
  return tap.end();
}

t.test('usage, id and model of an answer are read exactly', (t) => {
  const message = { content: '"usage":{"prompt_tokens":99}', usage: { prompt_tokens: 98 } };
  const body = JSON.stringify({ id: 'chatcmpl-é', model: 'm', choices: [{ message }], usage: USAGE });
  for (const size of [1, 7, 100_000]) {
    t.strictSame(read(body, size), { ...NOTHING, usage: USAGE, id: 'chatcmpl-é', model: 'm' });
  }
  t.strictSame(read(`\ufeff${body}`), read(body), 'behind a byte order mark, too');
  t.strictSame(read(JSON.stringify({ usage: null, id: 7, model: '' })), NOTHING);
  t.end();
});

t.test('rerank answers count in meta', (t) => {
  const body =
    '{"id":"r","results":[],"meta":{"billed_units":{"search_units":1},"tokens":{"input_tokens":4}}}';
  t.strictSame(read(body, 100, rerank).usage, { search_units: 1, input_tokens: 4 });
  t.strictSame(read('{"meta":{"billed_units":{"search_units":1}}}', 100, rerank).usage, { search_units: 1 });
  t.equal(read(body).usage, null, 'in a chat answer meta means nothing');
  t.end();
});

t.test('what is not a JSON object says nothing', (t) => {
  const bodies = [
    '',
    '{',
    '[]',
    '<html>',
    '{"id":"x"',
    '{"id":"x"} ',
    Buffer.from([0x7b, 0xff]),
    '['.repeat(300_000),
  ];
  for (const body of bodies.toSpliced(5, 1)) t.strictSame(read(body), NOTHING, body.toString('utf8', 0, 10));
  t.equal(read('{"id":"x"} ').id, 'x');
  t.end();
});

t.test('of an answer without usage the beginning is kept for a count', (t) => {
  for (const length of [10, 262_144, 1_000_000]) {
    const body = JSON.stringify({ id: 'c', choices: [{ message: { content: 'x'.repeat(length) } }] });
    const tap = new JsonTap(chat.response, true);
    tap.push(Buffer.from(body));
    tap.end();
    t.match(tap.delivered, { form: 'json', bytes: body.length });
    t.equal(String(tap.delivered?.head), body.length > 262_144 ? body.slice(0, 16_384) : body);
  }
  t.end();
});

t.test('so it is where a usage counts 0 tokens of it, and not where it counts some', (t) => {
  const read = (usage: object): boolean => {
    const tap = new JsonTap(chat.response, true);
    tap.push(Buffer.from(JSON.stringify({ choices: [{ message: { content: 'x' } }], usage })));
    tap.end();
    return tap.delivered !== null;
  };
  t.equal(read({ prompt_tokens: 3, completion_tokens: 0 }), true);
  t.equal(read({ prompt_tokens: 0, completion_tokens: 0 }), true);
  t.equal(read({ prompt_tokens: 3, completion_tokens: 1 }), false);
  t.end();
});

t.test('a response that says that it failed is no answer, whatever it holds', (t) => {
  const isAnswer = (protocol: Protocol, body: object): boolean => {
    const tap = new JsonTap(protocol.response);
    tap.push(Buffer.from(JSON.stringify(body)));
    tap.end();
    return tap.isAnswer;
  };
  const error = { code: 'server_error', message: 'no' };
  const output = [{ type: 'message', content: [{ type: 'output_text', text: 'hi' }] }];
  for (const more of [
    { error, output },
    { error: null, output },
    { error, output: [] },
  ])
    t.equal(isAnswer(responses, { status: 'failed', ...more }), false);
  for (const status of ['completed', 'incomplete', 'queued'])
    t.equal(isAnswer(responses, { status, error: null, output }), true, status);
  t.equal(isAnswer(responses, { status: 'incomplete', error, output }), true, 'an error beside an answer');
  t.equal(isAnswer(chat, { status: 'failed', choices: [{}] }), true, 'other answers have no such state');
  t.end();
});

t.test('of a large answer the usage is found at either end', (t) => {
  const data = Array.from({ length: 40_000 }, (_, i) => ({ i, embedding: 'AAAA' }));
  const last = JSON.stringify({ id: 'e', object: 'list', data, model: 'emb', usage: USAGE }, null, 1);
  const first = JSON.stringify({ model: 'emb', usage: USAGE, id: 'e', data });
  t.ok(last.length > 262_144);
  for (const size of [1, 1_000, 65_536, 200_000, 10_000_000]) {
    t.strictSame(read(last, size), { ...NOTHING, usage: USAGE, id: 'e', model: null }, `at the end, ${size}`);
    t.strictSame(
      read(first, size),
      { ...NOTHING, usage: USAGE, id: 'e', model: 'emb' },
      `at the start, ${size}`,
    );
  }
  t.end();
});

t.test('in a large answer only a top-level usage is taken for the usage', (t) => {
  const filler = 'x'.repeat(300_000);
  const without = [
    { filler, choices: [{ usage: USAGE }] },
    { filler, text: '"usage":{"prompt_tokens":1}}' },
    { filler, text: '"usage"', b: { usage: USAGE } },
    { filler, usage: null },
    { filler, usage: [1] },
    { usage: filler },
  ];
  for (const body of without)
    t.equal(read(JSON.stringify(body)).usage, null, JSON.stringify(body).slice(-40));
  const withOne = {
    filler,
    inner: { usage: { a: 1 } },
    usage: USAGE,
    tail: ['"usage"', { usage: { b: 1 } }],
  };
  t.strictSame(read(JSON.stringify(withOne)).usage, USAGE);
  t.end();
});

t.test('of a large answer every call of a tool counts, whatever stands between', async (t) => {
  const id = (at: number): string => `ws_${String(at).padStart(50, '0')}`;
  const between = [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e'.repeat(2_000) },
    { type: 'mcp_call', id: 'mcp_1', name: 'f', arguments: '{}', output: 'o'.repeat(2_000) },
  ];
  const output = Array.from({ length: 300 }, (_, at) => [
    { type: 'web_search_call', id: id(at), status: 'completed', action: { type: 'search', query: 'q' } },
    ...between,
  ]).flat();
  const { tools } = read(JSON.stringify({ output, usage: USAGE }), 16_384, responses);
  t.same(tools, { searches: 300 });
  const deep = `{"output":${'['.repeat(300_000)}${']'.repeat(300_000)}}`;
  t.same(read(deep, 16_384, responses).tools, {}, 'what has no bound counts nothing');
  t.same(
    read(
      `{"output":${'['.repeat(100_000)}${']'.repeat(100_000)},"x":"${'x'.repeat(90_000)}"}`,
      16_384,
      responses,
    ).tools,
    {},
  );
});

t.test('however an answer is cut up the same is read', (t) => {
  const sizes = fc.array(fc.integer({ min: 1, max: 90_000 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.nat({ max: 400_000 }), fc.nat({ max: 80_000 }), sizes, (before, after, parts) => {
      const body = Buffer.from(
        JSON.stringify({ id: 'é', pad: 'é'.repeat(before / 2), usage: USAGE, z: 'z'.repeat(after) }),
      );
      const tap = new JsonTap(chat.response);
      for (let at = 0, i = 0; at < body.length; i++) {
        const size = parts[i % parts.length] ?? 1;
        tap.push(body.subarray(at, at + size));
        at += size;
      }
      return JSON.stringify(tap.end()) === JSON.stringify(read(body, body.length));
    }),
    { numRuns: 150 },
  );
  t.pass('150 answers');
  t.end();
});
