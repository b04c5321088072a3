// The proxy on PostgreSQL: rows and models shared by replicas, and a database that is away costs no call.
import t from 'tap';
import { anyPostgres } from '../support/postgres.ts';
import { chat, defaultConfig, rowOf, send, startRig } from '../support/rig.ts';
import type { Rig } from '../support/rig.ts';

const readiness = async (rig: Rig): Promise<Record<string, unknown>> => {
  const { status, text } = await send(rig.url, 'GET', '/health/readiness');
  return { code: status, ...(JSON.parse(text) as Record<string, unknown>) };
};

t.test('two replicas with one DATABASE_URL answer for each other and keep models together', async (t) => {
  const server = await anyPostgres(t);
  if (!server.real) {
    t.comment('PGlite has one session for all, so no replicas');
    return;
  }
  const env = { DATABASE_URL: server.url() };
  const configOf = (demo: Rig['demo']): string => defaultConfig(demo, '  store_model_in_db: true\n');
  const one = await startRig(t, { env, config: configOf });
  const options = { env, config: () => configOf(one.demo) };
  const two = await startRig(t, options);
  const answer = await chat(one, 'demo', { user: 'alice' });
  t.match(await rowOf(one, answer), { end_user: 'alice', status: 'success' });
  t.match(await rowOf(two, answer), { end_user: 'alice' });
  const added = await send(one.url, 'POST', '/model/new', {
    model_name: 'extra',
    litellm_params: { model: 'litellm_proxy/demo', api_base: one.demo.url, api_key: 'sk-stored' },
  });
  t.equal(added.status, 200, added.text);
  await two.stop();
  const next = await startRig(t, options);
  const applied = (of: Rig, count: number): Promise<unknown> => {
    const what = 'models that another server has stored are served';
    return of.logged(() => of.log.filter(({ msg }) => msg === what).length >= count);
  };
  t.match((await send(next.url, 'GET', '/v1/models')).text, /"extra"/);
  const response = await send(one.url, 'POST', '/v1/responses', { model: 'demo', input: 'hello' });
  await one.rows(); // shipped
  const { id } = JSON.parse(response.text) as { id: string };
  t.equal((await send(next.url, 'GET', `/v1/responses/${id}`)).status, 200, 'made through the other replica');
  const entry = {
    litellm_params: { model: 'litellm_proxy/demo', api_base: one.demo.url, api_key: 'sk-stored' },
  };
  const stored = { ...entry, model_name: 'later', model_info: { id: 'later-1' } };
  t.equal((await send(one.url, 'POST', '/model/new', stored)).status, 200);
  await applied(next, 1);
  t.equal((await chat(next, 'later')).status, 200, 'added at the other replica, which has told nobody');
  const renamed = { model_name: 'renamed', model_info: { id: 'later-1' } };
  t.equal((await send(next.url, 'POST', '/model/update', renamed)).status, 200);
  await applied(one, 1);
  t.equal((await chat(one, 'renamed')).status, 200);
  t.equal((await chat(one, 'later')).status, 404);
  t.equal((await send(one.url, 'POST', '/model/delete', { id: 'later-1' })).status, 200);
  await applied(next, 2);
  t.equal((await chat(next, 'renamed')).status, 404);
  t.match((await send(next.url, 'GET', '/v1/models')).text, /"extra"/, 'the others stay');
});

t.test(
  'calls are served and journalled while the database is away; readiness and one log line say so',
  async (t) => {
    const url = 'postgresql://name:canary-word@127.0.0.1:1/spend';
    const rig = await startRig(t, {
      config: (demo) => defaultConfig(demo, `  database_url: ${url}\n`),
    });
    const line = await rig.logged((one) => one['event'] === 'store_unreachable');
    t.match(
      line['msg'],
      /^the database postgresql:\/\/127\.0\.0\.1:1\/spend cannot be used by name: .*ECONNREFUSED/,
    );
    t.match(await readiness(rig), { code: 200, db: 'Not connected', keys_loaded: false });
    t.equal((await chat(rig, 'demo')).status, 200);
    const refused = await send(rig.url, 'GET', '/spend/logs');
    t.equal(refused.status, 503);
    t.match(refused.text, /store_unavailable/);
    t.notMatch(JSON.stringify(rig.log) + refused.text, /canary/);
    t.match((await send(rig.url, 'GET', '/metrics')).text, /throughline_store_reachable 0/);
  },
);
