// `keys:` and `teams:` of the file: what is read, and what is refused with which words.
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { formatIssue } from '../../../config/issue.ts';
import { loadConfig } from '../../../config/load.ts';
import type { AccessSettings } from '../../../config/access-settings.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';

const HASH = hash('sha256', 'sk-hashed-key', 'hex');
const ENV = { CI_KEY: 'sk-ci-key-1234', MASTER: 'sk-master', AGENT: 'sk-agent' };
const GENERAL = `
model_list: []
general_settings: { master_key: os.environ/MASTER, inference_keys: [os.environ/AGENT] }
`;

const load = (t: Test, yaml: string, general = GENERAL): ReturnType<typeof loadConfig> => {
  const path = join(tempDir(t), 'gateway.yaml');
  writeFileSync(path, `${general}${yaml}`);
  return loadConfig(path, ENV);
};

function accessOf(t: Test, yaml: string): AccessSettings {
  const loaded = load(t, yaml);
  if (!loaded.ok) throw new Error(loaded.issues.map(formatIssue).join('\n'));
  return loaded.snapshot.access;
}

t.test('keys and teams with all that they may state', async (t) => {
  const { keys, teams } = accessOf(
    t,
    `
keys:
  - { key_alias: ci, key: os.environ/CI_KEY, team_id: acme }
  - key_alias: batch
    hash: ${HASH}
    key_type: default
    allowed_routes: [/chat/completions]
    models: [gpt-4o, "wild/*"]
    aliases: { fast: gpt-4o }
    user_id: ann
    expires: 2030-01-02T03:04:05+01:00
    max_budget: 10.5
    soft_budget: 8
    budget_duration: 30d
    rpm_limit: 60
    tpm_limit: 1000
    max_parallel_requests: 4
    model_rpm_limit: { gpt-4o: 6 }
    model_tpm_limit: { gpt-4o: 7 }
    tags: [batch]
    blocked: true
    max_iterations: 3
    max_budget_per_session: 0.5
    allow_chaos: true
teams:
  - team_id: acme
    team_alias: Acme
    models: [gpt-4o]
    model_aliases: { big: gpt-4o }
    members: [{ user_id: ann, role: admin }, { user_id: bob }]
    max_budget: 0
`,
  );
  const nothing = {
    maxBudget: null,
    softBudget: null,
    budgetDuration: null,
    rpm: null,
    tpm: null,
    maxParallel: null,
    modelRpm: {},
    modelTpm: {},
    tags: [],
    blocked: false,
  };
  t.same(keys, [
    {
      ...nothing,
      sha256: hash('sha256', 'sk-ci-key-1234', 'hex'),
      lastFour: '1234',
      alias: 'ci',
      type: 'llm_api',
      allowedRoutes: [],
      models: [],
      aliases: {},
      teamId: 'acme',
      userId: null,
      ofSessions: {},
      expiresMs: null,
      allowsChaos: false,
    },
    {
      sha256: HASH,
      lastFour: '',
      alias: 'batch',
      type: 'default',
      allowedRoutes: ['/chat/completions'],
      models: ['gpt-4o', 'wild/*'],
      aliases: { fast: 'gpt-4o' },
      teamId: null,
      userId: 'ann',
      ofSessions: { max_iterations: 3, max_budget_per_session: 0.5 },
      expiresMs: Date.UTC(2030, 0, 2, 2, 4, 5),
      maxBudget: 10.5,
      softBudget: 8,
      budgetDuration: '30d',
      rpm: 60,
      tpm: 1000,
      maxParallel: 4,
      modelRpm: { 'gpt-4o': 6 },
      modelTpm: { 'gpt-4o': 7 },
      tags: ['batch'],
      blocked: true,
      allowsChaos: true,
    },
  ]);
  t.same(teams, [
    {
      ...nothing,
      id: 'acme',
      alias: 'Acme',
      models: ['gpt-4o'],
      modelAliases: { big: 'gpt-4o' },
      members: [
        { userId: 'ann', role: 'admin' },
        { userId: 'bob', role: 'user' },
      ],
      maxBudget: 0,
    },
  ]);
});

t.test('what cannot be meant is refused, and the text says how to fix it', async (t) => {
  for (const [yaml, said] of [
    ['keys: [{ key_alias: a, key: sk-in-the-file }]', /holds the key itself.*os\.environ\/CI_KEY/s],
    ['keys: [{ key_alias: a }]', /needs either `key` or `hash`/],
    [`keys: [{ key_alias: a, key: os.environ/CI_KEY, hash: ${HASH} }]`, /needs either/],
    [`keys: [{ key_alias: a, hash: ${HASH.toUpperCase()} }]`, /hash/],
    ['keys: [{ key_alias: a, key: os.environ/NOT_SET }]', /NOT_SET/],
    ['keys: [{ key: os.environ/CI_KEY }]', /key_alias/],
    [`keys: [{ key_alias: a, hash: ${HASH} }, { key_alias: b, hash: ${HASH} }]`, /in the list twice/],
    [`keys: [{ key_alias: a, hash: ${HASH} }, { key_alias: a, key: os.environ/CI_KEY }]`, /has this name/],
    ['keys: [{ key_alias: a, key: os.environ/MASTER }]', /is the master key/],
    ['keys: [{ key_alias: a, key: os.environ/AGENT }]', /inference_keys, too/],
    [`keys: [{ key_alias: a, hash: ${HASH}, expires: 2030-01-01 }]`, /date and time with a zone/],
    [`keys: [{ key_alias: a, hash: ${HASH}, expires: 2030-99-01T00:00:00Z }]`, /date and time with a zone/],
    [`keys: [{ key_alias: a, hash: ${HASH}, expires: 2030-02-31T00:00:00Z }]`, /date and time with a zone/],
    [`keys: [{ key_alias: a, hash: ${HASH}, max_budget: -1 }]`, /max_budget/],
    [`keys: [{ key_alias: a, hash: ${HASH}, budget_duration: 0d }]`, /budget_duration/],
    [`keys: [{ key_alias: a, hash: ${HASH}, rpm: 5 }]`, /rpm/],
    ['teams: [{ team_id: a }, { team_id: a }]', /another team has this id/],
    ['teams: [{ team_alias: a }]', /team_id/],
    ['teams: [{ team_id: a, members: [{ user_id: u, role: owner }] }]', /role/],
  ] as const) {
    const loaded = load(t, yaml);
    t.equal(loaded.ok, false, yaml);
    const text = loaded.ok ? '' : loaded.issues.map(formatIssue).join('\n');
    t.match(text, said, yaml);
    t.notMatch(text, /sk-in-the-file|sk-ci-key/, 'no key is shown');
  }
  const open = load(t, `keys: [{ key_alias: a, hash: ${HASH} }]`, 'model_list: []\n');
  t.match(open.ok ? '' : open.issues.map(formatIssue).join(), /without a master key/);
});
