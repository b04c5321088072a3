// Who is told of what: the dialect's `alerting` with its variables, our `alerts`, and what is said of mistakes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import t, { type Test } from 'tap';
import { ALERT_KINDS, type AlertSettings } from '../../../config/alert-settings.ts';
import { loadConfig } from '../../../config/load.ts';
import { formatIssue } from '../../../config/issue.ts';

const HEAD =
  'model_list:\n  - model_name: a\n    litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:1" }\n';
const ENV = {
  SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T/B/key',
  WEBHOOK_URL: 'http://127.0.0.1:9/in',
};

function load(t: Test, yaml: string, env: Readonly<Record<string, string>> = ENV) {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(path, `${HEAD}${yaml}`);
  const loaded = loadConfig(path, env);
  const issues = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
  const alerts: AlertSettings | null = loaded.ok ? loaded.snapshot.alerts : null;
  return {
    alerts,
    channels: alerts?.channels.map(({ name, format, kinds }) => [name, format, [...kinds]]),
    issues: issues.map((issue) => `${issue.severity} ${formatIssue(issue).replace(/^\S+ /, '')}`),
  };
}

t.test('nothing is sent anywhere until somebody asks for it', (t) => {
  const { alerts, issues } = load(t, '');
  t.same(alerts, { channels: [], keyExpiryMs: 7 * 86_400_000, spendAnomaly: null });
  t.same(issues, []);
  t.end();
});

t.test("the dialect's channels find their addresses in the environment", (t) => {
  const all = [...ALERT_KINDS];
  const both = load(t, 'general_settings: { alerting: [slack, webhook] }\n');
  t.same(both.channels, [
    ['slack', 'slack', all],
    ['webhook', 'json', all],
  ]);
  t.same(both.issues, []);
  t.equal(both.alerts?.channels[0]?.url.reveal(), ENV.SLACK_WEBHOOK_URL);
  t.notMatch(inspect(both.alerts), 'services');
  const some = load(
    t,
    'general_settings: { alerting: [slack], alert_types: [budget_alerts, brake, llm_too_slow] }\n',
  );
  t.same(some.channels, [['slack', 'slack', ['soft_budget', 'budget_used_up', 'brake']]]);
  t.match(some.issues, [/^warning general_settings\.alert_types\[2\].* no alert here/]);
  const own = load(
    t,
    'general_settings: { alerting: [webhook] }\nenvironment_variables: { WEBHOOK_URL: "http://own/" }\n',
    {},
  );
  t.equal(own.alerts?.channels[0]?.url.reveal(), 'http://own/');
  t.end();
});

t.test('a channel that cannot send is said, and stops no start of a file that worked before', (t) => {
  const unset = load(t, 'general_settings: { alerting: [slack, email] }\n', {});
  t.same(unset.channels, []);
  t.match(unset.issues, [
    /^warning general_settings\.alerting\[0\].*SLACK_WEBHOOK_URL is not set/,
    /^warning general_settings\.alerting\[1\].*no channel/,
  ]);
  const odd = load(t, 'general_settings: { alerting: [webhook] }\n', {
    WEBHOOK_URL: 'ftp://name:sk-hidden@x',
  });
  t.match(odd.issues, [/^error general_settings\.alerting\[0\].*WEBHOOK_URL must be an http or https URL/]);
  t.notMatch(odd.issues.join(), 'sk-hidden');
  t.end();
});

t.test('receivers of our own have names, formats, kinds and secrets', (t) => {
  const { alerts, channels, issues } = load(
    t,
    `alerts:
  key_expiry_days: "1.5"
  webhooks:
    - { name: on-call, url: os.environ/WEBHOOK_URL, secret: sk-0123456789abcdef, kinds: [brake] }
    - { name: chat, url: "https://chat.example.com/hooks/x", format: slack }
`,
  );
  t.same(issues, []);
  t.same(channels, [
    ['on-call', 'json', ['brake']],
    ['chat', 'slack', [...ALERT_KINDS]],
  ]);
  t.equal(alerts?.keyExpiryMs, 1.5 * 86_400_000);
  t.equal(alerts?.channels[0]?.secret?.reveal(), 'sk-0123456789abcdef');
  for (const [webhooks, message] of [
    [
      '[{ name: a, url: "http://a" }, { name: a, url: "http://b" }]',
      /webhooks\[1\]\.name.* is the name of another/,
    ],
    ['[{ name: slack, url: "http://a" }]', /webhooks\[0\]\.name.* is the name of another/],
    ['[{ name: a, url: "a.example.com/sk-hidden" }]', /webhooks\[0\]\.url.*must be an http or https URL/],
    ['[{ name: a, url: "http://u:sk-hidden@a" }]', /webhooks\[0\]\.url.*without a user/],
    ['[{ name: "a b", url: "http://a" }]', /webhooks\[0\]\.name/],
    ['[{ name: a, url: "http://a", secret: short }]', /webhooks\[0\]\.secret/],
    ['[{ name: a, url: "http://a", kinds: [budgets] }]', /webhooks\[0\]\.kinds\[0\]/],
    ['[{ url: "http://a" }]', /webhooks\[0\]/],
  ] as const) {
    const { issues: found } = load(t, `alerts: { webhooks: ${webhooks} }\n`);
    t.match(found, [message], webhooks);
    t.notMatch(found.join(), 'sk-hidden');
  }
  t.end();
});

t.test('spend that is not usual is looked for where an amount is stated', (t) => {
  const { alerts, issues } = load(t, 'alerts: { spend_anomaly: { min_cost_per_hour: "2.5" } }\n');
  t.same(issues, []);
  t.same(alerts?.spendAnomaly, {
    minPico: 2_500_000_000_000n,
    factor: 4,
    scopes: new Set(['key', 'team', 'proxy']),
    days: 14,
  });
  const kept = (days: number): string =>
    `general_settings: { maximum_spend_logs_retention_period: ${days}d }\nalerts: { spend_anomaly: { min_cost_per_hour: 1, factor: 1.5, scopes: [team] } }\n`;
  t.match(load(t, kept(5)).alerts?.spendAnomaly, { days: 5, factor: 1.5, scopes: new Set(['team']) });
  t.match(load(t, kept(5)).issues, [/^warning alerts\.spend_anomaly.*compares with 5 days only/]);
  t.match(load(t, kept(2)).issues, [/^warning alerts\.spend_anomaly.*finds nothing/]);
  for (const [stated, message] of [
    ['{}', /min_cost_per_hour/],
    ['{ min_cost_per_hour: 0 }', /min_cost_per_hour/],
    ['{ min_cost_per_hour: -1 }', /min_cost_per_hour/],
    ['{ min_cost_per_hour: 1, factor: 0.5 }', /factor/],
    ['{ min_cost_per_hour: 1, scopes: [user] }', /scopes/],
  ] as const)
    t.match(load(t, `alerts: { spend_anomaly: ${stated} }\n`).issues, [message], stated);
  t.end();
});
