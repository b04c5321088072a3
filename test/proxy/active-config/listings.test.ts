// The prices of `/model/info` are those that rows are charged by; names of another team's gateway are nobody else's to see.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { loadConfig } from '../../../config/load.ts';
import { modelFactsOf, namesFor } from '../../../proxy/active-config/listings.ts';
import { NO_TOKENS } from '../../../proxy/protocols/usage.ts';
import { costOf } from '../../../proxy/spend/record/cost.ts';

const TOKEN_PRICES = ['input_cost_per_token', 'output_cost_per_token'] as const;

/** What is shown of the costs of an entry, and the dollars of a call of 1,000 tokens in and 200 out. */
function entryOf(t: Test, keys: string): { shown: Record<string, unknown>; chat: number | null } {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(
    path,
    `model_list: [{ model_name: a, litellm_params: { model: openai/gpt-4o, api_key: k, ${keys} } }]\n`,
  );
  const loaded = loadConfig(path, {});
  if (!loaded.ok) throw new Error(loaded.issues.map(({ message }) => message).join());
  const [deployment] = loaded.snapshot.deployments;
  if (deployment === undefined) throw new Error('no deployment');
  const { spendPico } = costOf(
    {
      tokens: { ...NO_TOKENS, prompt: 1000, completion: 200, total: 1200 },
      units: {},
      serviceTier: null,
      estimated: false,
      statedPico: null,
      model: 'gpt-4o',
    },
    { deployment: deployment.prices, catalogue: deployment.cataloguePrices },
  );
  const shown = Object.entries(modelFactsOf(deployment)).filter(([name]) => name.includes('cost'));
  return { shown: Object.fromEntries(shown), chat: spendPico };
}

t.test(
  'beside a price that is paid in place of tokens stand those that other calls are charged by',
  async (t) => {
    const plain = entryOf(t, 'timeout: 60');
    const known = Object.fromEntries(TOKEN_PRICES.map((key) => [key, plain.shown[key]]));
    const { shown, chat } = entryOf(t, 'input_cost_per_image: 0.002');
    t.equal(chat, plain.chat, 'the catalogue charges it');
    t.match(shown, { ...known, input_cost_per_image: 0.002 });
    const oneLine = entryOf(t, 'output_cost_per_image: 0.002, output_cost_per_token: 0.5');
    t.equal(oneLine.chat, plain.chat);
    t.match(oneLine.shown, { ...known, output_cost_per_image: 0.002 });
    const both = entryOf(t, 'output_cost_per_image: 1, input_cost_per_token: 2, output_cost_per_token: 3');
    t.strictSame(both.shown, { output_cost_per_image: 1, input_cost_per_token: 2, output_cost_per_token: 3 });
  },
);

t.test('a price stands under the key that states it, and under no other', async (t) => {
  for (const key of ['input_cost_per_image', 'input_cost_per_second', 'input_cost_per_audio_per_second']) {
    const { shown } = entryOf(t, `${key}: 0.002`);
    const units = Object.keys(shown).filter((name) => /per_(?:image|second|audio_per_second)$/.test(name));
    t.strictSame(units, [key]);
    t.equal(shown[key], 0.002);
  }
});

t.test('of a pattern, names that the gateway of another team lists are not shown', async (t) => {
  const path = join(t.testdir(), 'gateway.yaml');
  const entry = (name: string, host: string, team: string): string =>
    `  - model_name: "${name}"\n    litellm_params: { model: "openai/*", api_base: "http://${host}/v1", api_key: k, discover_models: true }\n    model_info: { ${team} }\n`;
  writeFileSync(
    path,
    `model_list:\n${entry('x/*', 'red', 'team_id: red')}${entry('x/*', 'open', 'id: open')}${entry('x/y-*', 'red', 'team_id: red, id: y')}`,
  );
  const loaded = loadConfig(path, {});
  if (!loaded.ok) throw new Error(loaded.issues.map(({ message }) => message).join());
  const lists: Readonly<Record<string, readonly string[]>> = {
    'http://red': ['secret', 'both', 'z'],
    'http://open': ['both', 'plain', 'y-1'],
  };
  const names = (teamId: string | null): readonly string[] =>
    namesFor(
      loaded.snapshot,
      ({ origin }) => ({ ids: new Set(lists[origin]), patterns: [], left: 0, error: null }),
      { teamId },
    );
  t.same(names('red'), ['x/secret', 'x/both', 'x/z', 'x/plain', 'x/y-secret', 'x/y-both', 'x/y-z']);
  t.same(
    names('blue'),
    ['x/both', 'x/plain'],
    'what the pattern of the team fits leads there, and so nowhere',
  );
});
