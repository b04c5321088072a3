// Members that are kept and do nothing come back in lists that others read with typed clients: they have LiteLLM's types.
import t from 'tap';
import { manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { startRig } from '../../../support/rig.ts';

/** A value of its type, and some of others. */
type Values = Readonly<Record<string, readonly [right: unknown, ...wrong: unknown[]]>>;

const PERMISSION: Values[string] = [
  {
    mcp_servers: ['m'],
    mcp_tool_permissions: { m: ['t'] },
    mcp_tool_search_enabled: true,
    of_another_version: 1,
  },
  'x',
  [],
  { mcp_servers: 'm' },
  { mcp_tool_permissions: { m: 't' } },
  { mcp_tool_search_enabled: 'yes' },
];
const TEXTS: Values[string] = [['a', 'b'], 'a', { a: 1 }, [1]];
const OF_KEYS: Values = {
  config: [{ a: 1 }, 'x', []],
  permissions: [{ a: true }, 'x', [1]],
  allowed_cache_controls: [['no-cache'], 'no-cache', {}],
  allowed_passthrough_routes: [['/a'], '/a', {}],
  allowed_vector_store_indexes: [
    [{ index_name: 'i', index_permissions: ['read'] }],
    'i',
    ['i'],
    [{ index_name: 'i' }],
    [{ index_name: 'i', index_permissions: ['all'] }],
  ],
  disable_global_guardrails: [true, 'x', {}],
  prompts: TEXTS,
  object_permission: PERMISSION,
  access_group_ids: TEXTS,
  budget_fallbacks: [{ a: ['b'] }, ['b'], { a: 'b' }],
  agent_id: ['a', { a: 1 }, 1],
  project_id: ['p', ['p'], true],
  rpm_limit_type: ['dynamic', 'x', {}],
  tpm_limit_type: ['guaranteed_throughput', 1, []],
  throttle_on_budget_exceeded: [true, 'x', 1],
};
const OF_USERS: Values = {
  sso_user_id: ['s', { a: 1 }, 1],
  allowed_cache_controls: [['no-cache'], 'no-cache', [1]],
  prompts: TEXTS,
  object_permission: PERMISSION,
};
const OF_NEW_USERS: Values = { ...OF_USERS, config: [{}, 'x'], permissions: [{}, 'x'] };
const OF_TEAMS: Values = {
  prompts: TEXTS,
  object_permission: PERMISSION,
  tpm_limit_type: ['best_effort_throughput', 'dynamic', {}],
  rpm_limit_type: ['guaranteed_throughput', 'x', 1],
  allowed_passthrough_routes: [['/a'], '/a', {}],
  secret_manager_settings: [{ a: 1 }, 'x', []],
};

t.test('a wrong type is 422 and names the member; a right one is returned as it was sent', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /user/new', { user_id: 'u', user_role: 'internal_user', auto_create_key: false });
  await managed(rig, 'POST /team/new', { team_id: 't' });
  await managed(rig, 'POST /customer/new', { user_id: 'c' });
  const key = await newKey(rig, { user_id: 'u' });
  const rowOf = (json: Json): Json => ({ ...json, ...(json['data'] as Json | undefined) });
  const cases: readonly (readonly [call: string, base: Json, values: Values])[] = [
    ['POST /key/generate', {}, OF_KEYS],
    ['POST /key/update', { key }, OF_KEYS],
    ['POST /user/new', { auto_create_key: false }, OF_NEW_USERS],
    ['POST /user/update', { user_id: 'u' }, OF_USERS],
    ['POST /team/new', {}, OF_TEAMS],
    ['POST /team/update', { team_id: 't' }, OF_TEAMS],
    ['POST /customer/update', { user_id: 'c' }, { default_model: ['demo', { a: 1 }, 1] }],
  ];
  for (const [call, base, values] of cases)
    for (const [name, [right, ...wrong]] of Object.entries(values)) {
      for (const value of wrong) {
        const { status, text } = await manage(rig, call, { ...base, [name]: value });
        t.equal(status, 422, `${call} ${name} ${JSON.stringify(value)}`);
        t.match(text, name);
      }
      const row = rowOf(await managed(rig, call, { ...base, [name]: right }));
      const shown = row[name];
      if (name === 'object_permission') t.match(shown, { ...(right as Json), object_permission_id: /./ });
      else if (call !== 'POST /user/new') t.strictSame(shown, right, `${call} ${name}`);
      await managed(rig, call, { ...base, [name]: null });
    }
});

t.test('nobody puts another type into the lists of others', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /user/new', { user_id: 'u', user_role: 'internal_user', auto_create_key: false });
  const own = await newKey(rig, { user_id: 'u' });
  t.equal((await manage(rig, 'POST /key/generate', { permissions: 'x' }, own)).status, 422);
  const { keys } = await managed(rig, 'GET /key/list?return_full_object=true');
  t.match(keys, [{ permissions: {} }]);
});
