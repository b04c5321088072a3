// Two servers on one PostgreSQL: what is done through one holds on the other; sandboxes stay with the one that runs
// them; a database that is away costs no known key its calls.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { markedProcesses } from '../../platform/sandboxes/process-table.ts';
import { openExtensionTables } from '../../proxy/spend/store/postgres/extension-tables.ts';
import { runCli } from '../support/cli.ts';
import { anyPostgres, ownPostgres, settingsOf, type TestServer } from '../support/postgres.ts';
import { headerOf, KEY, lastSeen, rowOf, send, type Answer } from '../support/rig.ts';
import {
  at,
  beforeNextLook,
  ended,
  SECRET_KEY,
  specs,
  startPlatform,
  until,
  type PlatformRig,
} from './fixture/rig.ts';

const LIST = '/api/v1/app-conversations';
const shared = await anyPostgres(t);

interface Made {
  readonly id: string;
  readonly key: string;
}

async function converse(rig: PlatformRig, tags: Record<string, string>): Promise<Made> {
  const started = await rig.api('POST', LIST, { tags });
  const id = String(at(started, 'app_conversation_id'));
  const [{ llm_api_key: key }] = (await rig.api('GET', `${LIST}?ids=${id}`)).json as [
    { llm_api_key: string },
  ];
  return { id, key };
}

const call = (rig: PlatformRig, key: string): Promise<Answer> => {
  const body = { model: 'demo', messages: [{ role: 'user', content: 'hello' }] };
  return send(rig.url, 'POST', '/v1/chat/completions', body, { authorization: `Bearer ${key}` });
};

/** Any question about sandboxes waits for the news of other servers. */
const catchUp = (rig: PlatformRig): Promise<unknown> => rig.api('GET', '/api/v1/sandboxes/search');

/** null, and a word about it, where several connections are not several sessions. */
function replicable(t: Test): TestServer | null {
  if (shared.real) return shared;
  t.comment('PGlite has one session for all, so no replicas');
  return null;
}

t.test('a user may be answered by any of the servers', async (t) => {
  const server = replicable(t);
  if (server === null) return;
  const env = { DATABASE_URL: server.url() };
  const [one, two] = await Promise.all([startPlatform(t, { env }), startPlatform(t, { env })]);
  await one.api('POST', '/api/settings', { llm_api_key: 'sk-a', llm_model: 'demo' });
  t.match((await two.api('GET', '/api/settings')).json, { llm_api_key_set: true, llm_model: 'demo' });
  const profile = { llm: { model: 'demo', extra_headers: { 'X-Project': 'p42' } } };
  t.equal((await two.api('POST', '/api/v1/settings/profiles/Default', profile)).status, 201);
  await two.api('POST', '/api/v1/settings/profiles/Default/activate');

  const { id, key } = await converse(one, { costcenter: '4711' });
  const response = await call(two, key);
  t.equal(response.status, 200, 'a key is taken by the other server at once');
  t.equal(headerOf(lastSeen(two).rawHeaders, 'x-project'), 'p42');
  t.match(await rowOf(two, response), { request_tags: ['costcenter:4711'] });

  t.equal((await two.api('PATCH', `${LIST}/${id}`, { tags: { a: 'b' }, title: 'New' })).status, 200);
  await catchUp(one);
  t.match(await rowOf(one, await call(one, key)), { request_tags: ['a:b'] });
  t.match((await one.api('GET', `${LIST}/search?title__contains=new`)).json, { items: [{ id }] });
  t.match((await one.api('GET', `${LIST}?ids=${id}`)).json, [{ title: 'New', tags: { a: 'b' } }]);

  const changes = [one, two, one, two].map((rig, n) => rig.api('PATCH', `${LIST}/${id}`, { title: `t${n}` }));
  for (const { status } of await Promise.all(changes)) t.match(String(status), /^(200|409)$/);

  t.equal((await two.api('DELETE', `${LIST}/${id}`)).status, 200);
  await catchUp(one);
  t.equal((await call(one, key)).status, 401, 'and refused by both when the conversation is gone');
  t.equal((await call(two, key)).status, 401);
  t.equal((await call(one, 'sk-conv-unknown')).status, 401);

  t.match((await send(one.url, 'GET', '/metrics')).text, /^throughline_platform_servers 2$/m);

  const settings = settingsOf(env.DATABASE_URL);
  const extensionTables = openExtensionTables(settings);
  t.teardown(() => extensionTables.close());
  const text = `SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'throughline' AND pid <> pg_backend_pid()`;
  t.match(
    await extensionTables.transact([{ text, values: [] }]),
    [[{ n: 6 }]],
    'three connections each, spend records included',
  );
});

t.test('sandboxes are seen by all, changed by their own server, and forgotten from anywhere', async (t) => {
  const server = replicable(t);
  if (server === null) return;
  const env = { DATABASE_URL: server.url(), PATH: process.env['PATH'] };
  const platform = specs('', 'none');
  const one = await startPlatform(t, { env, platform });
  const two = await startPlatform(t, { env, platform });
  const id = String(at(await one.api('POST', '/api/v1/sandboxes'), 'id'));
  await until(two, id, 'RUNNING');
  const refused = await two.api('POST', `/api/v1/sandboxes/${id}/pause`);
  t.equal(refused.status, 409);
  t.match(at(refused, 'detail'), /^The sandbox belongs to the server .+; only that one can reach it$/);
  const task = await one.api('POST', '/api/v1/app-conversations', { sandbox_id: id });
  await ended(one, String(at(task, 'id')));
  const file = `/api/v1/app-conversations/${String(at(task, 'app_conversation_id'))}/file`;
  t.equal((await one.api('GET', file)).status, 200, 'no such file');
  const elsewhere = await two.api('GET', file);
  t.equal(elsewhere.status, 503, 'its place is one of another machine: here something else may listen there');
  t.equal((await one.api('POST', `/api/v1/sandboxes/${id}/pause`)).status, 200);
  t.match(await until(two, id, 'PAUSED'), { id, session_api_key: null });
  t.match((await two.api('GET', '/api/v1/sandboxes/search')).json, { items: [{ id }] });

  t.equal((await two.api('DELETE', `/api/v1/sandboxes/${id}`)).status, 200);
  await catchUp(one);
  t.same((await one.api('GET', `/api/v1/sandboxes?id=${id}`)).json, [null]);
  while ((await markedProcesses(join(one.folder, 'data'))).length > 0) await beforeNextLook();
  t.pass('its server has ended it');

  const left = String(at(await one.api('POST', '/api/v1/sandboxes'), 'id'));
  await until(one, left, 'RUNNING');
  await one.stop();
  t.match((await two.api('GET', `/api/v1/sandboxes?id=${left}`)).json, [
    { status: 'MISSING', status_detail: 'the server that ran it is gone' },
  ]);
  const again = await startPlatform(t, { env, platform, folder: one.folder });
  t.match(await until(again, left, 'RUNNING'), { id: left });
  await until(two, left, 'RUNNING');
  t.equal((await again.api('DELETE', `/api/v1/sandboxes/${left}`)).status, 200);
});

t.test('a database that is away is said so; keys that are known go on', async (t) => {
  const server = await ownPostgres(t);
  if (server === null) {
    t.comment('no server to stop');
    return;
  }
  const env = { DATABASE_URL: server.url() };
  const rig = await startPlatform(t, { env });
  const { key } = await converse(rig, {});
  await server.stop();
  t.match(await rig.api('POST', '/api/settings', { llm_model: 'x' }), {
    status: 500,
    json: { error: 'Something went wrong storing settings' },
  });
  t.match(await rig.api('GET', `${LIST}/search`), { status: 500, json: { detail: /does not answer/ } });
  t.equal((await call(rig, key)).status, 200);
  const unknown = await call(rig, 'sk-conv-of-another-server');
  t.equal(unknown.status, 503, 'not 401: nobody can tell');
  t.match(unknown.text, /store_unavailable/);
  const listed = async (bearer: string): Promise<number> =>
    (await send(rig.url, 'GET', '/v1/models', undefined, { authorization: `Bearer ${bearer}` })).status;
  t.same(
    [await listed(key), await listed('sk-conv-of-another-server'), await listed('sk-other')],
    [200, 503, 401],
    'who checks keys by the list is told of a refusal only where there is one',
  );
  t.equal((await call(rig, 'sk-other')).status, 401);

  const late = await startPlatform(t, { env });
  t.equal((await call(late, KEY)).status, 200, 'the master key needs no database');
  t.equal((await call(late, key)).status, 503);
  t.equal((await late.api('GET', '/api/settings')).status, 500);
  await server.start();
  while ((await late.api('POST', '/api/settings', { llm_model: 'y' })).status !== 200) await beforeNextLook();
  t.equal((await call(late, key)).status, 200);
  t.ok(late.log.some(({ msg }) => msg === 'the platform interface is served'));
  t.equal((await rig.api('POST', '/api/settings', { llm_model: 'x' })).status, 200);
  t.match((await rig.api('GET', '/api/settings')).json, { llm_model: 'x' });
  t.equal((await call(rig, 'sk-conv-of-another-server')).status, 401);
  t.notMatch(JSON.stringify(rig.log), /right\/pass/);
});

t.test('the sealing key is exchanged when no server runs on the database', async (t) => {
  const server = replicable(t);
  if (server === null) return;
  const env = { DATABASE_URL: server.url() };
  const next = randomBytes(32).toString('base64');
  const first = await startPlatform(t, { env });
  await first.api('POST', '/api/settings', { llm_api_key: 'sk-a' });
  await converse(first, {});
  const rotate = (url = env.DATABASE_URL) =>
    runCli(t, ['rotate-platform-key', '--config', first.configPath], {
      env: { DATABASE_URL: url, PLATFORM_SECRET_KEY_NEW: next },
    });
  t.match(await rotate(), {
    code: 1,
    err: /servers run on this database \(on .+\) - stop them; .* nothing was changed/,
  });
  await first.stop();
  t.match(await rotate(server.url()), { code: 1, err: /there is no platform data in postgresql:/ });
  t.match(await rotate(), { code: 0, out: /^4 items are sealed under the new key/ });
  t.match(await rotate(), { code: 1, err: /not the key/ });
  await t.rejects(startPlatform(t, { env, secretKey: SECRET_KEY }), /platform\.secret_key is not the key/);
  const second = await startPlatform(t, { env, secretKey: next });
  t.match((await second.api('GET', '/api/settings')).json, { llm_api_key_set: true });
});
