import t from 'tap';
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
    for (const rate of Object.values(known?.prices ?? {})) t.ok(rate === null || Number.isSafeInteger(rate));
  }
});

t.test('a model is found verbatim, and behind one or more provider segments', async (t) => {
  const catalogue = new Catalogue();
  const plain = catalogue.lookUp('gpt-4o');
  t.match(plain?.prices, { input: 2_500_000, output: 10_000_000, cacheRead: 1_250_000, perRequest: null });
  t.same(catalogue.lookUp('openai/gpt-4o'), plain);
  t.same(catalogue.lookUp('team/openai/gpt-4o'), plain);
  t.equal(catalogue.lookUp('gpt-4o'), plain, 'a second question costs nothing');
  t.match(plain?.facts, {
    litellm_provider: 'openai',
    input_cost_per_token: 2.5e-6,
    max_input_tokens: Number,
  });
});

t.test('a tiered price is its base rate', async (t) => {
  t.match(new Catalogue().lookUp('claude-sonnet-4-5')?.prices, { input: 3_000_000, cacheWrite: 3_750_000 });
});

t.test('an unknown model is null, never a guess', async (t) => {
  const catalogue = new Catalogue();
  for (const name of ['demo', 'acme/demo', '', '/', 'a/b/c/', 'constructor'])
    t.equal(catalogue.lookUp(name), null, name);
});
