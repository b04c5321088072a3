// An object that is made under an id that had another one before begins at 0: what is shown and what is enforced, also after a
// restart.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { list, managed, type Json } from '../../../support/manage.ts';
import { chat, KEY, startRig, type Rig } from '../../../support/rig.ts';
import type { DemoGateway } from '../../../../proxy/demo-gateway/demo-gateway.ts';

/** A call costs some 0.01 for its prompt and nothing for its answer; the call that passes a cap is the last one. */
const config = ({ url }: DemoGateway): string => `
model_list:
  - model_name: gpt-4
    litellm_params:
      { model: openai/acme/demo, api_base: "${url}/compat/v1", api_key: sk-x, input_cost_per_token: 0.001, output_cost_per_token: 0 }
general_settings: { master_key: ${KEY}, budget_reservation: "off" }
`;
const CAP = 0.001;

interface Kind {
  readonly make: (rig: Rig) => Promise<unknown>;
  readonly remove: (rig: Rig) => Promise<unknown>;
  /** By a key that is told, with a body. */
  readonly call: (rig: Rig) => Promise<number>;
  readonly shown: (rig: Rig) => Promise<unknown>;
}

const callWith = async (rig: Rig, key: string, body: object = {}): Promise<number> =>
  (await chat(rig, 'gpt-4', body, { authorization: `Bearer ${key}` })).status;
const TEAM_KEY = 'sk-of-the-team-0001';
const MEMBER_KEY = 'sk-of-the-member-01';
const USER_KEY = 'sk-of-the-user-0001';

function team(team_id: string, terms: object): Kind {
  const key = `${TEAM_KEY}${team_id}`;
  return {
    make: async (rig) => {
      await managed(rig, 'POST /team/new', { team_id, max_budget: CAP, ...terms });
      await managed(rig, 'POST /key/generate', { key, team_id });
    },
    remove: (rig) => managed(rig, 'POST /team/delete', { team_ids: [team_id] }),
    call: (rig) => callWith(rig, key),
    shown: async (rig) =>
      ((await managed(rig, `GET /team/info?team_id=${team_id}`))['team_info'] as Json)['spend'],
  };
}

/** @param way how it is made, if not by the update that states its budget */
function user(user_id: string, way: (rig: Rig) => Promise<unknown>): Kind {
  const key = `${USER_KEY}${user_id}`;
  return {
    make: async (rig) => {
      await way(rig);
      await managed(rig, 'POST /user/update', { user_id, max_budget: CAP });
      await managed(rig, 'POST /key/generate', { key, user_id });
    },
    remove: (rig) => managed(rig, 'POST /user/delete', { user_ids: [user_id] }),
    call: (rig) => callWith(rig, key),
    shown: async (rig) =>
      ((await managed(rig, `GET /user/info?user_id=${user_id}`))['user_info'] as Json)['spend'],
  };
}

const KINDS: Readonly<Record<string, Kind>> = {
  team: team('t', {}),
  'team by the month': team('m', { budget_duration: '1mo' }),
  'member of a team that stays': {
    make: async (rig) => {
      const member = { user_id: 'u', role: 'user' };
      await managed(rig, 'POST /team/member_add', { team_id: 'stays', member });
      const terms = { team_id: 'stays', user_id: 'u', max_budget_in_team: CAP };
      await managed(rig, 'POST /team/member_update', terms);
      await managed(rig, 'POST /key/generate', { key: MEMBER_KEY, team_id: 'stays', user_id: 'u' });
    },
    remove: (rig) => managed(rig, 'POST /team/member_delete', { team_id: 'stays', user_id: 'u' }),
    call: (rig) => callWith(rig, MEMBER_KEY),
    shown: (rig) => memberSpend(rig, 'stays', 'u'),
  },
  'member of a team that is made again, with the shared budget of its members': {
    make: async (rig) => {
      const members_with_roles = [{ user_id: 'v', role: 'user' }];
      await managed(rig, 'POST /team/new', { team_id: 'g', members_with_roles, team_member_budget: CAP });
      await managed(rig, 'POST /key/generate', { key: `${MEMBER_KEY}g`, team_id: 'g', user_id: 'v' });
    },
    remove: (rig) => managed(rig, 'POST /team/delete', { team_ids: ['g'] }),
    call: (rig) => callWith(rig, `${MEMBER_KEY}g`),
    shown: (rig) => memberSpend(rig, 'g', 'v'),
  },
  'user that is made on the way into a team': user('w', (rig) =>
    managed(rig, 'POST /team/member_add', { team_id: 'stays', member: { user_id: 'w', role: 'user' } }),
  ),
  'user that is made on the way into an organization': user('z', (rig) =>
    managed(rig, 'POST /organization/member_add', {
      organization_id: 'o',
      member: { user_id: 'z', role: 'internal_user' },
    }),
  ),
  'user that an update makes': user('x', () => Promise.resolve()),
  'new user with a place in a team': {
    make: async (rig) => {
      const teams = [{ team_id: 'stays', max_budget_in_team: CAP }];
      await managed(rig, 'POST /user/new', { user_id: 'y', teams, auto_create_key: false });
      await managed(rig, 'POST /key/generate', { key: `${MEMBER_KEY}y`, team_id: 'stays', user_id: 'y' });
    },
    remove: (rig) => managed(rig, 'POST /user/delete', { user_ids: ['y'] }),
    call: (rig) => callWith(rig, `${MEMBER_KEY}y`),
    shown: (rig) => memberSpend(rig, 'stays', 'y'),
  },
  customer: {
    make: (rig) => managed(rig, 'POST /customer/new', { user_id: 'c', max_budget: CAP }),
    remove: (rig) => managed(rig, 'POST /customer/delete', { user_ids: ['c'] }),
    call: (rig) => callWith(rig, KEY, { user: 'c' }),
    shown: async (rig) => (await managed(rig, 'GET /customer/info?end_user_id=c'))['spend'],
  },
  'customer with a shared budget': {
    make: (rig) => managed(rig, 'POST /customer/new', { user_id: 'd', budget_id: 'shared' }),
    remove: (rig) => managed(rig, 'POST /customer/delete', { user_ids: ['d'] }),
    call: (rig) => callWith(rig, KEY, { user: 'd' }),
    shown: async (rig) => (await managed(rig, 'GET /customer/info?end_user_id=d'))['spend'],
  },
  'customer that is made by a block': {
    make: async (rig) => {
      await managed(rig, 'POST /customer/block', { user_ids: ['e'] });
      await managed(rig, 'POST /customer/unblock', { user_ids: ['e'] });
      await managed(rig, 'POST /customer/update', { user_id: 'e', budget_id: 'shared' });
    },
    remove: (rig) => managed(rig, 'POST /customer/delete', { user_ids: ['e'] }),
    call: (rig) => callWith(rig, KEY, { user: 'e' }),
    shown: async (rig) => (await managed(rig, 'GET /customer/info?end_user_id=e'))['spend'],
  },
  tag: {
    make: (rig) => managed(rig, 'POST /tag/new', { name: 'a', max_budget: CAP }),
    remove: (rig) => managed(rig, 'POST /tag/delete', { name: 'a' }),
    call: (rig) => callWith(rig, KEY, { metadata: { tags: ['a'] } }),
    shown: async (rig) => (await budgetOf(rig, 'tag', 'a'))?.['current_spend'],
  },
};

async function budgetOf(rig: Rig, scope: string, id: string): Promise<Json | undefined> {
  const { budgets } = await managed(rig, 'GET /spend/budgets');
  return list(budgets).find((one) => one['scope'] === scope && one['scope_id'] === id);
}

async function memberSpend(rig: Rig, teamId: string, userId: string): Promise<unknown> {
  const { team_memberships: all } = await managed(rig, `GET /team/info?team_id=${teamId}`);
  return list(all).find(({ user_id: id }) => id === userId)?.['spend'];
}

t.test('what is made again under an id begins at 0, as it is shown and enforced', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const rig = await startRig(t, { config, folder });
  await managed(rig, 'POST /team/new', { team_id: 'stays' });
  await managed(rig, 'POST /organization/new', { organization_id: 'o', organization_alias: 'o' });
  await managed(rig, 'POST /budget/new', { budget_id: 'shared', max_budget: CAP });
  const spent = new Map<string, unknown>();
  for (const [name, { make, remove, call, shown }] of Object.entries(KINDS)) {
    for (const time of ['made first', 'made again', 'made a third time']) {
      await make(rig);
      t.equal(await shown(rig), 0, `${name}, ${time}: shown`);
      t.equal(await call(rig), 200, `${name}, ${time}: enforced`);
      t.equal(await call(rig), 422, `${name}, ${time}: its own calls count`);
      spent.set(name, await shown(rig));
      t.ok(Number(spent.get(name)) > CAP, `${name}, ${time}: ${String(spent.get(name))}`);
      if (time !== 'made a third time') await remove(rig);
    }
  }
  await rig.stop();
  const after = await startRig(t, { config, folder });
  for (const [name, { call, shown }] of Object.entries(KINDS)) {
    t.equal(await shown(after), spent.get(name), `${name}, after a restart: shown`);
    t.equal(await call(after), 422, `${name}, after a restart: enforced`);
  }
});

t.test('the audit names who is made on the way, and nobody else', async (t) => {
  const rig = await startRig(t, { config });
  await managed(rig, 'POST /team/new', { team_id: 'a', members_with_roles: [{ user_email: 'one@x.y' }] });
  await managed(rig, 'POST /team/member_add', {
    team_id: 'a',
    member: { user_email: 'two@x.y', role: 'user' },
  });
  await managed(rig, 'POST /organization/new', { organization_id: 'o', organization_alias: 'o' });
  const member = { user_email: 'three@x.y', role: 'internal_user' };
  await managed(rig, 'POST /organization/member_add', { organization_id: 'o', member });
  await managed(rig, 'POST /user/update', { user_email: 'four@x.y' });
  await managed(rig, 'POST /user/new', { user_email: 'five@x.y' });
  const { users } = await managed(rig, 'GET /user/list');
  const told = rig.log.filter(({ event, object }) => event === 'admin_change' && object === 'user');
  const named = told.map(({ object_id: id }) => String(id));
  t.equal(named.length, 5);
  t.same(
    named.toSorted(),
    list(users)
      .map(({ user_id: id }) => String(id))
      .toSorted(),
  );
});

t.test('an object without terms shows none, whatever its id has spent before', async (t) => {
  const rig = await startRig(t, { config });
  t.equal(await callWith(rig, KEY, { user: 'c', metadata: { tags: ['a'] } }), 200);
  t.match(await managed(rig, 'POST /customer/new', { user_id: 'c' }), {
    spend: 0,
    budget_id: null,
    litellm_budget_table: null,
  });
  await managed(rig, 'POST /tag/new', { name: 'a' });
  const { a } = await managed(rig, 'POST /tag/info', { names: ['a'] });
  t.notOk('litellm_budget_table' in (a as Json));
});

t.test('the windows of a shared budget stay its own when what begins anew is changed', async (t) => {
  const rig = await startRig(t, { config });
  t.equal(await callWith(rig, KEY, { user: 'c' }), 200);
  await managed(rig, 'POST /budget/new', { budget_id: 'hours', max_budget: CAP, budget_duration: '5h' });
  await managed(rig, 'POST /customer/new', { user_id: 'c', budget_id: 'hours' });
  const resetAt = async (): Promise<unknown> => (await budgetOf(rig, 'end_user', 'c'))?.['budget_reset_at'];
  const before = await resetAt();
  t.type(before, 'string');
  await managed(rig, 'POST /customer/update', { user_id: 'c', alias: 'C' });
  t.equal(await resetAt(), before);
});
