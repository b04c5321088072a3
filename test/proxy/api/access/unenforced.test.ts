// Members of LiteLLM's bodies that would limit or check calls and are not acted upon here: they are refused, not kept silently.
import t from 'tap';
import { asObject } from '../../../../proxy/bodies/json.ts';
import { manage, managed, type Json } from '../../../support/manage.ts';
import { startRig } from '../../../support/rig.ts';

const KEY = { key_alias: 'k' };
const TEAM = { team_id: 'core' };
const CUSTOMER = { user_id: 'c' };
const MEMBER = { team_id: 'core', member: { user_id: 'u', role: 'user' } };

const REFUSED: readonly (readonly [route: string, body: object, member: string, value: unknown])[] = [
  ['POST /key/generate', KEY, 'guardrails', ['pii']],
  ['POST /key/generate', KEY, 'policies', ['strict']],
  ['POST /key/generate', KEY, 'enforced_params', ['user', 'metadata.generation_name']],
  ['POST /key/generate', KEY, 'tag_rpm_limit', { 'cell-1': 10 }],
  ['POST /key/generate', KEY, 'end_user_budget_id', 'free'],
  ['POST /key/generate', KEY, 'router_settings', { fallbacks: [{ demo: ['other'] }] }],
  ['POST /key/generate', KEY, 'auto_rotate', true],
  ['POST /key/regenerate', { key: 'sk-1234' }, 'new_master_key', 'sk-5678'],
  ['POST /team/new', TEAM, 'guardrails', ['pii']],
  ['POST /team/new', TEAM, 'policies', ['strict']],
  ['POST /team/new', TEAM, 'router_settings', { num_retries: 2 }],
  ['POST /team/new', TEAM, 'team_member_key_duration', '1d'],
  ['POST /team/new', TEAM, 'default_team_member_models', ['demo']],
  ['POST /team/member_add', MEMBER, 'allowed_models', ['demo']],
  ['POST /user/new', { user_id: 'u' }, 'guardrails', ['pii']],
  ['POST /user/new', { user_id: 'u' }, 'policies', ['strict']],
  ['POST /customer/new', CUSTOMER, 'models', ['demo']],
  ['POST /customer/new', CUSTOMER, 'allowed_model_region', 'eu'],
];

for (const [route, body, member, value] of REFUSED)
  t.test(`${route} with ${member}`, async (t) => {
    const rig = await startRig(t);
    const refused = await manage(rig, route, { ...body, [member]: value });
    t.equal(refused.status, 400);
    const error = asObject(refused.json['error']);
    t.match(error, { param: member, message: new RegExp(`^${member} `) }, 'the refusal names it');
  });

t.test('empty ones say nothing, and are taken', async (t) => {
  const rig = await startRig(t);
  const empty = {
    guardrails: [],
    policies: null,
    enforced_params: [],
    tag_rpm_limit: {},
    end_user_budget_id: '',
    auto_rotate: false,
    router_settings: { fallbacks: [], num_retries: null },
  };
  t.match(await managed(rig, 'POST /key/generate', { ...KEY, ...empty }), { guardrails: [] });
  await managed(rig, 'POST /team/new', { ...TEAM, guardrails: [], default_team_member_models: [] });
  await managed(rig, 'POST /team/member_add', { ...MEMBER, allowed_models: [] });
  await managed(rig, 'POST /customer/new', { ...CUSTOMER, models: [], allowed_model_region: null });
});

t.test(
  'what is empty in another type is taken, and not returned: typed clients read the lists of all',
  async (t) => {
    const rig = await startRig(t);
    for (const empty of ['', false, [], {}]) {
      const body = { guardrails: empty, policies: empty, router_settings: empty, auto_rotate: empty };
      const { token } = await managed(rig, 'POST /key/generate', body);
      const row = (await managed(rig, `GET /key/info?key=${String(token)}`))['info'] as Json;
      t.ok(row['guardrails'] === undefined || Array.isArray(row['guardrails']), JSON.stringify(empty));
      t.strictSame([row['policies'], row['router_settings'], row['auto_rotate']], [[], {}, false]);
    }
  },
);

t.test('what is empty and nested deep, or long, is not kept', async (t) => {
  const rig = await startRig(t);
  const deep = Array.from({ length: 1_000 }).reduce<object>((inner) => ({ a: inner }), {});
  const long = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`member ${n}`, null]));
  for (const [router_settings, message] of [
    [deep, /nested deeper than 64 levels/],
    [long, /longer than 262144 characters/],
  ] as const) {
    const refused = await manage(rig, 'POST /key/generate', { ...KEY, router_settings });
    t.equal(refused.status, 400);
    t.match(asObject(refused.json['error']), { param: 'router_settings', message });
  }
});
