// An event that is too large to be kept says what it says wherever that stands in it, and however it is cut up.
import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { gemini } from '../../../proxy/protocols/gemini.ts';
import { images } from '../../../proxy/protocols/images.ts';
import { LargeEvent } from '../../../proxy/protocols/large-event.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import type { Protocol } from '../../../proxy/protocols/protocol.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import { cutAt, data, named, run, stateOf } from '../relay/fixture/streams.ts';

/** More than the first and the last part of an event that anybody would keep. */
const BIG = `\\" {"finish_reason":"stop"} ${'y'.repeat(400_000)}\\`;
const USAGE = { promptTokenCount: 3, candidatesTokenCount: 7, totalTokenCount: 10 };
const picture = { content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: BIG } }] } };
const counts = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

const ENDS: readonly [name: string, protocol: Protocol, event: string, expected: object][] = [
  [
    'a picture of Gemini',
    gemini,
    data({ candidates: [{ ...picture, finishReason: 'STOP', index: 0 }], usageMetadata: USAGE }),
    { terminal: true, finished: false, usage: USAGE },
  ],
  [
    'its end before the picture',
    gemini,
    data({ usageMetadata: USAGE, candidates: [{ finishReason: 'STOP', ...picture }] }),
    { terminal: true, usage: USAGE },
  ],
  [
    'its end between two pictures',
    gemini,
    data({ candidates: [{ ...picture, finishReason: 'STOP' }, picture], usageMetadata: USAGE, note: BIG }),
    { terminal: true, usage: USAGE },
  ],
  ['a picture and no end', gemini, data({ candidates: [picture] }), { terminal: false, usage: null }],
  [
    'a blocked prompt',
    gemini,
    data({ note: BIG, promptFeedback: { blockReason: 'SAFETY' }, more: BIG }),
    { terminal: true },
  ],
  [
    'a chat',
    chat,
    data({ id: 'c', choices: [{ index: 0, delta: { content: BIG }, finish_reason: 'stop' }], usage: counts }),
    { terminal: true, finished: false, usage: counts, id: 'c' },
  ],
  [
    'a chat that goes on',
    chat,
    data({ choices: [{ index: 0, delta: { content: BIG }, finish_reason: null }], model: 'm' }),
    { terminal: false, usage: null, model: 'm' },
  ],
  [
    'a chat over several lines of data',
    chat,
    `data: {"choices":[{"delta":{"content":"${'x'.repeat(300_000)}"},\r\ndata:"finish_reason"\r\ndata: :"stop"}]}\r\n\r\n`,
    { terminal: true },
  ],
  ['an error', chat, data({ error: { message: BIG, code: 500 } }), { failed: true, finished: true }],
  ['an error that is a text', chat, data({ error: BIG }), { failed: true, finished: true }],
  ['no error', chat, data({ error: null, note: BIG, usage: { ...counts, x: [] } }), { failed: false }],
  ['an error by its name', messages, `event: error\ndata: ${BIG}\n\n`, { failed: true }],
  [
    'responses, the type at the end',
    responses,
    data({ response: { output: [BIG], usage: counts, id: 'r' }, type: 'response.completed' }),
    { terminal: true, finished: true, usage: counts, id: 'r' },
  ],
  [
    'responses that fail',
    responses,
    named('response.failed', { response: { instructions: BIG, error: { code: 'x' } } }),
    { failed: true },
  ],
  [
    'messages, the usage of the start',
    messages,
    named('message_start', { message: { note: BIG, id: 'm', usage: { input_tokens: 4 } } }),
    { terminal: false, usage: { input_tokens: 4 }, id: 'm' },
  ],
  [
    'an image',
    images,
    data({ b64_json: BIG, type: 'image_generation.completed', usage: counts }),
    { terminal: true, usage: counts },
  ],
];

t.test('its end, its error and its usage are read, wherever they stand', async (t) => {
  for (const [name, protocol, event, expected] of ENDS) {
    const bytes = Buffer.from(event);
    t.match(stateOf(run(protocol, [bytes]).tap), { ...expected, events: 1, torn: false }, name);
    const cuts = Array.from({ length: 100 }, (_, i) => 4_001 * i).concat([7, 8, 9, 30, bytes.length - 5]);
    const { tap, all } = run(protocol, cutAt(bytes, cuts));
    t.match(stateOf(tap), { ...expected, events: 1 }, `${name}, in pieces`);
    t.ok(all.equals(bytes), name);
  }
});

t.test('what is no JSON says nothing', async (t) => {
  const many = Array.from({ length: 20_000 }, (_, index) => ({ index, finish_reason: 'stop' }));
  for (const event of [
    `data: {"choices":[{"finish_reason":"stop"}}${BIG}\n\n`,
    `data: [{"finish_reason":"stop"},"${BIG}"]\n\n`,
    `data: ${'['.repeat(300_000)}\n\n`,
    `data: {"choices":${'['.repeat(300_000)}\n\n`,
    `data: {"choices":[{"finish_reason":"stop"}],"note":"${'x'.repeat(300_000)}\n\n`,
    `: ${'x'.repeat(300_000)}\n\n`,
    data({ choices: many }),
  ]) {
    t.match(stateOf(run(chat, [event]).tap), { terminal: false, usage: null }, event.slice(0, 60));
  }
});

t.test('it reads what a parser reads, of any JSON in any pieces', async (t) => {
  // Not `\` beside `"`: once both were met, JSON.parse of Node 26.10 takes the one name for the other.
  const key = fc.constantFrom(
    'choices',
    'usage',
    'error',
    'index',
    'content',
    '"',
    'a\\b',
    'r\u00e9sum\u00e9',
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\\', '"', '{', 'a'.repeat(100), '"'.repeat(60)),
      fc.integer(),
      fc.constantFrom(null, true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(
      fc.dictionary(key, value, { maxKeys: 5 }),
      fc.integer({ min: 1, max: 60 }),
      fc.boolean(),
      (json, size, isPretty) => {
        const event = new LargeEvent(chat.events);
        const text = isPretty
          ? JSON.stringify(json, null, 2).replaceAll('\n', '\ndata:')
          : JSON.stringify(json);
        const bytes = Buffer.from(`event: x\ndata: ${text}\n\n`);
        for (let at = 0; at < bytes.length; at += size) event.push(bytes.subarray(at, at + size));
        t.equal(event.name, 'x');
        t.strictSame(event.json, kept(JSON.parse(JSON.stringify(json))));
      },
    ),
    { numRuns: 1000 },
  );
});

/** The members that matter of chats, and all of an error or usage. */
function kept(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(kept);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
    if (name === 'usage' || name === 'error') return [[name, one]];
    return name === 'choices' || name === 'index' ? [[name, kept(one)]] : [];
  });
  return Object.fromEntries(entries);
}
