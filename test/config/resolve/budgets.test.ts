// Budgets of the configuration: the section of our own, the dialect's names for the same, and what is refused.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../../config/load.ts';
import { formatIssue } from '../../../config/issue.ts';
import type { BudgetSettings } from '../../../config/budget-settings.ts';

const ENTRY =
  'model_list:\n  - model_name: a\n    litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:1"';

function load(t: Test, yaml: string): { budgets: BudgetSettings | null; issues: string[] } {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(path, yaml);
  const loaded = loadConfig(path, {});
  const issues = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
  return {
    budgets: loaded.ok ? loaded.snapshot.budgets : null,
    issues: issues.map((issue) => `${issue.severity} ${formatIssue(issue).replace(/^\S+ /, '')}`),
  };
}

const of = (t: Test, more: string): BudgetSettings['rules'] =>
  load(t, `${ENTRY} }\n${more}`).budgets?.rules ?? [];

t.test('without any, the defaults are those of the dialect', (t) => {
  t.same(load(t, `${ENTRY} }\n`).budgets, {
    rules: [],
    timeZone: 'UTC',
    resetMinute: 0,
    exceededStatus: 422,
    reservation: 'strict',
    allowUnverified: false,
    metricsLimit: 20,
    userBudgetsOnTeamKeys: false,
  });
  t.end();
});

t.test('every name of a budget becomes a rule', (t) => {
  t.same(
    of(t, 'budgets:\n  - { scope: tag, id: x, max_budget: 5, soft_budget: "4.5", budget_duration: 30d }\n'),
    [{ scope: 'tag', id: 'x', maxBudget: 5, softBudget: 4.5, budgetDuration: '30d' }],
  );
  t.match(of(t, 'litellm_settings: { max_budget: 5, budget_duration: 1mo }\n'), [
    { scope: 'proxy', id: '', maxBudget: 5, budgetDuration: '1mo' },
  ]);
  t.match(of(t, 'general_settings: { max_budget: "0.5" }\n'), [
    { scope: 'proxy', maxBudget: 0.5, budgetDuration: null },
  ]);
  t.same(of(t, 'litellm_settings: { max_budget: 0 }\n'), [], 'no budget, as in the dialect');
  t.match(of(t, 'litellm_settings: { max_end_user_budget: 1 }\n'), [{ scope: 'end_user', id: '*' }]);
  t.match(of(t, 'litellm_settings: { max_user_budget: 1 }\n'), [{ scope: 'end_user', id: '*' }]);
  t.match(of(t, 'litellm_settings: { max_budget_per_session: 1 }\n'), [
    { scope: 'conversation', id: '*', budgetDuration: null },
  ]);
  t.match(
    of(t, 'litellm_settings: { tag_budget_config: { "a:b": { max_budget: 1, budget_duration: 1d } } }\n'),
    [{ scope: 'tag', id: 'a:b', budgetDuration: '1d' }],
  );
  t.match(
    of(
      t,
      'router_settings: { provider_budget_config: { litellm_proxy: { budget_limit: 1, time_period: 1d } } }\n',
    ),
    [{ scope: 'provider', id: 'litellm_proxy', maxBudget: 1, budgetDuration: '1d' }],
  );
  t.match(
    load(t, `${ENTRY}, max_budget: 3, budget_duration: 1d }\n    model_info: { id: d1 }\n`).budgets?.rules,
    [{ scope: 'deployment', id: 'd1', maxBudget: 3, budgetDuration: '1d' }],
  );
  t.match(
    load(
      t,
      `${ENTRY} }\n    model_info: { id: d1 }\nrouter_settings: { default_litellm_params: { max_budget: 2 } }\n`,
    ).budgets?.rules,
    [{ scope: 'deployment', id: 'd1', maxBudget: 2 }],
  );
  t.end();
});

t.test('time zone, time of reset and status', (t) => {
  const { budgets } = load(
    t,
    `${ENTRY} }\nlitellm_settings: { timezone: Europe/Berlin, budget_reset_time: "06:30", budget_exceeded_status_code: 400 }\n`,
  );
  t.match(budgets, { timeZone: 'Europe/Berlin', resetMinute: 390, exceededStatus: 400 });
  t.match(load(t, `${ENTRY} }\nlitellm_settings: { timezone: Mars/Phobos }\n`).issues, [
    /^error .*timezone: is no time zone/,
  ]);
  t.match(load(t, `${ENTRY} }\nlitellm_settings: { budget_exceeded_status_code: 429 }\n`).issues, [
    /^warning .*again and again/,
  ]);
  t.end();
});

const WRONG: readonly (readonly [yaml: string, says: RegExp])[] = [
  ['budgets: [{ scope: tag, max_budget: 1 }]', /does not say which tag/],
  ['budgets: [{ scope: proxy, id: x, max_budget: 1 }]', /it has no id/],
  ['budgets: [{ scope: proxy }]', /states no amount/],
  ['budgets: [{ scope: house, id: x, max_budget: 1 }]', /scope/],
  ['budgets: [{ scope: tag, id: x, max_budget: -1 }]', /max_budget/],
  ['budgets: [{ scope: tag, id: x, max_budget: NaN }]', /max_budget/],
  ['budgets: [{ scope: tag, id: x, max_budget: 1, budget_duration: 0d }]', /budget_duration/],
  ['budgets: [{ scope: tag, id: x, max_budget: 1, budget_duration: 1y }]', /budget_duration/],
  ['budgets: [{ scope: tag, id: x, max_budget: 1 }, { scope: tag, id: x, max_budget: 2 }]', /another budget/],
  [
    'budgets: [{ scope: end_user, id: "*", max_budget: 1 }]\nlitellm_settings: { disable_end_user_cost_tracking: true }',
    /not recorded/,
  ],
];

t.test('what cannot be meant is an error that says what to do', (t) => {
  for (const [yaml, says] of WRONG) {
    const { budgets, issues } = load(t, `${ENTRY} }\n${yaml}\n`);
    t.equal(budgets, null, yaml);
    t.match(
      issues.find((one) => one.startsWith('error')),
      says,
      yaml,
    );
  }
  t.end();
});
