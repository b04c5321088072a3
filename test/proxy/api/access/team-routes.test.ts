// Every route of teams, customers, budgets, organizations and access groups: who is let in, and that each attempt to change
// something leaves its line.
import t from 'tap';
import { TEAM_ROUTES } from '../../../../proxy/api/access/team-routes.ts';
import { manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { send, startRig } from '../../../support/rig.ts';

/** Bodies that would be right, for objects that are there. */
const BODIES: Readonly<Record<string, Json>> = {
  '/team/update': { team_id: 'there', team_alias: 'x' },
  '/team/delete': { team_ids: ['there'] },
  '/team/block': { team_id: 'there' },
  '/team/unblock': { team_id: 'there' },
  '/team/member_add': { team_id: 'there', member: { user_id: 'u', role: 'user' } },
  '/team/member_update': { team_id: 'there', user_id: 'member', rpm_limit: 1 },
  '/team/member_delete': { team_id: 'there', user_id: 'member' },
  '/team/model/add': { team_id: 'there', models: ['demo'] },
  '/team/model/delete': { team_id: 'there', models: ['demo'] },
  '/team/permissions_update': { team_id: 'there', team_member_permissions: [] },
  '/customer/new': { user_id: 'new' },
  '/customer/update': { user_id: 'there', alias: 'x' },
  '/customer/delete': { user_ids: ['there'] },
  '/customer/block': { user_ids: ['there'] },
  '/customer/unblock': { user_ids: ['there'] },
  '/budget/update': { budget_id: 'there', max_budget: 9 },
  '/budget/delete': { id: 'there' },
  '/budget/info': { budgets: ['there'] },
  '/organization/new': { organization_alias: 'x' },
  '/organization/update': { organization_id: 'there', organization_alias: 'x' },
  '/organization/delete': { organization_ids: ['there'] },
  '/organization/info': { organizations: ['there'] },
  '/organization/member_add': { organization_id: 'there', member: { user_id: 'x', role: 'internal_user' } },
  '/organization/member_update': { organization_id: 'there', user_id: 'x', role: 'org_admin' },
  '/organization/member_delete': { organization_id: 'there', user_id: 'x' },
  '/tag/new': { name: 'new' },
  '/tag/update': { name: 'there' },
  '/tag/delete': { name: 'there' },
  '/tag/info': { names: ['there'] },
  '/access_group/new': { access_group: 'new', model_names: ['demo'] },
  '/access_group/{group}/update': { model_names: ['demo'] },
};
const QUERIES: Readonly<Record<string, string>> = {
  '/team/info': '?team_id=there',
  '/team/permissions_list': '?team_id=there',
  '/customer/info': '?end_user_id=there',
  '/budget/settings': '?budget_id=there',
  '/organization/info': '?organization_id=there',
};
/** Lists of what the caller sees: empty for a key of nothing. */
const LISTS: ReadonlySet<string> = new Set(['/team/list', '/v2/team/list', '/team/available']);

t.test('each route', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', {
    team_id: 'there',
    models: ['demo', 'compat'],
    members_with_roles: [{ user_id: 'member', role: 'user' }],
  });
  await managed(rig, 'POST /budget/new', { budget_id: 'there', max_budget: 1 });
  await managed(rig, 'POST /customer/new', { user_id: 'there' });
  await managed(rig, 'POST /organization/new', { organization_alias: 'o', organization_id: 'there' });
  await managed(rig, 'POST /access_group/new', { access_group: 'there', model_names: ['demo'] });
  await managed(rig, 'POST /tag/new', { name: 'there' });
  const stranger = await newKey(rig, { user_id: 'stranger' });
  const member = await newKey(rig, { user_id: 'member', team_id: 'there' });
  const caller = await newKey(rig, { key_type: 'llm_api' });
  const refusals = (action: string | null): number =>
    rig.log.filter((line) => line['action'] === action && line['outcome'] === 'refused').length;

  for (const { method, path, action } of TEAM_ROUTES) {
    const base = path.replace('/end_user', '/customer');
    const target = `${path.replace('{group}', 'there')}${QUERIES[base] ?? ''}`;
    const body = method === 'GET' ? undefined : (BODIES[base] ?? {});
    const name = `${method} ${target}`;
    const before = refusals(action);
    t.equal(
      (await send(rig.url, method, target, body, { authorization: '' })).status,
      401,
      `${name}: no key`,
    );
    t.equal((await manage(rig, name, body, 'sk-unknown')).status, 401, `${name}: an unknown key`);
    const closed = LISTS.has(path) ? 200 : 403;
    t.equal((await manage(rig, name, body, caller)).status, closed, `${name}: a key for LLM calls`);
    const foreign = await manage(rig, name, body, stranger);
    t.equal(foreign.status, closed, `${name}: a key of somebody else ${foreign.text}`);
    if (action === null) continue;
    t.equal((await manage(rig, name, body, member)).status, 403, `${name}: a member`);
    t.equal(refusals(action) - before, 5, `${name}: each is in the audit`);
  }
  t.match(await managed(rig, 'GET /team/info?team_id=there'), {
    team_info: { team_alias: null, blocked: false, models: ['demo', 'compat'] },
    team_memberships: [{ user_id: 'member', litellm_budget_table: null }],
  });
  t.match(await managed(rig, 'GET /customer/info?end_user_id=there'), { alias: null, blocked: false });
  t.match(await managed(rig, 'POST /budget/info', { budgets: ['there'] }), [{ max_budget: 1 }]);
});

t.test('names that mean something to JavaScript are names', async (t) => {
  const rig = await startRig(t);
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    t.equal((await manage(rig, `GET /team/info?team_id=${name}`)).status, 404, name);
    const text = `{"team_id":"${name}","metadata":{"__proto__":{"a":1},"constructor":2},"model_aliases":{"__proto__":"demo"}}`;
    const made = await send(rig.url, 'POST', '/team/new', Buffer.from(text), {
      'content-type': 'application/json',
    });
    t.equal(made.status, 200, made.text);
    const read = await send(rig.url, 'GET', `/team/info?team_id=${name}`);
    t.match(read.text, /"metadata":\{"__proto__":\{"a":1\},"constructor":2\}/);
    t.match(read.text, /"model_aliases":\{"__proto__":"demo"\}/);
    await managed(rig, 'POST /customer/new', { user_id: name });
    await managed(rig, 'POST /budget/new', { budget_id: name });
    await managed(rig, 'POST /team/member_add', { team_id: name, member: { user_id: name, role: 'user' } });
    t.match(await managed(rig, `GET /user/info?user_id=${name}`), { teams: [{ team_id: name }] });
  }
});

t.test('a body that is no object, or of another type, is refused', async (t) => {
  const rig = await startRig(t);
  for (const [body, status] of [
    ['[]', 400],
    ['null', 400],
    ['"a"', 400],
    ['{', 400],
    ['', 400],
    [`{"metadata":${'['.repeat(100)}${']'.repeat(100)}}`, 422],
    [`{"metadata":{"a":${'['.repeat(100)}${']'.repeat(100)}}}`, 400],
    [`{"team_alias":"a\\u0000b"}`, 400],
    [`{"team_alias":"\\ud800"}`, 400],
    [`{"team_id":"${'x'.repeat(2_000)}"}`, 400],
  ] as const) {
    const answer = await send(rig.url, 'POST', '/team/new', Buffer.from(body), {
      'content-type': 'application/json',
    });
    t.equal(answer.status, status, `${body.slice(0, 60)}: ${answer.text}`);
  }
  const form = await send(rig.url, 'POST', '/team/new', Buffer.from('team_id=a'), {
    'content-type': 'application/x-www-form-urlencoded',
  });
  t.equal(form.status, 415);
});
