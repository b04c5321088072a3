// Whoever may make keys makes none that opens more than they may themselves: as another user, past the lists of models of a team
// or a user, out of a team or an organization.
import t from 'tap';
import { manage, managed, newKey, type Json } from '../support/manage.ts';
import { chat, defaultConfig, startRig, type Rig } from '../support/rig.ts';

const MODELS = `
  - model_name: dear
    litellm_params: { model: litellm_proxy/demo, api_base: "$URL", api_key: sk-upstream-secret }
`;

/** A team `red` of ann, its admin, and bob; root administers the proxy. The team and bob may call `demo`. */
async function start(t: Parameters<typeof startRig>[0]): Promise<Rig> {
  const rig = await startRig(t, {
    config: (demo) =>
      defaultConfig(demo).replace(
        'general_settings:',
        `${MODELS.replace('$URL', demo.url)}general_settings:`,
      ),
  });
  const users = { root: 'proxy_admin', ann: 'internal_user', bob: 'internal_user', eve: 'internal_user' };
  for (const [user_id, user_role] of Object.entries(users))
    await managed(rig, 'POST /user/new', {
      user_id,
      user_role,
      auto_create_key: false,
      models: user_id === 'bob' ? ['demo'] : [],
    });
  const members_with_roles = [
    { user_id: 'ann', role: 'admin' },
    { user_id: 'bob', role: 'user' },
  ];
  await managed(rig, 'POST /team/new', { team_id: 'red', models: ['demo'], members_with_roles });
  await managed(rig, 'POST /organization/new', { organization_id: 'org', organization_alias: 'Org' });
  return rig;
}

const status = async (rig: Rig, call: string, body: Json, key: string): Promise<number> =>
  (await manage(rig, call, body, key)).status;
const callWith = async (rig: Rig, key: string, model: string): Promise<number> =>
  (await chat(rig, model, {}, { authorization: `Bearer ${key}` })).status;

t.test('an admin of a team gets no key that acts as somebody else', async (t) => {
  const rig = await start(t);
  const ann = await newKey(rig, { user_id: 'ann' });
  for (const user_id of ['root', 'bob', 'eve', 'nobody-yet']) {
    t.equal(await status(rig, 'POST /key/generate', { team_id: 'red', user_id }, ann), 403, user_id);
    t.equal(await status(rig, 'POST /key/update', { key: ann, team_id: 'red', user_id }, ann), 403, user_id);
  }
  for (const user_id of ['root', 'bob']) {
    const theirs = await newKey(rig, { team_id: 'red', user_id });
    t.equal(await status(rig, `POST /key/${theirs}/regenerate`, {}, ann), 403, user_id);
    t.equal(await status(rig, 'POST /key/update', { key: theirs, rpm_limit: 5 }, ann), 200, 'its limits');
    t.equal(await status(rig, 'POST /key/block', { key: theirs }, ann), 200, 'and its blocking');
  }
  const calls = { team_id: 'red', user_id: 'bob', key_type: 'llm_api' };
  const { key } = await managed(rig, 'POST /key/generate', calls, ann);
  t.equal(await callWith(rig, String(key), 'demo'), 200, 'a key for the calls of a member');
  t.equal(await status(rig, 'POST /key/update', { key, key_type: 'default' }, ann), 403);
  t.equal(await status(rig, `POST /key/${String(key)}/regenerate`, { key_type: 'default' }, ann), 403);
  t.equal(await status(rig, `POST /key/${String(key)}/regenerate`, {}, ann), 200);
  t.equal(await status(rig, 'POST /key/generate', { ...calls, user_id: 'eve' }, ann), 403, 'no member');
});

t.test('an alias of a key opens no model that its team, its user or its maker may not call', async (t) => {
  const rig = await start(t);
  const bob = await newKey(rig, { user_id: 'bob' });
  const aliases = { demo: 'dear', mine: 'dear', same: 'demo' };
  for (const body of [{ aliases }, { aliases, team_id: 'red', user_id: 'bob' }]) {
    const { key } = await managed(rig, 'POST /key/generate', body, bob);
    t.equal(await callWith(rig, String(key), 'dear'), 403);
    t.equal(await callWith(rig, String(key), 'demo'), 403, 'stands for dear');
    t.equal(await callWith(rig, String(key), 'mine'), 403);
    t.equal(await callWith(rig, String(key), 'same'), 200, 'stands for one that is allowed');
  }
  await managed(rig, 'POST /team/update', { team_id: 'red', model_aliases: { demo: 'x' } });
  const chained = { aliases: { x: 'dear' }, team_id: 'red', user_id: 'bob' };
  const { key } = await managed(rig, 'POST /key/generate', chained, bob);
  t.equal(await callWith(rig, String(key), 'demo'), 403, 'an alias of an alias of the team');

  const ann = await newKey(rig, { user_id: 'ann', models: ['demo'], aliases: { fast: 'dear' } });
  const wanted = { models: ['demo'], aliases: { demo: 'dear' } };
  t.equal(await status(rig, 'POST /key/generate', wanted, ann), 403);
  t.equal(await status(rig, 'POST /key/update', { key: ann, ...wanted }, ann), 403);
  t.equal(await status(rig, 'POST /key/generate', { ...wanted, aliases: { fast: 'dear' } }, ann), 200);
  t.equal(await status(rig, 'POST /key/generate', { ...wanted, aliases: { x: 'demo' } }, ann), 200);
});

t.test('an admin of a team gives it no aliases', async (t) => {
  const rig = await start(t);
  const ann = await newKey(rig, { user_id: 'ann', team_id: 'red' });
  const team = { team_id: 'red', model_aliases: { demo: 'dear' } };
  t.equal(await status(rig, 'POST /team/update', team, ann), 403);
  t.equal(await status(rig, 'POST /team/update', { team_id: 'red', metadata: { a: 1 } }, ann), 200);
});

t.test('a key of a team or an organization makes none that is outside of it, nor leaves it', async (t) => {
  const rig = await start(t);
  for (const place of [{ team_id: 'red' }, { organization_id: 'org' }]) {
    const key = await newKey(rig, { user_id: 'bob', ...place });
    const outside = Object.fromEntries(Object.keys(place).map((name) => [name, null]));
    t.equal(await status(rig, 'POST /key/generate', {}, key), 403);
    t.equal(await status(rig, 'POST /key/update', { key, ...outside }, key), 403);
    t.equal(await status(rig, `POST /key/${key}/regenerate`, outside, key), 403);
    t.equal(await status(rig, 'POST /key/generate', { user_id: 'bob', ...place }, key), 200);
    t.equal(await status(rig, 'POST /key/update', { key, metadata: { a: 1 } }, key), 200);
  }
});

t.test('users change their own name, and what says nothing of their budget', async (t) => {
  const rig = await start(t);
  const bob = await newKey(rig, { user_id: 'bob' });
  t.equal(await status(rig, 'POST /user/update', { user_id: 'bob', user_alias: 'Bob' }, bob), 200);
  t.equal(await status(rig, 'POST /user/update', { user_id: 'bob', max_budget: null }, bob), 200);
  t.equal(await status(rig, 'POST /user/update', { user_id: 'bob', max_budget: 9 }, bob), 403);
  t.equal(await status(rig, 'POST /user/update', { user_id: 'bob', spend: 0 }, bob), 403);
  const address = { user_id: 'bob', user_email: 'boss@example.com' };
  t.equal(await status(rig, 'POST /user/update', address, bob), 403, 'teams take it for who they are');
});
