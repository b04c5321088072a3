// Calls a proxy through client libraries of npm as programs do; the twin of client-libraries.py, run in the folder where they are
// installed. Reads {"base", "key", "clients"} as JSON and prints a line of JSON per library and case.
import { text } from 'node:stream/consumers';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const asked = JSON.parse(await text(process.stdin));
const { base, key: KEY } = asked;
const resolver = createRequire(`${process.cwd()}/package.json`);
const load = (name) => import(pathToFileURL(resolver.resolve(name)).href);
const IMAGE = Buffer.from('\u0089PNG\r\n', 'latin1');
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
  additionalProperties: false,
};
const several = (pieces) => [pieces.join(''), pieces.filter((one) => one !== '').length > 1];

/** `provider(key)` gives a function from a name to a model. */
async function aiSdk(provider) {
  const { generateText, streamText, generateObject, jsonSchema, tool, stepCountIs } = await load('ai');
  const ask = (model, { key = KEY, maxRetries = 0, ...more } = {}) =>
    generateText({ model: provider(key)(model), prompt: 'one two three', maxRetries, ...more });
  return {
    chat: async () => (await ask('text')).text,
    usage: async () => {
      const { usage } = await ask('text');
      return [usage.inputTokens, usage.outputTokens];
    },
    stream: async () => {
      const pieces = [];
      const { textStream } = streamText({ model: provider(KEY)('text'), prompt: 'one two three' });
      for await (const piece of textStream) pieces.push(piece);
      return several(pieces);
    },
    tools: async () => {
      const cities = [];
      const weather = tool({
        description: 'The weather.',
        inputSchema: jsonSchema(SCHEMA),
        execute: ({ city }) => {
          cities.push(city);
          return `${city}: sun`;
        },
      });
      const { text: said } = await ask('two-cities', { tools: { weather }, stopWhen: stepCountIs(5) });
      return [cities, said];
    },
    structured: async () => {
      const schema = jsonSchema(SCHEMA);
      return (
        await generateObject({ model: provider(KEY)('structured'), schema, prompt: 'Where?', maxRetries: 0 })
      ).object;
    },
    image: async () => {
      const content = [
        { type: 'text', text: 'What is it?' },
        { type: 'image', image: IMAGE, mediaType: 'image/png' },
      ];
      const messages = [{ role: 'user', content }];
      return (await generateText({ model: provider(KEY)('text'), messages, maxRetries: 0 })).text;
    },
    abort: async () => {
      const abort = new AbortController();
      const { fullStream } = streamText({
        model: provider(KEY)('stalls'),
        prompt: 'one two three',
        abortSignal: abort.signal,
        onError: () => undefined,
      });
      const kinds = [];
      for await (const { type } of fullStream) {
        kinds.push(type);
        if (type === 'text-delta') abort.abort();
      }
      return kinds.at(-1);
    },
    retry: async () => (await ask('retry', { maxRetries: 2 })).text,
    refused: () => ask('refused'),
    'wrong key': () => ask('text', { key: 'sk-nobody' }),
  };
}

const CLIENTS = {
  '@ai-sdk/openai (responses)': async () => {
    const { createOpenAI } = await load('@ai-sdk/openai');
    return aiSdk((apiKey) => createOpenAI({ baseURL: `${base}/v1`, apiKey }));
  },
  '@ai-sdk/openai (chat)': async () => {
    const { createOpenAI } = await load('@ai-sdk/openai');
    return aiSdk((apiKey) => createOpenAI({ baseURL: `${base}/v1`, apiKey }).chat);
  },
  '@ai-sdk/anthropic': async () => {
    const { createAnthropic } = await load('@ai-sdk/anthropic');
    return aiSdk((apiKey) => createAnthropic({ baseURL: `${base}/v1`, apiKey }));
  },
  '@ai-sdk/openai-compatible': async () => {
    const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible');
    const options = {
      name: 'proxy',
      baseURL: `${base}/v1`,
      includeUsage: true,
      supportsStructuredOutputs: true,
    };
    return aiSdk((apiKey) => createOpenAICompatible({ ...options, apiKey }));
  },
  '@google/genai': async () => {
    const { GoogleGenAI } = await load('@google/genai');
    const ask = (model, { key = KEY, attempts = 1, contents = 'one two three', config } = {}) => {
      const httpOptions = { baseUrl: base, retryOptions: { attempts } };
      return new GoogleGenAI({ apiKey: key, httpOptions }).models.generateContent({
        model,
        contents,
        config,
      });
    };
    const stream = (model, config) => {
      const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: base } });
      return client.models.generateContentStream({ model, contents: 'one two three', config });
    };
    return {
      chat: async () => (await ask('text')).text,
      usage: async () => {
        const { usageMetadata: usage } = await ask('text');
        return [usage.promptTokenCount, usage.candidatesTokenCount];
      },
      stream: async () => {
        const pieces = [];
        for await (const { text: piece } of await stream('text')) pieces.push(piece ?? '');
        return several(pieces);
      },
      tools: async () => {
        const declaration = { name: 'weather', description: 'The weather.', parametersJsonSchema: SCHEMA };
        const config = { tools: [{ functionDeclarations: [declaration] }] };
        const contents = [{ role: 'user', parts: [{ text: 'Ask for two cities.' }] }];
        const cities = [];
        for (;;) {
          const answer = await ask('two-cities', { contents, config });
          const [call] = answer.functionCalls ?? [];
          if (call === undefined) return [cities, answer.text];
          cities.push(call.args.city);
          const response = { output: `${call.args.city}: sun` };
          const result = { functionResponse: { id: call.id, name: call.name, response } };
          contents.push(answer.candidates[0].content, { role: 'user', parts: [result] });
        }
      },
      structured: async () => {
        const config = { responseMimeType: 'application/json', responseJsonSchema: SCHEMA };
        return JSON.parse((await ask('structured', { config })).text);
      },
      image: async () => {
        const inlineData = { data: IMAGE.toString('base64'), mimeType: 'image/png' };
        return (await ask('text', { contents: [{ text: 'What is it?' }, { inlineData }] })).text;
      },
      abort: async () => {
        const abort = new AbortController();
        try {
          for await (const _ of await stream('stalls', { abortSignal: abort.signal })) abort.abort();
        } catch (error) {
          return /abort/i.test(`${error.name} ${error.message}`) ? 'abort' : String(error);
        }
        return 'ended';
      },
      retry: async () => (await ask('retry', { attempts: 3 })).text,
      refused: () => ask('refused'),
      'wrong key': () => ask('text', { key: 'sk-nobody' }),
    };
  },
};

for (const name of asked.clients)
  for (const [name_of_case, call] of Object.entries(await CLIENTS[name]())) {
    const line = { client: name, case: name_of_case };
    try {
      line.value = await call();
    } catch (error) {
      line.error = String(error).slice(0, 400);
      line.kind = error.name;
      line.status = error.statusCode ?? error.status ?? error.lastError?.statusCode ?? null;
    }
    console.log(JSON.stringify(line));
  }
process.exit(0);
