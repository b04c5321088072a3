// What a sandbox gets of its owner's secrets: where to look them up, in the request that starts a conversation, and the
// values, by its own key.
import { join } from 'node:path';
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import type { Sandbox } from '../../../platform/sandboxes/sandbox.ts';
import { secretSources } from '../../../platform/secrets/secret-sources.ts';
import { UserSecrets, type SecretsDocument } from '../../../platform/secrets/user-secrets.ts';
import { Documents } from '../../../platform/store/documents.ts';
import { Vault } from '../../../platform/store/vault.ts';
import { systemClock } from '../../../proxy/base/clock.ts';
import { startRuntime, type RuntimeRig } from '../fixture/agent-server.ts';
import { at, ended, SECRET_KEY } from '../fixture/rig.ts';
import { send } from '../../support/rig.ts';
import { openPlatformFile } from '../../../platform/store/store.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';

const VALUE = 'ghp_value-of-alice';
const USERS = '[{ key: session-key-of-the-tests, user_id: alice }, { key: key-of-bob, user_id: bob }]';

const secrets = (rig: RuntimeRig, name = '', key: string | null = rig.sandboxKey, id = rig.sandboxId) =>
  rig.api('GET', `/api/v1/sandboxes/${id}/settings/secrets${name}`, undefined, key);

async function lastStarted(rig: RuntimeRig): Promise<Record<string, unknown>> {
  const headers = { 'x-session-api-key': rig.sandboxKey };
  const { text } = await send(rig.runtimeUrl, 'GET', '/conversations', undefined, headers);
  return (JSON.parse(text) as Record<string, unknown>[]).at(-1) ?? {};
}

t.test('a sandbox reads the secrets of its owner with its own key, and no others', async (t) => {
  const rig = await startRuntime(t, { users: USERS });
  await rig.api('POST', '/api/v1/secrets', { name: 'GH', value: VALUE, description: 'for clones' });
  await rig.api('POST', '/api/v1/secrets', { name: 'OF_BOB', value: 'b' }, 'key-of-bob');
  t.same((await secrets(rig)).json, { secrets: [{ name: 'GH', description: 'for clones' }] });
  const answer = await secrets(rig, '/GH');
  t.same([answer.status, answer.text], [200, VALUE]);
  t.match(answer.headers, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  for (const name of ['/OF_BOB', '/gh', '/nothing', '/constructor'])
    t.equal((await secrets(rig, name)).status, 404, name);
  for (const key of [null, '', 'session-key-of-the-tests', 'key-of-bob'])
    t.equal((await secrets(rig, '/GH', key)).status, 401, 'a value is for the sandbox alone');
  t.equal((await secrets(rig, '/GH', rig.sandboxKey, 'another')).status, 403);
  await rig.api('POST', `/api/v1/sandboxes/${rig.sandboxId}/pause`);
  t.equal((await secrets(rig, '/GH')).status, 403, 'one that is paused asks for nothing');
  t.notMatch(JSON.stringify(rig.log), VALUE);
});

t.test('a conversation is told where to look them up; those of its request win and go along', async (t) => {
  const rig = await startRuntime(t);
  for (const name of ['FIRST', 'SECOND'])
    await rig.api('POST', '/api/v1/secrets', { name, value: `${VALUE}-${name}`, description: `the ${name}` });
  const request = { sandbox_id: rig.sandboxId, secrets: { SECOND: 'of the request', THIRD: 'too' } };
  const task = await rig.api('POST', '/api/v1/app-conversations', request);
  t.equal((await ended(rig, String(at(task, 'id'))))['status'], 'READY');
  const started = await lastStarted(rig);
  t.notMatch(JSON.stringify(started), VALUE, 'no stored value is handed over');
  const { FIRST, ...others } = started['secrets'] as Record<string, Record<string, unknown>>;
  t.same(others, {
    SECOND: { kind: 'StaticSecret', value: 'of the request' },
    THIRD: { kind: 'StaticSecret', value: 'too' },
  });
  t.match(FIRST, {
    kind: 'LookupSecret',
    url: `${rig.url}/api/v1/sandboxes/${rig.sandboxId}/settings/secrets/FIRST`,
    headers: { 'X-Session-API-Key': rig.sandboxKey },
    description: 'the FIRST',
  });
  const { origin, pathname } = new URL(String(FIRST?.['url']));
  const looked = (): Promise<{ readonly status: number; readonly text: string }> =>
    send(origin, 'GET', pathname, undefined, {
      authorization: '',
      ...(FIRST?.['headers'] as Record<string, string>),
    });
  t.equal((await looked()).text, `${VALUE}-FIRST`, 'as an agent server looks it up');
  await rig.api('DELETE', '/api/v1/secrets/FIRST');
  t.equal((await looked()).status, 404, 'a deleted secret is gone for running conversations too');
});

t.test('where sandboxes reach no address of this interface, the values go along', async (t) => {
  const folder = tempDir(t);
  const store = openPlatformFile(join(folder, 'platform.db'));
  t.teardown(() => store.close());
  const vault = new Vault(new Secret(SECRET_KEY));
  const secrets = new UserSecrets(new Documents<SecretsDocument>('secrets', store, vault, systemClock));
  await secrets.save('alice', { name: 'FIRST', value: VALUE, description: null }, 'replace');
  const sandbox: Sandbox = {
    id: 'a',
    userId: 'alice',
    owner: '',
    specId: 'default',
    status: 'RUNNING',
    unhealthy: null,
    detail: null,
    place: null,
    key: new Secret('key of the sandbox'),
    createdMs: 0,
    activeMs: 0,
    revision: 1,
  };
  t.same(await secretSources(secrets, sandbox, null), {
    FIRST: { kind: 'StaticSecret', value: VALUE, description: null },
  });
  t.same(await secretSources(secrets, { ...sandbox, userId: 'bob' }, null), {});
});
