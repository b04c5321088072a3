// The official openai client on the responses endpoints: whole, streamed, tools, and by id.
import OpenAI from 'openai';
import type { Test } from 'tap';
import t from 'tap';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { failsAs } from '../../support/thrown.ts';

async function client(t: Test, base = '/v1'): Promise<OpenAI> {
  const gateway = await startDemoGateway();
  t.teardown(() => gateway.close());
  return new OpenAI({ baseURL: `${gateway.url}${base}`, apiKey: 'sk-demo', maxRetries: 0 });
}

const tools = [
  {
    type: 'function' as const,
    name: 'add',
    strict: false,
    parameters: { type: 'object', properties: { a: { type: 'number' }, b: { const: 2 } } },
  },
];

t.test('a response, whole and streamed, on both faces', async (t) => {
  for (const base of ['/v1', '/compat/v1']) {
    const openai = await client(t, base);
    const request = { model: 'demo/model', instructions: 'be brief', input: 'one two three' };
    const text = 'Hello from demo/model: the demo gateway heard 5 words.';
    const whole = await openai.responses.create(request);
    t.equal(whole.output_text, text);
    t.match(whole.usage, { input_tokens: 8, output_tokens: 9, total_tokens: 17 });
    const stream = openai.responses.stream(request);
    const types: string[] = [];
    const numbers: number[] = [];
    for await (const event of stream) {
      types.push(event.type);
      numbers.push(event.sequence_number);
    }
    const final = await stream.finalResponse();
    t.equal(final.output_text, text);
    t.same(final.usage, whole.usage);
    t.equal(types[0], 'response.created');
    t.equal(types.at(-1), 'response.completed');
    t.same(numbers, [...numbers.keys()], 'numbered without a gap');
  }
});

t.test('a function call, whole and streamed, and the answer to its output', async (t) => {
  const openai = await client(t);
  const request = { model: 'demo-tools', input: 'add', tools };
  const whole = await openai.responses.create(request);
  const streamed = await openai.responses.stream(request).finalResponse();
  for (const { output } of [whole, streamed]) {
    t.match(output[0], {
      type: 'function_call',
      name: 'add',
      arguments: '{"a":1,"b":2}',
      status: 'completed',
    });
  }
  const [call] = whole.output;
  if (call?.type !== 'function_call') throw new Error('no function call');
  const after = await openai.responses.create({
    ...request,
    input: [call, { type: 'function_call_output', call_id: call.call_id, output: 'the sum is three' }],
  });
  t.match(after.output_text, 'heard 4 words');
});

t.test('cached and reasoning tokens stand in the details; no-usage leaves usage out', async (t) => {
  const openai = await client(t);
  const cached = await openai.responses.create({ model: 'demo-cached', input: 'a b c d e' });
  t.match(cached.usage, {
    input_tokens: 8,
    input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 4 },
  });
  t.equal((await openai.responses.create({ model: 'demo-no-usage', input: 'a' })).usage, undefined);
});

t.test('a response is found by its id at the gateway that made it, until it is deleted', async (t) => {
  const openai = await client(t);
  const other = await client(t);
  const made = await openai.responses.create({
    model: 'demo-model',
    input: [{ role: 'user', content: 'hi' }],
  });
  t.same((await openai.responses.retrieve(made.id)).output, made.output);
  const items = await openai.responses.inputItems.list(made.id);
  t.match(items.data, [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }]);
  t.equal((await openai.responses.cancel(made.id)).status, 'cancelled');
  await failsAs(t, other.responses.retrieve(made.id), OpenAI.NotFoundError);
  await openai.responses.delete(made.id);
  await failsAs(t, openai.responses.retrieve(made.id), OpenAI.NotFoundError);
});

t.test('a streamed response is kept too, one with store false is not', async (t) => {
  const openai = await client(t);
  const made = await openai.responses.stream({ model: 'demo-model', input: 'hi' }).finalResponse();
  t.equal((await openai.responses.retrieve(made.id)).id, made.id);
  const unkept = await openai.responses.create({ model: 'demo-model', input: 'hi', store: false });
  await failsAs(t, openai.responses.retrieve(unkept.id), OpenAI.NotFoundError);
});
