// What `throughline explain --key` says of a key is what happens to its calls: models, budgets and limits in their order, and
// the file and line that states each.
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { folder, runWithin } from '../../support/cli.ts';
import { managed, newKey } from '../../support/manage.ts';
import { chat, KEY, startRig } from '../../support/rig.ts';

const CI = 'sk-explained-0001';
const CONFIG = `model_list:
  - model_name: gpt
    litellm_params: { model: openai/gpt-4o, api_base: "http://127.0.0.1:1/v1", api_key: k }
  - model_name: dear
    litellm_params: { model: openai/gpt-4o, api_base: "http://127.0.0.1:1/v1", api_key: k }
general_settings: { master_key: ${KEY} }
keys:
  - key_alias: ci
    key: os.environ/CI_KEY
    team_id: acme
    models: [gpt]
    aliases: { short: gpt }
    max_budget: 10
    budget_duration: 1mo
    rpm_limit: 60
teams:
  - { team_id: acme, soft_budget: 50, max_parallel_requests: 4 }
budgets:
  - { scope: proxy, max_budget: 1000 }
  - { scope: model, id: gpt, max_budget: 5, budget_duration: 1d }
  - { scope: conversation, id: '*', max_budget: 2 }
  - { scope: tag, id: blue, max_budget: 3 }
brake: { mode: enforce, rules: { repeated_step: { stop: 6 } } }
`;

t.test('a key of the configuration', async (t) => {
  const cwd = folder(t);
  writeFileSync(join(cwd, 'gateway.yaml'), CONFIG);
  const run = (...args: string[]) =>
    runWithin(['explain', '--config', 'gateway.yaml', ...args], { cwd, env: { CI_KEY: CI } });
  const { out } = await run('--key', 'ci', '--model', 'short');
  t.match(out, /^ +key +ci \(sk-\.\.\.0001\) +\S*gateway\.yaml:8 keys\[0\]$/m);
  t.match(out, /^ +let in +yes$/m);
  t.match(out, /^ +short +allowed, served as gpt$/m);
  const budgets = /^budgets, [^\n]*\n((?: .*\n)+)/m.exec(out)?.[1]?.trimEnd().split('\n') ?? [];
  t.match(budgets, [
    /^ +key +1mo: 10 USD +\S+:8 keys\[0\]/,
    /^ +team +ever: alert at 50 USD +\S+:17 teams\[0\]/,
    /^ +model +1d: 5 USD +\S+:20 budgets\[1\]/,
    /^ +conversation +ever: 2 USD +\S+:21 budgets\[2\]/,
    /^ +proxy +ever: 1000 USD +\S+:19 budgets\[0\]/,
  ]);
  t.match(out, /^limits, .*\n +api key +60 requests a minute\n +team +4 calls at once$/m);
  t.match(out, /^ +mode +slows and stops conversations +\S+:23 brake$/m);
  t.match(out, /^ +repeated_step +alert from 6, slow from 6, stop from 6$/m);
  t.match(out, /^POST http:\/\/127\.0\.0\.1:1\/v1\/chat\/completions$/m);
  t.notMatch(out, /^ +tag /m);
  const tagged = await run('--key', 'ci', '--model', 'short', '--header', 'x-litellm-tags: blue');
  t.match(tagged.out, /^ +tag +ever: 3 USD +\S+:22 budgets\[3\]$/m, 'the tags of the call count');
  const refused = await run('--key', hash('sha256', CI, 'hex'), '--model', 'dear');
  t.match(refused.out, /^ +dear +refused: 403 key_model_access_denied$/m);
  t.match(refused.out, /^refused: 403 key_model_access_denied: key not allowed/m);
  const team = await run('--team', 'acme');
  t.match(team.out, /^ +team +ever: alert at 50 USD/m);
  t.notMatch(team.out, /^ +key /m);
  for (const [args, message] of [
    [['--key', 'nobody'], /no key nobody .*--data-dir/],
    [['--team', 'nobody'], /no team nobody/],
    [['--key', 'ci', '--team', 'acme'], /give one of them/],
    [['--key', CI], /not its value/],
    [[], /give --model/],
  ] as const)
    await t.rejects(run(...args), { message });
});

t.test('a key that was made by API, beside the proxy that serves it', async (t) => {
  const rig = await startRig(t);
  await newKey(rig, { key_alias: 'made', max_budget: 3, duration: '90d', rpm_limit: 7 });
  const run = (...args: string[]) =>
    runWithin(['explain', '--config', 'gateway.yaml', ...args], { cwd: rig.folder });
  const { out } = await run('--key', 'made', '--data-dir', 'data');
  t.match(out, /^ +key +made \(sk-\.\.\.\w{4}\) +made by API, changed 20/m);
  t.match(out, /^ +let in +until 20/m);
  t.match(out, /^ +key +ever: 3 USD +made by API/m);
  t.match(out, /^ +api key +7 requests a minute$/m);
  t.match(out, /^brake\n +off: /m);
  await t.rejects(run('--key', 'made'), { message: /no key made/ });
  await t.rejects(run('--key', 'made', '--data-dir', 'elsewhere'), { message: /no access\.db/ });
});

t.test('a key of an organization: its models and its budget, as its calls meet them', async (t) => {
  const rig = await startRig(t, {
    config: ({ url }) => `model_list:
  - { model_name: dear, litellm_params: { model: litellm_proxy/demo, api_base: "${url}", input_cost_per_token: 1, output_cost_per_token: 1 } }
  - { model_name: other, litellm_params: { model: litellm_proxy/demo, api_base: "${url}" } }
general_settings: { master_key: ${KEY} }
`,
  });
  const { organization_id } = await managed(rig, 'POST /organization/new', {
    organization_alias: 'o',
    models: ['dear'],
    max_budget: 0.000001,
  });
  const { team_id } = await managed(rig, 'POST /team/new', { organization_id, max_budget: 5 });
  const key = await newKey(rig, { key_alias: 'of-team', team_id });
  await newKey(rig, { key_alias: 'of-organization', organization_id });
  const run = (...args: string[]) =>
    runWithin(['explain', '--config', 'gateway.yaml', '--data-dir', 'data', ...args], { cwd: rig.folder });
  const asked = await Promise.all(
    [
      ['--key', 'of-team'],
      ['--team', String(team_id)],
      ['--key', 'of-organization'],
    ].map((args) => run(...args)),
  );
  for (const { out } of asked) {
    t.match(out, /^ +of the organization +dear$/m);
    t.match(out, /^ +organization +ever: 0\.000001 USD +made by API/m);
  }
  t.match(
    asked[0]?.out,
    /\n +team +ever: 5 USD.*\n +organization +ever: /,
    'in the order in which they refuse',
  );

  const { out } = await run('--key', 'of-team', '--model', 'other');
  t.match(out, /^ +other +refused: 403 org_model_access_denied$/m);
  t.match(out, /^refused: 403 org_model_access_denied/m);
  const call = (model: string) => chat(rig, model, {}, { authorization: `Bearer ${key}` });
  t.match(await call('other'), { status: 403, text: /org_model_access_denied/ });
  t.match(await call('dear'), { text: /budget_exceeded/ });
});
