// The official openai client against both faces: chat, tools, and the endpoints without a stream.
import OpenAI from 'openai';
import type { Test } from 'tap';
import t from 'tap';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { failsAs } from '../../support/thrown.ts';

const FACES = [
  ['/v1', ''],
  ['/compat/v1', 'demo/'],
] as const;

interface Client {
  readonly openai: OpenAI;
  /** Put before model names. */
  readonly prefix: string;
}

async function clients(t: Test): Promise<readonly Client[]> {
  const gateway = await startDemoGateway({ acceptKeys: ['sk-demo'] });
  t.teardown(() => gateway.close());
  return FACES.map(([base, prefix]) => ({
    openai: new OpenAI({ baseURL: `${gateway.url}${base}`, apiKey: 'sk-demo', maxRetries: 0 }),
    prefix,
  }));
}

const weather = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer' },
        unit: { enum: ['celsius', 'kelvin'] },
        exact: { type: ['boolean', 'null'] },
        place: { type: 'object', properties: { zip: { type: 'number' } } },
      },
    },
  },
} as const;
const weatherArguments = { city: 'demo', days: 1, unit: 'celsius', exact: true, place: { zip: 1 } };
const messages = [{ role: 'user', content: 'what a day' }] as const;

t.test('chat completions, whole and streamed, say the same', async (t) => {
  for (const { openai, prefix } of await clients(t)) {
    const model = `${prefix}demo-model`;
    const whole = await openai.chat.completions.create({ model, messages: [...messages] });
    const text = `Hello from ${model}: the demo gateway heard 3 words.`;
    t.equal(whole.choices[0]?.message.content, text);
    t.equal(whole.usage?.total_tokens, 6 + 9);
    const stream = openai.chat.completions.stream({
      model,
      messages: [...messages],
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    t.equal(final.choices[0]?.message.content, text);
    t.equal(final.choices[0]?.finish_reason, 'stop');
    t.same(final.usage, whole.usage);
  }
});

t.test('a tool call has arguments that fit its schema, and its result ends the loop', async (t) => {
  for (const { openai, prefix } of await clients(t)) {
    const model = `${prefix}demo-tools`;
    const whole = await openai.chat.completions.create({ model, messages: [...messages], tools: [weather] });
    const [call] = whole.choices[0]?.message.tool_calls ?? [];
    t.equal(whole.choices[0]?.finish_reason, 'tool_calls');
    if (call?.type !== 'function') throw new Error('no function call');
    t.same(JSON.parse(call.function.arguments), weatherArguments);
    const stream = openai.chat.completions.stream({ model, messages: [...messages], tools: [weather] });
    const streamed = (await stream.finalChatCompletion()).choices[0]?.message.tool_calls?.[0];
    t.match(streamed, { type: 'function', function: call.function });
    const after = await openai.chat.completions.create({
      model,
      messages: [
        ...messages,
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'fine' },
      ],
      tools: [weather],
    });
    t.match(after.choices[0]?.message.content, /^Hello from/);
    t.equal(after.choices[0]?.finish_reason, 'stop');
  }
});

t.test('legacy completions, whole and streamed', async (t) => {
  for (const { openai, prefix } of await clients(t)) {
    const model = `${prefix}demo-tools`;
    const whole = await openai.completions.create({ model, prompt: 'one two' });
    t.match(whole.choices[0]?.text, 'heard 2 words');
    const stream = await openai.completions.create({
      model,
      prompt: 'one two',
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let total = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.text ?? '';
      total = chunk.usage?.total_tokens ?? total;
    }
    t.equal(text, whole.choices[0]?.text);
    t.equal(total, whole.usage?.total_tokens);
  }
});

t.test('embeddings in floats and in base64 are the same vectors', async (t) => {
  for (const { openai, prefix } of await clients(t)) {
    const model = `${prefix}demo-embed`;
    const packed = await openai.embeddings.create({ model, input: ['a', 'b c'], dimensions: 5 });
    const plain = await openai.embeddings.create({
      model,
      input: ['a', 'b c'],
      dimensions: 5,
      encoding_format: 'float',
    });
    t.same(packed.data, plain.data);
    t.same([packed.data.length, packed.data[0]?.embedding.length], [2, 5]);
    t.same(packed.usage, { prompt_tokens: 6, total_tokens: 6 });
    t.equal(
      (await openai.embeddings.create({ model, input: [1, 2, 3] })).data.length,
      1,
      'a list of tokens is one',
    );
  }
});

t.test('images, speech, transcription, moderation and the model list', async (t) => {
  for (const { openai, prefix } of await clients(t)) {
    const model = `${prefix}demo-model`;
    const images = await openai.images.generate({ model, prompt: 'a cat', n: 2 });
    t.equal(images.data?.length, 2);
    t.match(Buffer.from(images.data?.[0]?.b64_json ?? '', 'base64').toString('latin1'), 'PNG');
    const file = new File(['not a picture'], 'a.png', { type: 'image/png' });
    const edited = await openai.images.edit({ model, image: file, prompt: 'a dog' });
    t.equal(edited.data?.length, 1);
    const speech = await openai.audio.speech.create({ model, voice: 'alloy', input: 'hello' });
    const sound = Buffer.from(await speech.arrayBuffer());
    t.equal(sound.readUInt32LE(4), sound.length - 8, 'RIFF states its length');
    t.equal(new Set(sound).size, 256, 'every byte value passes');
    const heard = await openai.audio.transcriptions.create({ model, file });
    t.match(heard.text, /^Hello from/);
    t.equal((await openai.moderations.create({ model, input: 'hm' })).results[0]?.flagged, false);
    const ids: string[] = [];
    for await (const { id } of openai.models.list()) ids.push(id);
    t.ok(ids.includes(`${prefix}demo-model`) && ids.includes(`${prefix}demo-cut`));
    t.equal((await openai.models.retrieve('a/b')).id, 'a/b');
  }
});

t.test('refusals are the errors that the client knows', async (t) => {
  for (const { openai, prefix } of await clients(t)) {
    const create = (name: string): Promise<unknown> =>
      openai.chat.completions.create({ model: `${prefix}demo-${name}`, messages: [...messages] });
    await failsAs(t, create('refuse-401'), OpenAI.AuthenticationError);
    await failsAs(t, create('context'), OpenAI.BadRequestError);
    await failsAs(t, create('404'), OpenAI.NotFoundError);
    await failsAs(t, create('429'), OpenAI.RateLimitError);
    await failsAs(t, create('502-html'), OpenAI.InternalServerError);
    await failsAs(t, create('drop'), OpenAI.APIConnectionError);
    await failsAs(t, openai.withOptions({ apiKey: 'sk-other' }).models.list(), OpenAI.AuthenticationError);
  }
});
