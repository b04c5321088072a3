// The other protocols of callers through a gateway: passed on as they are where the entry says that it speaks them, and translated
// to chat completions where it says that it does not.
import assert from 'node:assert/strict';
import type { Answer } from '../../support/rig.ts';
import { call, events, rowOf, type Chain, type Check } from './chain.ts';
import { dig, equalUsage, listOf, PARAMETERS, says, text, WEATHER } from './expected.ts';

const VERSION = { 'anthropic-version': '2023-06-01' };

/** A caller's protocol: a question, a question with a tool, and what their answers hold. */
interface Protocol {
  readonly id: string;
  readonly path: (model: string, stream: boolean) => string;
  readonly body: (model: string, tools: boolean, stream: boolean) => object;
  readonly usage: (body: unknown) => unknown;
  readonly says: (body: unknown) => string;
  readonly called: (body: unknown) => unknown;
  /** The text of a stream. */
  readonly streamed: (frames: readonly unknown[]) => string;
  /** The newest usage of a stream. */
  readonly streamedUsage: (frames: readonly unknown[]) => unknown;
  /** Types of the first and the last frame; null = frames have none. */
  readonly ends: readonly [string, string] | null;
}

const TOOL = { name: 'weather', description: 'The weather.' };

const messages: Protocol = {
  id: 'messages',
  path: () => '/v1/messages',
  body: (model, tools, stream) => ({
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'one two three' }],
    ...(tools ? { tools: [{ ...TOOL, input_schema: PARAMETERS }] } : {}),
    ...(stream ? { stream } : {}),
  }),
  usage: (body) => dig(body, 'usage'),
  says: (body) =>
    listOf(dig(body, 'content'))
      .map((part) => text(part, 'text'))
      .join(''),
  called: (body) => listOf(dig(body, 'content')).find(({ type }) => type === 'tool_use')?.['input'],
  streamed: (frames) => frames.map((frame) => text(frame, 'delta', 'text')).join(''),
  streamedUsage: (frames) => ({
    ...(dig(
      frames.find((one) => dig(one, 'type') === 'message_start'),
      'message',
      'usage',
    ) as object),
    ...(dig(
      frames.findLast((one) => dig(one, 'type') === 'message_delta'),
      'usage',
    ) as object),
  }),
  ends: ['message_start', 'message_stop'],
};

const responses: Protocol = {
  id: 'responses',
  path: () => '/v1/responses',
  body: (model, tools, stream) => ({
    model,
    input: 'one two three',
    store: false, // some gateways keep answers for signed-in callers alone
    ...(tools ? { tools: [{ type: 'function', ...TOOL, parameters: PARAMETERS, strict: false }] } : {}),
    ...(stream ? { stream } : {}),
  }),
  usage: (body) => dig(body, 'usage'),
  says: (body) =>
    listOf(dig(body, 'output'))
      .flatMap((item) => listOf(item['content']))
      .map((part) => text(part, 'text'))
      .join(''),
  called: (body) => {
    const item = listOf(dig(body, 'output')).find(({ type }) => type === 'function_call');
    return JSON.parse(text(item, 'arguments')) as unknown;
  },
  streamed: (frames) =>
    frames
      .filter((frame) => dig(frame, 'type') === 'response.output_text.delta')
      .map((frame) => text(frame, 'delta'))
      .join(''),
  streamedUsage: (frames) => dig(frames.at(-1), 'response', 'usage'),
  ends: ['response.created', 'response.completed'],
};

const gemini: Protocol = {
  id: 'gemini',
  path: (model, stream) =>
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: (_, tools) => ({
    contents: [{ role: 'user', parts: [{ text: 'one two three' }] }],
    ...(tools ? { tools: [{ functionDeclarations: [{ ...TOOL, parametersJsonSchema: PARAMETERS }] }] } : {}),
  }),
  usage: (body) => dig(body, 'usageMetadata'),
  says: (body) =>
    listOf(dig(body, 'candidates', 0, 'content', 'parts'))
      .map((part) => text(part, 'text'))
      .join(''),
  called: (body) =>
    dig(listOf(dig(body, 'candidates', 0, 'content', 'parts')).at(-1), 'functionCall', 'args'),
  streamed: (frames) => frames.map(geminiText).join(''),
  streamedUsage: (frames) => dig(frames.at(-1), 'usageMetadata'),
  ends: null,
};

function geminiText(frame: unknown): string {
  return gemini.says(frame);
}

async function whole(
  chain: Chain,
  { path, body, usage, says: said, called }: Protocol,
  model: string,
): Promise<void> {
  const answer = await call(chain, path(model, false), body(model, false, false), VERSION);
  assert.equal(answer.status, 200, answer.text);
  const told = JSON.parse(answer.text) as unknown;
  assert.match(said(told), says('demo-one'));
  await equalUsage(chain, answer, usage(told));
  chain.script = () => ({ tool: 'weather', arguments: WEATHER });
  const calling = await call(chain, path(model, false), body(model, true, false), VERSION);
  assert.equal(calling.status, 200, calling.text);
  assert.deepEqual(called(JSON.parse(calling.text)), WEATHER);
}

async function stream(chain: Chain, protocol: Protocol, model: string): Promise<Answer> {
  const { path, body, ends, streamed, streamedUsage } = protocol;
  const answer = await call(chain, path(model, true), body(model, false, true), VERSION);
  assert.equal(answer.status, 200, answer.text);
  const frames = events(answer);
  assert.match(streamed(frames), says('demo-one'));
  if (ends !== null) assert.deepEqual([frames[0]?.['type'], frames.at(-1)?.['type']], ends);
  await equalUsage(chain, answer, streamedUsage(frames));
  return answer;
}

/** Whole, with a tool, and streamed, by one of the chain's names; `path` is what the gateway must be asked for. */
function check(
  protocol: Protocol,
  way: 'native' | 'translated' | 'unstated',
  model: string,
  at: RegExp,
): Check {
  const titles = {
    native: `${protocol.id}, passed on as it is`,
    translated: `${protocol.id}, translated to chat completions`,
    unstated: `${protocol.id}, nothing stated of the gateway`,
  };
  return {
    id: `${protocol.id}-${way}`,
    title: titles[way],
    holds: `text, a tool call, a stream in its own order and usage; the gateway is asked for ${
      way === 'translated'
        ? 'chat completions'
        : way === 'native'
          ? `${protocol.id} alone`
          : 'whichever it serves'
    }`,
    play: async (chain) => {
      chain.tap.forget();
      await whole(chain, protocol, model);
      chain.script = null;
      const answer = await stream(chain, protocol, model);
      const paths = chain.tap.paths();
      assert.ok(paths.length >= 3 && paths.every((path) => at.test(path)), paths.join(' '));
      assert.equal((await rowOf(chain, answer))['end_reason'], 'complete');
    },
  };
}

export const PROTOCOL_CHECKS: readonly Check[] = [
  check(messages, 'native', 'native-messages', /\/messages/),
  check(messages, 'translated', 'chat-only', /\/chat\/completions$/),
  check(messages, 'unstated', 'demo-one', /\/(messages|chat\/completions)/),
  check(responses, 'native', 'native-responses', /\/responses$/),
  check(responses, 'translated', 'chat-only', /\/chat\/completions$/),
  check(responses, 'unstated', 'demo-one', /\/(responses|chat\/completions)$/),
  check(gemini, 'translated', 'chat-only', /\/chat\/completions$/),
];
