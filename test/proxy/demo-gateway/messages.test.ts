// The official Anthropic client on the messages endpoints of both faces: whole, streamed, tools, counting, errors.
import Anthropic from '@anthropic-ai/sdk';
import type { Test } from 'tap';
import t from 'tap';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { failsAs } from '../../support/thrown.ts';

async function clients(t: Test): Promise<readonly Anthropic[]> {
  const gateway = await startDemoGateway({ acceptKeys: ['sk-demo'] });
  t.teardown(() => gateway.close());
  return ['', '/compat'].map(
    (base) =>
      new Anthropic({ baseURL: `${gateway.url}${base}`, apiKey: null, authToken: 'sk-demo', maxRetries: 0 }),
  );
}

const request = (model: string): Anthropic.MessageCreateParamsNonStreaming => ({
  model,
  max_tokens: 100,
  system: 'be kind',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'one two three' }] }],
});

t.test('a message, whole and streamed, says the same with the same usage', async (t) => {
  for (const anthropic of await clients(t)) {
    const whole = await anthropic.messages.create(request('demo/model'));
    const content = [{ type: 'text', text: 'Hello from demo/model: the demo gateway heard 5 words.' }];
    t.match(whole, { type: 'message', role: 'assistant', content, stop_reason: 'end_turn' });
    t.match(whole.usage, { input_tokens: 8, output_tokens: 9 });
    const final = await anthropic.messages.stream(request('demo/model')).finalMessage();
    t.match(final, { content, stop_reason: 'end_turn', usage: { input_tokens: 8, output_tokens: 9 } });
  }
});

t.test('a tool use, whole and streamed in pieces, ends with its result', async (t) => {
  for (const anthropic of await clients(t)) {
    const tools: Anthropic.Tool[] = [
      { name: 'find', input_schema: { type: 'object', properties: { text: { type: 'string' } } } },
    ];
    const given = { ...request('demo/demo-tools'), tools };
    const whole = await anthropic.messages.create(given);
    let pieces = 0;
    const stream = anthropic.messages.stream(given).on('inputJson', () => pieces++);
    const streamed = await stream.finalMessage();
    for (const { content, stop_reason } of [whole, streamed]) {
      t.equal(stop_reason, 'tool_use');
      t.match(content, [{ type: 'tool_use', name: 'find', input: { text: 'demo' } }]);
    }
    t.ok(pieces > 1, 'the input came in pieces');
    const [use] = whole.content;
    if (use?.type !== 'tool_use') throw new Error('no tool use');
    const after = await anthropic.messages.create({
      ...given,
      messages: [
        ...given.messages,
        { role: 'assistant', content: whole.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'found it' }] },
      ],
    });
    t.equal(after.stop_reason, 'end_turn');
  }
});

t.test('cache counts are apart from input_tokens, and the stream states them at its start', async (t) => {
  const [anthropic] = await clients(t);
  if (anthropic === undefined) throw new Error('no client');
  const expected = { input_tokens: 2, cache_read_input_tokens: 4, cache_creation_input_tokens: 2 };
  t.match((await anthropic.messages.create(request('demo-cached'))).usage, expected);
  t.match((await anthropic.messages.stream(request('demo-cached')).finalMessage()).usage, expected);
});

t.test('tokens are counted as they are charged', async (t) => {
  for (const anthropic of await clients(t)) {
    const { model, system = '', messages } = request('demo/model');
    t.same((await anthropic.messages.countTokens({ model, system, messages })).input_tokens, 8);
  }
});

t.test('refusals and error events are the errors that the client knows', async (t) => {
  for (const anthropic of await clients(t)) {
    await failsAs(t, anthropic.messages.create(request('demo/demo-429')), Anthropic.RateLimitError);
    await failsAs(t, anthropic.messages.create(request('demo/demo-refuse-400')), Anthropic.BadRequestError);
    await t.rejects(
      anthropic.messages.stream(request('demo/demo-error-event')).finalMessage(),
      /overloaded_error/,
    );
    await failsAs(
      t,
      anthropic.messages.stream(request('demo/demo-cut')).finalMessage(),
      Anthropic.AnthropicError,
    );
  }
});
