// What `throughline check` says of keys, teams, budgets and the brake that state what cannot be meant.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { formatIssue } from '../../../config/issue.ts';
import { loadConfig } from '../../../config/load.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';

const HEAD = `
model_list:
  - model_name: gpt
    litellm_params: { model: openai/gpt-4o, api_base: "http://127.0.0.1:1/v1", api_key: k }
    model_info: { id: d1, access_groups: [fast], profile: small }
  - model_name: own
    litellm_params: { model: openai/acme/own, api_base: "http://127.0.0.1:1/v1", api_key: k }
  - model_name: "wild/*"
    litellm_params: { model: "openai/*", api_base: "http://127.0.0.1:1/v1", api_key: k }
general_settings: { master_key: os.environ/MASTER }
router_settings: { model_group_alias: { clever: gpt } }
`;
const ENV = { MASTER: 'sk-master', CI_KEY: 'sk-ci-key-1234' };

function issues(t: Test, yaml: string): readonly string[] {
  const path = join(tempDir(t), 'gateway.yaml');
  writeFileSync(path, `${HEAD}${yaml}`);
  const loaded = loadConfig(path, ENV);
  const found = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
  return found.map((issue) => `${issue.severity} ${formatIssue(issue).replace(/^\S+ /, '')}`);
}

const key = (more: string): string => `keys: [{ key_alias: ci, key: os.environ/CI_KEY, ${more} }]\n`;
const team = (more: string): string => `teams: [{ team_id: acme, ${more} }]\n`;

t.test('what can be meant is not warned of', async (t) => {
  t.same(
    issues(
      t,
      key(
        'team_id: acme, models: [gpt, clever, fast, "wild/x", "gp*", all-team-models, short], aliases: { short: gpt }, model_rpm_limit: { gpt: 1 }, max_budget: 2, soft_budget: 1, budget_duration: 1d, rpm_limit: 1',
      ) +
        team('models: [gpt], model_aliases: { big: gpt }, max_budget: 0') +
        'budgets: [{ scope: model, id: clever, max_budget: 1 }, { scope: deployment, id: d1, max_budget: 1 }, { scope: profile, id: small, max_budget: 1 }, { scope: provider, id: openai, soft_budget: 1 }]\n',
    ).filter((issue) => !issue.includes('no price is known')),
    [],
  );
  t.same(issues(t, key('team_id: made-by-api')), [], 'teams may come by API');
});

for (const [what, yaml, ...messages] of [
  [
    'a team that is near',
    key('team_id: acm') + team('models: []'),
    /^warning keys\[0\]\.team_id: no team .*['"]?acm['"]?.*did you mean ['"]?acme/,
  ],
  [
    'a team that is not there',
    key('team_id: zzzzzz') + team('models: []'),
    /team_id: no team .* make it with POST \/team\/new/,
  ],
  [
    'a model that is near',
    key('models: [gtp]'),
    /^warning keys\[0\]\.models\[0\]: allows ['"]?gtp['"]?, which is no model.* did you mean ['"]?gpt/,
  ],
  [
    'a model of a team',
    team('models: [nothing-like-it]'),
    /^warning teams\[0\]\.models\[0\]: .*model_name of an entry/,
  ],
  [
    'an alias of nothing',
    key('aliases: { a: missing }'),
    /^warning keys\[0\]\.aliases\.a: stands for ['"]?missing/,
  ],
  [
    'a limit of no model',
    team('model_tpm_limit: { missing: 5 }'),
    /^warning teams\[0\]\.model_tpm_limit\.missing: limits ['"]?missing/,
  ],
  [
    'limits of 0',
    key('rpm_limit: 0, max_parallel_requests: 0, model_rpm_limit: { gpt: 0 }'),
    /keys\[0\]\.rpm_limit: is 0/,
    /keys\[0\]\.max_parallel_requests: is 0/,
    /keys\[0\]\.model_rpm_limit\.gpt: is 0/,
  ],
  [
    'a soft budget that comes too late',
    team('models: [gpt], max_budget: 5, soft_budget: 5'),
    /teams\[0\]\.soft_budget: alerts when calls are refused/,
  ],
  ['a window of nothing', key('budget_duration: 30d'), /keys\[0\]\.budget_duration: has no effect/],
  [
    'a window that does not parse',
    key('models: [gpt], max_budget: 1, budget_duration: 30x'),
    /^error keys\[0\]\.budget_duration/,
  ],
  [
    'a window of no time',
    key('models: [gpt], max_budget: 1, budget_duration: 0d'),
    /^error keys\[0\]\.budget_duration/,
  ],
  [
    'a budget of no model',
    'budgets: [{ scope: model, id: gptt, max_budget: 1 }]\n',
    /^warning budgets\[0\]\.id: no model/,
  ],
  [
    'a budget of no provider',
    'budgets: [{ scope: provider, id: azure, max_budget: 1 }]\n',
    /^warning budgets\[0\]\.id: no provider/,
  ],
  [
    'a budget of no deployment',
    'budgets: [{ scope: deployment, id: d2, max_budget: 1 }]\n',
    /^warning budgets\[0\]\.id: no deployment/,
  ],
  [
    'a budget of a model without a price',
    'budgets: [{ scope: model, id: own, max_budget: 1 }]\n',
    /^warning budgets\[0\]: no price is known for ['"]?own/,
  ],
  [
    'a budget of everything',
    'budgets: [{ scope: proxy, max_budget: 1 }, { scope: tag, id: "*", max_budget: 1 }]\n',
    /^warning budgets\[0\]: no price is known for ['"]?own/,
  ],
  [
    'a key that may call no other',
    key('models: [own], max_budget: 1'),
    /^warning keys\[0\]\.max_budget: no price is known for ['"]?own/,
  ],
  [
    'a rule of the brake without a level',
    'brake: { rules: { repeated_step: { note: false, header: false, alert: false, slow: false, stop: false } } }\n',
    /^warning brake\.rules\.repeated_step: leads to no level/,
  ],
  [
    'a new key with a window of no time',
    'litellm_settings: { upperbound_key_generate_params: { budget_duration: 0d } }\n',
    /^error .*budget_duration/,
  ],
] as const)
  t.test(what, async (t) => {
    const found = issues(t, yaml);
    t.equal(found.length, messages.length, found.join('\n'));
    for (const [i, message] of messages.entries()) t.match(found[i], message);
  });
