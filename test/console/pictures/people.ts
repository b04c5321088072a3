// Teams, users and keys for the pictures: some near their budgets, one over it, one blocked, one about to end.
import { send, type Rig } from '../../support/rig.ts';

type Json = Readonly<Record<string, unknown>>;

async function make(rig: Rig, path: string, body: Json): Promise<Json> {
  const { status, text } = await send(rig.url, 'POST', path, body);
  if (status !== 200) throw new Error(`${path}: ${text}`);
  return JSON.parse(text) as Json;
}

const USERS = [
  {
    user_id: 'ada',
    user_email: 'ada@example.com',
    user_alias: 'Ada',
    max_budget: 40,
    budget_duration: '30d',
  },
  { user_id: 'grace', user_email: 'grace@example.com', user_alias: 'Grace', user_role: 'proxy_admin' },
  { user_id: 'linus', user_email: 'linus@example.com', user_role: 'internal_user_viewer' },
  { user_id: 'finance', user_email: 'finance@example.com', user_role: 'proxy_admin_viewer' },
];

/** @returns keys that calls are made with */
export async function people(rig: Rig): Promise<readonly string[]> {
  for (const user of USERS) await make(rig, '/user/new', { ...user, auto_create_key: false });
  await make(rig, '/team/new', {
    team_id: 'platform',
    team_alias: 'Platform',
    max_budget: 0.6,
    budget_duration: '30d',
    rpm_limit: 3000,
    members_with_roles: [
      { user_id: 'ada', role: 'admin' },
      { user_id: 'linus', role: 'user' },
    ],
  });
  await make(rig, '/team/new', {
    team_id: 'search',
    team_alias: 'Search',
    models: ['gpt-5', 'gpt-5-mini'],
    members_with_roles: [{ user_id: 'grace', role: 'user' }],
  });
  await make(rig, '/team/new', { team_alias: 'Interns', blocked: true, max_budget: 5 });
  const keys = [
    {
      key_alias: 'ci-review',
      team_id: 'platform',
      user_id: 'ada',
      max_budget: 50,
      budget_duration: '7d',
      spend: 43.12,
    },
    { key_alias: 'nightly-agents', team_id: 'platform', user_id: 'linus', max_budget: 20, spend: 20.4 },
    {
      key_alias: 'search-service',
      key_type: 'llm_api',
      user_id: 'grace',
      max_budget: 100,
      soft_budget: 12,
      spend: 12.5,
      duration: '90d',
    },
    { user_id: 'ada', rpm_limit: 60, models: ['claude-haiku-4-5'], duration: '12h' },
  ];
  const values: string[] = [];
  for (const key of keys) values.push(String((await make(rig, '/key/generate', key))['key']));
  await make(rig, '/key/generate', { key_alias: 'left-the-company', user_id: 'linus', blocked: true });
  return values;
}
