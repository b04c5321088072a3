// Keys and teams of the configuration file, from outside: they call, a reload changes them, the API does not, and they win
// over stored ones of the same id.
import { hash } from 'node:crypto';
import t from 'tap';
import { blankKey } from '../../proxy/access/objects/blank.ts';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { managed, newKey } from '../support/manage.ts';
import { chat, defaultConfig, rowOf, send, startRig } from '../support/rig.ts';

const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const sha = (key: string): string => hash('sha256', key, 'hex');
const CI = 'sk-ci-key-for-tests';

t.test('a key of the file calls what it may, and its team stands in the row', async (t) => {
  const rig = await startRig(t, {
    env: { CI_KEY: CI },
    config: (demo) =>
      defaultConfig(
        demo,
        `keys: [{ key_alias: ci, key: os.environ/CI_KEY, team_id: acme }, { key_alias: h, hash: ${sha('sk-hashed')} }]
teams: [{ team_id: acme, models: [demo], tags: [from-file] }]
`,
      ),
  });
  const call = await chat(rig, 'demo', {}, as(CI));
  t.equal(call.status, 200);
  t.match(await rowOf(rig, call), {
    api_key: sha(CI),
    team_id: 'acme',
    metadata: { user_api_key_alias: 'ci' },
  });
  t.equal((await chat(rig, 'compat', {}, as(CI))).status, 403, 'its team may not');
  t.equal((await chat(rig, 'compat', {}, as('sk-hashed'))).status, 200);
  const { access } = rig.gateway.reloader.active.services;
  const key = access.directory.key(sha(CI));
  if (key === null) throw new Error('the key is not there');
  for (const change of [
    { put: { ...key, models: [] } },
    { remove: { kind: key.kind, id: key.id, revision: 0 } },
  ])
    await t.rejects(access.change([change]), { code: 'object_in_config', message: /configuration file/ });
  await rig.reconfigure(defaultConfig(rig.demo, 'keys: [{ key_alias: ci, key: os.environ/CI_KEY }]\n'));
  t.equal((await chat(rig, 'compat', {}, as(CI))).status, 200, 'a reload counts at once');
  t.equal((await chat(rig, 'demo', {}, as('sk-hashed'))).status, 401);
  await rig.reconfigure(defaultConfig(rig.demo));
  t.equal((await chat(rig, 'demo', {}, as(CI))).status, 401);
});

t.test(
  'the file wins over a stored object of the same id for as long as it states it, and says so',
  async (t) => {
    const rig = await startRig(t);
    const { access } = rig.gateway.reloader.active.services;
    const stored = { ...blankKey(sha(CI), 'ests', 1), models: ['demo'] };
    await access.change([{ put: stored }]);
    t.equal((await chat(rig, 'compat', {}, as(CI))).status, 403);
    await rig.reconfigure(defaultConfig(rig.demo, `keys: [{ key_alias: ci, hash: ${sha(CI)} }]\n`));
    await rig.logged(({ msg, kind }) => kind === 'key' && /the file wins/.test(String(msg)));
    t.equal((await chat(rig, 'compat', {}, as(CI))).status, 200);
    await rig.reconfigure(defaultConfig(rig.demo));
    t.equal((await chat(rig, 'compat', {}, as(CI))).status, 403, 'the stored one is there again');
  },
);

t.test('a header of the operator carries the key, before all others, and never goes upstream', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => defaultConfig(demo, '  litellm_key_header_name: X-My-Key\n'),
  });
  const { access } = rig.gateway.reloader.active.services;
  await access.change([{ put: blankKey(sha(CI), 'ests', 1) }]);
  for (const headers of [
    { authorization: '', 'X-My-Key': CI },
    { authorization: '', 'x-my-key': `Bearer ${CI}` },
    { authorization: 'Bearer sk-wrong', 'x-my-key': CI },
    { authorization: '', 'x-litellm-api-key': 'sk-wrong', 'x-my-key': CI },
  ])
    t.equal((await chat(rig, 'demo', {}, headers)).status, 200);
  t.equal((await chat(rig, 'demo', {}, { ...as(CI), 'x-my-key': 'sk-wrong' })).status, 401);
  t.equal((await chat(rig, 'demo', {}, { ...as(CI), x_my_key: CI })).status, 200, 'a twin is no key');
  t.notMatch(JSON.stringify(rig.demo.seen), /sk-ci-key|my.key/i);
  for (const name of ['content-type', 'cookie', 'x-litellm-session-id', 'host', 'a b']) {
    await rig.reconfigure(defaultConfig(rig.demo, `  litellm_key_header_name: "${name}"\n`));
    t.equal(rig.gateway.reloader.state.result, 'refused', name);
  }
});

t.test('a key opens nothing once its team is gone from the file, also after a restart', async (t) => {
  const withTeam = (demo: DemoGateway): string =>
    defaultConfig(demo, 'teams: [{ team_id: acme, models: [demo], max_budget: 5 }]\n');
  let rig = await startRig(t);
  const { folder } = rig;
  const early = await newKey(rig, { team_id: 'acme' });
  const status = async (key: string): Promise<number> => (await chat(rig, 'demo', {}, as(key))).status;
  t.equal(await status(early), 200, 'made for a team to come');
  await rig.reconfigure(withTeam(rig.demo));
  const key = await newKey(rig, { team_id: 'acme' });
  t.equal(await status(key), 200);
  t.match(rig.gateway.reloader.state.result, 'applied');

  await rig.reconfigure(defaultConfig(rig.demo));
  for (const one of [early, key]) {
    const refused = await chat(rig, 'demo', {}, as(one));
    t.equal(refused.status, 401);
    t.match(refused.text, /team_removed.*/);
    t.match(refused.text, 'Team=acme of this key was taken out of the configuration file');
    t.equal((await send(rig.url, 'GET', '/v1/models', undefined, as(one))).status, 401);
  }
  await rig.stop();
  rig = await startRig(t, { folder });
  for (const one of [early, key]) t.equal(await status(one), 401, 'after a restart');
  await managed(rig, 'POST /key/update', { key, metadata: { a: 1 } });
  t.equal(await status(key), 401, 'another change of it gives it no team');
  await managed(rig, 'POST /team/new', { team_id: 'acme', models: ['compat'] });
  t.equal(await status(key), 403, 'the team is there again, and says what it may call');
  await managed(rig, 'POST /key/update', { key, team_id: null });
  t.equal(await status(key), 200, 'of no team');
  await managed(rig, 'POST /key/update', { key, team_id: 'to-come' });
  t.equal(await status(key), 200);
});
