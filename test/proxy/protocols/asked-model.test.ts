// The name that the caller asked for goes into an answer, in place of the upstream's; every other byte is the upstream's.
import { Buffer } from 'node:buffer';
import t, { type Test } from 'tap';
import { AskedModel, withAskedModel } from '../../../proxy/protocols/asked-model.ts';
import { chat } from '../../../proxy/protocols/chat.ts';
import { completions } from '../../../proxy/protocols/completions.ts';
import { embeddings } from '../../../proxy/protocols/embeddings.ts';
import { gemini } from '../../../proxy/protocols/gemini.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import type { Protocol } from '../../../proxy/protocols/protocol.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import { SseTap } from '../../../proxy/relay/sse-tap.ts';
import { chunk, data, DONE, named, USAGE, usageOnly } from '../relay/fixture/streams.ts';

const ASKED = 'my "größtes" model';
const WRITTEN = JSON.stringify(ASKED);

const document = (text: string, protocol: Protocol = chat, asked = ASKED): string | undefined =>
  withAskedModel(Buffer.from(text), protocol.response, asked)?.toString();

/** Of events that come one by one; an event that stays is the same Buffer. */
function events(protocol: Protocol, texts: readonly string[], asked = ASKED): string {
  const model = new AskedModel(protocol.events, asked);
  return texts
    .map((text) => {
      const bytes = Buffer.from(text);
      return (model.in(bytes, bytes.toString('latin1')) ?? bytes).toString();
    })
    .join('');
}

t.test('a document states it, whatever its protocol', async (t) => {
  for (const protocol of [chat, completions, responses, messages, embeddings])
    t.equal(
      document('\n{ "id" : 1.0e0, "model" :\t"gpt-x" ,"é":{"model":"in"} }\n', protocol),
      `\n{ "id" : 1.0e0, "model" :\t${WRITTEN} ,"é":{"model":"in"} }\n`,
      protocol.name,
    );
  t.equal(
    document('{"candidates":[],"modelVersion":"gemini-x","model":"m"}', gemini),
    `{"candidates":[],"modelVersion":${WRITTEN},"model":"m"}`,
  );
});

t.test('a document stays that states no model, the same one, or is none', async (t) => {
  for (const text of [
    '{"id":"x"}',
    '{"model":null}',
    '{"model":""}',
    '{"model":{"name":"x"}}',
    '{"data":[{"model":"x"}]}',
    '{"model":"x"',
    '[{"model":"x"}]',
    '{"model":"x","model":"y"}',
    `{"model":${WRITTEN}}`,
    '',
  ])
    t.equal(document(text), undefined, text);
  t.equal(document('{"model":"\\u0061"}', chat, 'a'), undefined, 'spelled otherwise');
});

const MESSAGES = [
  named('message_start', { message: { id: 'm', model: 'claude-x', usage: { input_tokens: 1 } } }),
  named('ping', {}),
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: '"model":"claude-x"' } }),
  named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
  named('message_stop', {}),
];
const RESPONSES = [
  named('response.created', { response: { id: 'r', model: 'gpt-x', output: [] } }),
  named('response.output_text.delta', { delta: '"model"', model: 'not this one' }),
  named('response.completed', { response: { id: 'r', tools: [{ model: 't' }], model: 'gpt-x', usage: {} } }),
];
const GEMINI = [
  data({ candidates: [{ content: { parts: [{ text: 'modelVersion' }] } }], modelVersion: 'gemini-x' }),
  data({ candidates: [{ finishReason: 'STOP' }], usageMetadata: {}, modelVersion: 'gemini-x' }),
];
const CHAT = [
  data({ id: '', model: '', choices: [], prompt_filter_results: [] }),
  chunk('a'),
  chunk('é "model":"gpt-x"'),
  ': ping\n\n',
  data({ choices: [{ index: 0, delta: { content: 'b' } }], model: 'gpt-x' }), // another order
  data({ id: 'chatcmpl-1', choices: [] }), // states none
  chunk('c', 'stop'),
  usageOnly,
  DONE,
];

t.test('messages: the first event states it, and no other is looked at', async (t) => {
  const [start = '', ...rest] = MESSAGES;
  t.equal(events(messages, MESSAGES), start.replace('"claude-x"', WRITTEN) + rest.join(''));
  const model = new AskedModel(messages.events, ASKED);
  model.in(Buffer.from(start), start);
  t.ok(model.isDone);
});

t.test('chat: each event that states a model states it', async (t) => {
  t.equal(events(chat, CHAT), CHAT.join('').replaceAll('"model":"gpt-x"', `"model":${WRITTEN}`));
  const crlf = CHAT.map((one) => one.replaceAll('\n', '\r\n'));
  t.equal(events(chat, crlf), crlf.join('').replaceAll('"model":"gpt-x"', `"model":${WRITTEN}`));
  const two = [chunk('a'), chunk('b').replace('gpt-x', 'gpt-x-mini'), chunk('c')];
  t.equal(events(chat, two), two.join('').replaceAll(/gpt-x(-mini)?"/g, `${WRITTEN.slice(1)}`));
});

t.test('responses and Gemini: each event that holds it', async (t) => {
  t.equal(events(responses, RESPONSES), RESPONSES.join('').replaceAll('"gpt-x"', WRITTEN));
  t.equal(events(gemini, GEMINI), GEMINI.join('').replaceAll('"gemini-x"', WRITTEN));
});

t.test('what looks like the model of an earlier event, and is none, stays', async (t) => {
  const ending = (before: string): string =>
    `data: {${before}"modelVersion":"gemini-x","responseId":"r"}\n\n`;
  const first = ending('"candidates":[],');
  const args = '{"candidates":[{"args":{"modelVersion":"gemini-x","responseId":"r"}}]}';
  const others = [
    `data: ${args}\n\n`,
    ending('"text":"a","x\\').replace('responseId', 'response\\"Id'), // a name that ends so
    `data: {"a\\"modelVersion":"gemini-x","responseId":"r"}\n\n`,
    data({ text: '"modelVersion":"gemini-x","responseId":"r"}' }),
  ];
  t.equal(
    events(gemini, [first, ...others, ending('"b":1,')]),
    first.replace('"gemini-x"', WRITTEN) + others.join('') + ending('"b":1,').replace('"gemini-x"', WRITTEN),
  );
  const deep = data({ choices: [{ model: 'gpt-x' }] });
  t.equal(events(chat, [chunk('a'), deep]), chunk('a').replace('"gpt-x"', WRITTEN) + deep);
});

t.test('a stream that begins with this name stays as it is, and is not looked at any more', async (t) => {
  const model = new AskedModel(chat.events, 'gpt-x');
  const first = chunk('a');
  t.equal(model.in(Buffer.from(first), first), null);
  t.ok(model.isDone);
});

function throughTap(t: Test, protocol: Protocol, texts: readonly string[], wanted: string): void {
  const bytes = Buffer.from(texts.join(''));
  const wrong: string[] = [];
  const check = (pieces: readonly Buffer[], what: string): void => {
    const tap = new SseTap(protocol.events, { stripUsage: false, askedModel: ASKED });
    const out = [...pieces.map((piece) => tap.push(piece)), tap.end()];
    const all = Buffer.concat(out.filter((one) => one !== null)).toString();
    if (all !== wanted || tap.model === ASKED) wrong.push(what);
  };
  check([bytes], 'whole');
  check(
    Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
    'byte by byte',
  );
  for (let at = 1; at < bytes.length; at++) {
    check([bytes.subarray(0, at), bytes.subarray(at)], `cut at ${at}`);
    const member = bytes.indexOf('odel');
    if (at > member)
      check([bytes.subarray(0, member), bytes.subarray(member, at), bytes.subarray(at)], `${at}`);
  }
  t.same(wrong, [], protocol.name);
}

t.test("however a stream is cut up, its events state the name, and the upstream's is read", async (t) => {
  const replaced = (texts: readonly string[], model: string): string =>
    texts
      .join('')
      .replaceAll(`"${model}"`, (found, at: number, all: string) =>
        all[at - 1] === ':' && all[at - 2] === '"' && all[at - 3] !== '\\' ? WRITTEN : found,
      );
  for (const newline of ['\n', '\r\n', '\r']) {
    const lines = (texts: readonly string[]): string[] => texts.map((one) => one.replaceAll('\n', newline));
    throughTap(t, messages, lines(MESSAGES), replaced(lines(MESSAGES), 'claude-x'));
    throughTap(t, chat, lines(CHAT), replaced(lines(CHAT), 'gpt-x'));
    throughTap(t, responses, lines(RESPONSES), replaced(lines(RESPONSES), 'gpt-x'));
    throughTap(t, gemini, lines(GEMINI), replaced(lines(GEMINI), 'gemini-x'));
  }
  const noBlank = [chunk('a'), chunk('b', 'stop').trimEnd()];
  throughTap(t, chat, noBlank, replaced(noBlank, 'gpt-x'));
});

t.test('beside a cost, and beside an event that is left out', async (t) => {
  const priced = new SseTap(chat.events, { stripUsage: false, priceUsage: () => '7', askedModel: ASKED });
  const stream = chunk('a') + chunk('b', 'stop') + usageOnly + DONE;
  const wanted = stream.replaceAll('"gpt-x"', WRITTEN);
  t.equal(
    priced.push(Buffer.from(stream))?.toString(),
    wanted.replace('"total_tokens":5', '"total_tokens":5,"cost":7'),
  );
  t.same(priced.usage, USAGE);
  t.equal(priced.model, 'gpt-x', 'what is recorded is what the upstream sent');
  const stripped = new SseTap(chat.events, { stripUsage: true, askedModel: ASKED });
  t.equal(
    stripped.push(Buffer.from(stream))?.toString(),
    wanted.replace(usageOnly.replace('"gpt-x"', WRITTEN), ''),
  );
});

t.test('an event above the bound stays as it is, however it comes', async (t) => {
  const large = data({ id: 'x', model: 'gpt-x', choices: [{ delta: { content: 'y'.repeat(2000) } }] });
  const stream = chunk('a') + large + chunk('b', 'stop');
  const wanted =
    chunk('a').replace('"gpt-x"', WRITTEN) + large + chunk('b', 'stop').replace('"gpt-x"', WRITTEN);
  for (const at of [stream.length, 100, chunk('a').length + 40, 1500]) {
    const tap = new SseTap(chat.events, { stripUsage: false, askedModel: ASKED, maxHeldBytes: 1000 });
    const out = [stream.slice(0, at), stream.slice(at)].map((one) => tap.push(Buffer.from(one)));
    t.equal(Buffer.concat(out.filter((one) => one !== null)).toString(), wanted, `${at}`);
  }
});
