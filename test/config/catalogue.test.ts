import t from 'tap';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import { folder } from '../support/cli.ts';
import { Catalogue, registry, registryNames } from '../../config/catalogue.ts';

t.test('the registry names more than 200 chat models, each once', async (t) => {
  const names = registryNames();
  t.ok(names.length > 200, `${names.length} names`);
  t.equal(new Set(names).size, names.length);
  t.ok(registry().some((entry) => entry.name === 'gpt-4o' && entry.provider === 'openai'));
  t.ok(registry().some((entry) => entry.provider === 'anthropic'));
  t.notOk(names.some((name) => /[\s:]|embed|whisper/.test(name)));
});

t.test('every name of the registry can be looked up and is priced', async (t) => {
  const catalogue = new Catalogue();
  for (const { name, provider } of registry()) {
    const known = catalogue.lookUp(`${provider}/${name}`);
    t.ok(known?.prices, `${provider}/${name}`);
    for (const rate of Object.values(known?.prices?.tokens ?? {})) t.ok((rate.base ?? -1n) >= 0n);
  }
});

t.test('a model is found verbatim, and behind one or more provider segments', async (t) => {
  const catalogue = new Catalogue();
  const plain = catalogue.lookUp('gpt-4o');
  t.match(plain?.prices, {
    tokens: {
      input: { base: 2_500_000_000_000n, above: [] },
      output: { base: 10_000_000_000_000n },
      cacheRead: { base: 1_250_000_000_000n },
    },
    units: {},
  });
  t.same(catalogue.lookUp('openai/gpt-4o'), plain);
  t.same(catalogue.lookUp('team/openai/gpt-4o'), { prices: plain?.prices, facts: plain?.facts });
  t.equal(catalogue.lookUp('gpt-4o'), plain, 'a second question costs nothing');
  t.match(plain?.facts, {
    litellm_provider: 'openai',
    input_cost_per_token: 2.5e-6,
    max_input_tokens: Number,
  });
});

t.test('a model costs what its seller asks, and nothing is known where that is not known', async (t) => {
  const catalogue = new Catalogue();
  const asks = (model: string): readonly unknown[] => {
    const { facts, prices } = catalogue.lookUp(model) ?? {};
    const shown = [facts?.['input_cost_per_token'], facts?.['output_cost_per_token']];
    t.equal(prices === null, shown[0] === undefined, `${model} is shown as it is priced`);
    return shown;
  };
  t.same(asks('deepseek/deepseek-r1'), [5.5e-7, 2.19e-6]);
  t.same(asks('azure/deepseek-r1'), [1.35e-6, 5.4e-6], 'Foundry lists it');
  t.same(asks('azure/deepseek-v3.2'), [5.8e-7, 1.68e-6]);
  t.same(asks('azure/gpt-oss-120b'), [1.5e-7, 6e-7]);
  t.same(asks('groq/llama-3.3-70b-versatile'), [5.9e-7, 7.9e-7]);
  t.same(asks('openrouter/deepseek/deepseek-r1-0528'), [5e-7, 2.15e-6]);
  t.same(asks('cerebras/gpt-oss-120b'), [3.5e-7, 7.5e-7], 'as the package lists it');
  t.same(asks('fireworks_ai/accounts/fireworks/models/Kimi-K2-Thinking'), [6e-7, 2.5e-6]);
  t.same(asks('azure/Kimi-K2-Thinking'), [6e-7, 2.5e-6], 'vendors write names with capitals');
  t.same(asks('mistral/Mistral-Large-3'), [5e-7, 1.5e-6]);
  t.same(asks('sambanova/deepseek-r1'), [5e-6, 7e-6], 'the table does so, too');
  t.same(asks('volcengine/doubao-embedding'), [0, 0], 'the table has it under its bare name');
  t.equal(catalogue.lookUp('deepseek-ai/DeepSeek-V3'), null, 'weights of a name, at whomever');
  for (const unlisted of [
    'groq/deepseek-r1',
    'together_ai/deepseek-r1',
    'hosted_vllm/gpt-oss-120b',
    'nvidia_nim/deepseek-ai/deepseek-r1',
    'github/DeepSeek-R1',
    'dashscope/deepseek-r1',
    'friendliai/deepseek-r1',
    'vercel_ai_gateway/deepseek-r1',
  ])
    t.same(asks(unlisted), [undefined, undefined], unlisted);
  t.match(catalogue.lookUp('groq/deepseek-r1')?.facts, { max_output_tokens: Number }, 'its limits are known');
  t.match(catalogue.lookUp('azure/deepseek-r1')?.facts, { max_output_tokens: Number });
});

t.test(
  'a model without open weights costs the list price of its maker everywhere, but on a machine of one’s own',
  async (t) => {
    const catalogue = new Catalogue();
    const price = (model: string): unknown => catalogue.lookUp(model)?.facts['input_cost_per_token'];
    t.type(price('gpt-4.5-preview'), 'number');
    for (const [sold, by] of [
      ['azure/eu-west/gpt-4.1', 'gpt-4.1'],
      ['openrouter/team/claude-opus-4-8', 'claude-opus-4-8'],
      ['openrouter/team/grok-4', 'xai/grok-4'],
      ['team/deepseek-r1', 'deepseek-r1'],
    ] as const)
      t.equal(price(sold), price(by), sold);
    t.equal(price('ollama/gpt-4.1'), undefined);
  },
);

t.test('what OpenRouter calls free costs nothing', async (t) => {
  const catalogue = new Catalogue();
  for (const model of [
    'openrouter/deepseek/deepseek-r1-0528:free',
    'openrouter/acme/unknown:free',
    'deepseek/deepseek-r1:free', // of a gateway that is an OpenAI-compatible one
  ])
    t.match(
      catalogue.lookUp(model),
      {
        prices: { tokens: { input: { base: 0n }, output: { base: 0n } } },
        facts: { input_cost_per_token: 0 },
      },
      model,
    );
  t.equal(catalogue.lookUp('acme/unknown:free'), null);
  t.notMatch(
    catalogue.lookUp('gpt-4o:free'),
    { facts: { input_cost_per_token: 0 } },
    'no name of OpenRouter',
  );
});

t.test('how a model is called is known of its vendor alone', async (t) => {
  const catalogue = new Catalogue();
  const openai = { kind: 'compat', provider: 'openai' } as const;
  t.equal(catalogue.modeOf(openai, 'gpt-4o'), 'chat');
  t.equal(catalogue.modeOf(openai, 'o3-pro'), 'responses');
  t.equal(catalogue.modeOf(openai, 'openai/o3-pro'), 'responses', 'as many gateways write it');
  t.equal(catalogue.modeOf({ kind: 'azure', provider: 'azure' }, 'o3-pro'), 'responses');
  t.equal(catalogue.modeOf({ kind: 'openrouter', provider: 'openrouter' }, 'openai/o3-pro'), undefined);
  t.equal(catalogue.modeOf(openai, 'acme'), undefined);
  const others = [
    'azure/gpt-5.1-codex',
    'chatgpt/gpt-5.2',
    'perplexity/openai/gpt-5',
    'grok-4.20-multi-agent',
    'xai/grok-4.20-multi-agent',
  ];
  for (const name of others) t.equal(catalogue.modeOf(openai, name), undefined, `behind a gateway: ${name}`);
});

t.test('tiers, cache lifetimes and web searches are part of the table', async (t) => {
  t.match(new Catalogue().lookUp('claude-sonnet-4-5')?.prices, {
    version: /^[0-9a-f]{12}$/,
    tokens: {
      input: { base: 3_000_000_000_000n, tiers: {}, above: [] },
      cacheWrite: { base: 3_750_000_000_000n },
      cacheWrite1h: { base: 6_000_000_000_000n },
    },
    units: { searches: 10_000_000_000_000_000n },
  });
});

t.test("models with Anthropic's fast mode have its prices", async (t) => {
  const tokens = new Catalogue().lookUp('anthropic/claude-opus-4-8')?.prices?.tokens;
  const fast = {
    input: 10_000_000_000_000n,
    output: 50_000_000_000_000n,
    cacheRead: 1_000_000_000_000n,
    cacheWrite: 12_500_000_000_000n,
    cacheWrite1h: 20_000_000_000_000n,
  };
  for (const [kind, price] of Object.entries(fast))
    t.match(tokens, { [kind]: { base: price / 2n, tiers: { fast: price, priority: undefined } } }, kind);
  t.same(new Catalogue().lookUp('claude-sonnet-4-5')?.prices?.tokens.input?.tiers, {});
});

t.test('tools of vendors have their prices, Gemini by the generation', async (t) => {
  const units = (model: string): unknown => new Catalogue().lookUp(model)?.prices?.units;
  t.same(units('openai/gpt-5'), { searches: 10_000_000_000_000_000n, fileSearches: 2_500_000_000_000_000n });
  t.same(units('gemini/gemini-2.5-flash'), {
    searchPrompts: 35_000_000_000_000_000n,
    mapPrompts: 25_000_000_000_000_000n,
  });
  t.same(units('gemini-3-flash-preview'), {
    searches: 14_000_000_000_000_000n,
    mapSearches: 14_000_000_000_000_000n,
  });
  t.same(units('gpt-4o-search-preview'), { searches: 25_000_000_000_000_000n });
});

t.test('long prompts and service tiers have the prices of the newer table', async (t) => {
  const catalogue = new Catalogue();
  t.match(catalogue.lookUp('gemini/gemini-3.1-pro-preview')?.prices?.tokens, {
    input: {
      base: 2_000_000_000_000n,
      tiers: { flex: 1_000_000_000_000n, priority: 3_600_000_000_000n },
      above: [
        {
          promptTokens: 200_000,
          base: 4_000_000_000_000n,
          tiers: { flex: 2_000_000_000_000n, priority: 7_200_000_000_000n },
        },
      ],
    },
  });
  for (const [name, input, output] of [
    ['mistral-large-latest', 5e-7, 1.5e-6],
    ['deepseek/deepseek-chat', 2.8e-7, 4.2e-7],
  ] as const)
    t.match(
      catalogue.lookUp(name)?.facts,
      { input_cost_per_token: input, output_cost_per_token: output },
      name,
    );
  t.equal(
    catalogue.lookUp('gemini/gemini-2.5-flash-lite')?.prices?.tokens.reasoning,
    undefined,
    'a price of reasoning that is the one of output does not stand beside its tiers',
  );
});

t.test('an unknown model is null, never a guess', async (t) => {
  const catalogue = new Catalogue();
  for (const name of ['demo', 'acme/demo', '', '/', 'a/b/c/', 'constructor'])
    t.equal(catalogue.lookUp(name), null, name);
});

t.test('agents choose a model by its mode, limits and features', async (t) => {
  const catalogue = new Catalogue();
  t.match(catalogue.lookUp('team/openai/gpt-4o')?.facts, {
    mode: 'chat',
    max_tokens: 16_384,
    max_input_tokens: 128_000,
    max_output_tokens: 16_384,
    input_cost_per_token: 2.5e-6,
    supports_vision: true,
    supports_function_calling: true,
    supports_response_schema: true,
    supports_pdf_input: true,
    supports_prompt_caching: true,
  });
  t.equal(catalogue.lookUp('gpt-4o')?.facts['supports_reasoning'], undefined, 'unknown is not false');
  t.match(catalogue.lookUp('claude-sonnet-4-5')?.facts, {
    supports_reasoning: true,
    max_output_tokens: 64_000,
  });
  t.match(catalogue.lookUp('azure/embeddings/text-embedding-3-small')?.facts, {
    mode: 'embedding',
    input_cost_per_token: 2e-8,
    output_vector_size: 1_536,
  });
  t.match(
    catalogue.lookUp('mistral-large-latest')?.facts,
    { supports_function_calling: true },
    'a maker’s entry counts for the bare name',
  );
});

t.test('a model of the facts alone is priced by them, and shown as it is priced', async (t) => {
  const known = new Catalogue().lookUp('databricks/databricks-bge-large-en');
  const cost = known?.facts['input_cost_per_token'];
  t.type(cost, 'number');
  t.equal(Number(known?.prices?.tokens.input?.base) / 1e18, cost);
});

t.test('a model has the facts of its maker, not of who resells it', async (t) => {
  const catalogue = new Catalogue();
  for (const [maker, name] of [
    ['anthropic', 'claude-sonnet-4-5'],
    ['openai', 'gpt-5'],
    ['google', 'gemini-2.5-pro'],
  ] as const) {
    const facts = catalogue.lookUp(`${maker}/${name}`)?.facts;
    t.match(facts, { mode: 'chat', max_output_tokens: Number }, name);
    t.same(facts, catalogue.lookUp(name)?.facts, name);
  }
});

t.test(
  'base_model is looked up among what the vendor of its entry sells, else as it is written',
  async (t) => {
    const path = join(folder(t), 'gateway.yaml');
    const priceOf = (model: string, params: string, info: string): unknown => {
      const more = `api_base: "http://a/v1", api_key: k${params}`;
      writeFileSync(
        path,
        `model_list:\n  - { model_name: m, litellm_params: { model: ${model}, ${more} }, model_info: { id: m${info} } }\n`,
      );
      const result = loadConfig(path, {});
      if (!result.ok) throw new Error(result.issues.map(formatIssue).join('\n'));
      t.same(result.snapshot.warnings, []);
      const [deployment] = result.snapshot.deployments;
      return Number(deployment?.cataloguePrices?.tokens.input?.base) / 1e18;
    };
    const base = (name: string): string => `, base_model: "${name}"`;
    t.equal(priceOf('azure/mine', '', base('text-embedding-3-large')), 1.43e-7, 'of Azure, not of OpenAI');
    t.equal(priceOf('azure/mine', base('azure/gpt-4o'), ''), 2.5e-6);
    t.equal(priceOf('azure/mine', base('azure/gpt-4o'), base('gpt-4o-mini')), 2.5e-6, 'as in LiteLLM');
    t.equal(priceOf('azure/mine', '', base('openai/text-embedding-3-large')), 1.3e-7, 'a whole name');
    t.equal(priceOf('openrouter/mine', '', base('deepseek/deepseek-r1-0528')), 5e-7);
    t.equal(
      priceOf('groq/mine', '', base('deepseek-r1')),
      5.5e-7,
      'Groq does not list it; who writes it means it',
    );
    t.equal(priceOf('openai/mine', base('gpt-4o'), ''), 2.5e-6);
  },
);

t.test('base_model of a wildcard is what all of its calls are looked up by', async (t) => {
  const path = join(folder(t), 'gateway.yaml');
  const entry = (info: string): string =>
    `model_list:\n  - { model_name: "x/*", litellm_params: { model: litellm_proxy/*, api_base: "http://a" }${info} }\n`;
  const loaded = (info: string) => {
    writeFileSync(path, entry(info));
    const result = loadConfig(path, {});
    if (!result.ok) throw new Error(result.issues.map(formatIssue).join('\n'));
    const [deployment] = result.snapshot.deployments;
    if (deployment === undefined) throw new Error('no deployment');
    return deployment;
  };
  const catalogue = new Catalogue();
  const known = catalogue.lookUp('gpt-4o');
  const named = loaded(', model_info: { base_model: gpt-4o }');
  t.same(catalogue.pricesOf(named, 'house-model').catalogue, known?.prices);
  t.same(catalogue.pricesOf(named, 'claude-sonnet-4-5').catalogue, known?.prices);
  t.match(catalogue.factsOf(named, 'house-model'), { max_input_tokens: known?.facts['max_input_tokens'] });
  const plain = loaded('');
  t.equal(catalogue.pricesOf(plain, 'house-model').catalogue, null);
  t.same(catalogue.pricesOf(plain, 'gpt-4o').catalogue, known?.prices);
});
