// The usage event as gateways and providers really send it: taken out where the proxy asked for it and the client did not,
// and nothing else with it. The shapes are those of their sources, documentation and recorded streams.
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { completions } from '../../../proxy/protocols/completions.ts';
import { DONE, STRIP, data, run } from '../relay/fixture/streams.ts';

const USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
const choice = (delta: object, finish: string | null = null, more: object = {}): object => ({
  index: 0,
  delta,
  finish_reason: finish,
  ...more,
});
const ROLE = data({ ...CHUNK, choices: [choice({ role: 'assistant', content: '' })] });
const TEXT = data({ ...CHUNK, choices: [choice({ content: 'hi' })] });
const FINISH = data({ ...CHUNK, choices: [choice({}, 'stop')] });
const event = (choices: unknown, more: object = {}): string =>
  data({ ...CHUNK, choices, usage: USAGE, ...more });

const OPENROUTER = { native_finish_reason: 'completed', logprobs: null };
const SAFE = { hate: { filtered: false, severity: 'safe' } };
const LITELLM_USAGE = { ...USAGE, prompt_tokens_details: { cached_tokens: 0 }, cost: 0.000015 };

/** What comes before, the event that must go, what stays. */
const TAKEN: Readonly<Record<string, readonly [before: string, taken: string]>> = {
  'OpenAI, vLLM': [ROLE + TEXT + FINISH, event([], { system_fingerprint: 'fp', service_tier: 'default' })],
  Ollama: [
    data({
      ...CHUNK,
      system_fingerprint: 'fp_ollama',
      choices: [choice({ role: 'assistant', content: 'hi' })],
    }) + FINISH,
    event([], { system_fingerprint: 'fp_ollama' }),
  ],
  'LiteLLM 1.80': [
    ROLE + TEXT + FINISH,
    data({ ...CHUNK, choices: [{ index: 0, delta: {} }], usage: LITELLM_USAGE }),
  ],
  'LiteLLM 1.106': [
    ROLE + TEXT + data({ ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    data({ ...CHUNK, choices: [{ index: 0, delta: {} }], usage: LITELLM_USAGE }),
  ],
  'LiteLLM with null members': [
    ROLE + FINISH,
    event([
      choice(
        {
          provider_specific_fields: null,
          content: null,
          role: null,
          function_call: null,
          tool_calls: null,
          audio: null,
        },
        null,
        { logprobs: null },
      ),
    ]),
  ],
  Azure: [
    data({
      choices: [],
      created: 0,
      id: '',
      model: '',
      object: '',
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: SAFE }],
    }) +
      data({
        ...CHUNK,
        choices: [choice({ content: 'hi' }, null, { content_filter_results: SAFE, logprobs: null })],
      }) +
      data({ ...CHUNK, choices: [choice({}, 'stop', { content_filter_results: {}, logprobs: null })] }),
    event([], { obfuscation: 'x', system_fingerprint: 'fp' }),
  ],
  'OpenRouter, finish reason null': [
    `: OPENROUTER PROCESSING\n\n${ROLE}${TEXT}` +
      data({ ...CHUNK, choices: [choice({ content: '' }, 'stop', OPENROUTER)] }),
    event([choice({ role: 'assistant', content: '' }, null, { native_finish_reason: null, logprobs: null })]),
  ],
  'OpenRouter, finish reason sent again': [
    `: OPENROUTER PROCESSING\n\n${TEXT}` +
      data({
        ...CHUNK,
        provider: 'OpenAI',
        choices: [choice({ content: '', role: 'assistant' }, 'stop', OPENROUTER)],
      }),
    event([choice({ content: '', role: 'assistant', reasoning_details: [] }, 'stop', OPENROUTER)], {
      provider: 'OpenAI',
    }),
  ],
  Bifrost: [
    data({
      ...CHUNK,
      choices: [choice({ content: 'hi' })],
      extra_fields: { provider: 'openai', chunk_index: 0 },
    }) + FINISH,
    event([], { extra_fields: { provider: 'openai', latency: 12, chunk_index: 3 } }),
  ],
  'Bifrost, an empty choice': [
    FINISH,
    event([choice({})], { extra_fields: { provider: 'anthropic', chunk_index: 3 } }),
  ],
  'Portkey (as the provider sends it)': [data({ hook_results: { before: [] } }) + TEXT + FINISH, event([])],
  'Portkey before Anthropic': [
    data({
      ...CHUNK,
      provider: 'anthropic',
      choices: [choice({ content: 'hi' }, null, { logprobs: null })],
    }) + FINISH,
    event([choice({}, null, { logprobs: null })], { provider: 'anthropic' }),
  ],
  'Groq, an event of its own': [
    FINISH,
    event([], { x_groq: { id: 'req_1', usage: USAGE }, service_tier: 'on_demand' }),
  ],
  'gateways in Go: null choices': [TEXT + FINISH, event(null)],
  'no choices at all': [FINISH, data({ ...CHUNK, usage: USAGE })],
  'several choices': [
    data({ ...CHUNK, choices: [choice({}, 'stop'), { index: 1, delta: {}, finish_reason: 'length' }] }),
    event([choice({}), { index: 1, delta: { content: '' }, finish_reason: 'length' }]),
  ],
};

/** What must stay as it is. */
const KEPT: Readonly<Record<string, string>> = {
  'DeepSeek: usage with the finish reason':
    TEXT + event([choice({ content: '' }, 'stop', { logprobs: null })]),
  'Groq: usage beside the finish reason': data({
    ...CHUNK,
    choices: [choice({}, 'stop', { logprobs: null })],
    x_groq: { id: 'req_1', usage: USAGE },
  }),
  'Moonshot: usage in the choice': data({ ...CHUNK, choices: [choice({}, 'stop', { usage: USAGE })] }),
  'usage with each token (vLLM: continuous_usage_stats)':
    event([choice({ content: 'hi' })]) + event([choice({}, 'stop')]),
  'usage with the role': event([choice({ role: 'assistant', content: '' })]) + FINISH,
  'usage with the last text': FINISH + event([choice({ content: 'hi' })]),
  'a tool call': FINISH + event([choice({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] })]),
  'a thought': FINISH + event([choice({ reasoning_content: 'hm' })]),
  'an annotation': FINISH + event([choice({ annotations: [{ type: 'url_citation' }] })]),
  'results of a filter': FINISH + event([choice({}, null, { content_filter_results: SAFE })]),
  'log probabilities': FINISH + event([choice({}, null, { logprobs: { content: [{ token: 'a' }] } })]),
  'the finish reason of another choice': FINISH + event([{ index: 1, delta: {}, finish_reason: 'stop' }]),
  'another finish reason': FINISH + event([choice({}, 'content_filter')]),
  'one of two choices says something': FINISH + event([choice({}), { index: 1, delta: { content: 'x' } }]),
  'a choice that is no object': FINISH + event(['x']),
  'choices that are no list': FINISH + event({}),
  'an error': FINISH + event([choice({})], { error: { message: 'no' } }),
  'null usage': FINISH + data({ ...CHUNK, choices: [choice({})], usage: null }),
  'no event of chats': FINISH + data({ type: 'ping', usage: USAGE }),
};

t.test('it goes where nobody asked for it', async (t) => {
  for (const [name, [before, taken]] of Object.entries(TAKEN)) {
    for (const newline of ['\n', '\r\n']) {
      const bytes = (text: string): string => text.replaceAll('\n', newline);
      const { all, tap } = run(chat, [bytes(before), bytes(taken), bytes(DONE)], STRIP);
      t.equal(all.toString(), bytes(before + DONE), name);
      t.match(tap.usage, USAGE, name);
      t.equal(
        run(chat, [bytes(before + taken + DONE)]).all.toString(),
        bytes(before + taken + DONE),
        `${name}: asked for`,
      );
    }
  }
});

t.test('what says anything else stays, byte by byte', async (t) => {
  for (const [name, stream] of Object.entries(KEPT))
    t.equal(run(chat, [stream + DONE], STRIP).all.toString(), stream + DONE, name);
});

t.test('before the finish reason a choice that says nothing stays', async (t) => {
  for (const [name, [, taken]] of Object.entries(TAKEN)) {
    if (taken.includes('"choices":[]')) continue;
    t.equal(run(chat, [TEXT + taken + FINISH], STRIP).all.toString(), TEXT + taken + FINISH, name);
  }
});

t.test('completions have it too', async (t) => {
  const text = data({
    id: 'c',
    object: 'text_completion',
    choices: [{ index: 0, text: 'hi', finish_reason: 'stop' }],
  });
  for (const choices of [[], [{ index: 0, text: '', logprobs: null, finish_reason: null }]]) {
    const taken = data({ id: 'c', object: 'text_completion', choices, usage: USAGE });
    t.equal(run(completions, [text + taken + DONE], STRIP).all.toString(), text + DONE);
  }
});
