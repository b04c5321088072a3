// Operations for the software inside a sandbox: its own key opens them, for that sandbox and in the name of its owner.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { killMarked } from '../fixture/sandbox-processes.ts';
import { KEY, send } from '../../support/rig.ts';
import { at, ended, SESSION_KEY, specs, startPlatform, type PlatformRig } from '../fixture/rig.ts';

const WEBHOOK = '/api/v1/webhooks/conversations';
const older = (sandboxId: string): string => `/api/v1/webhooks/${sandboxId}/conversations`;

interface Started {
  readonly conversationId: string;
  readonly sandboxId: string;
  readonly key: string;
}

async function startConversation(rig: PlatformRig, userKey: string): Promise<Started> {
  const own: PlatformRig = { ...rig, api: (method, path, body) => rig.api(method, path, body, userKey) };
  const task = await ended(own, String(at(await own.api('POST', '/api/v1/app-conversations', {}), 'id')));
  if (task['status'] !== 'READY') throw new Error(JSON.stringify(task));
  const conversationId = String(task['app_conversation_id']);
  const read = await own.api('GET', `/api/v1/app-conversations?ids=${conversationId}`);
  return {
    conversationId,
    sandboxId: String(task['sandbox_id']),
    key: String(at(read, '0.session_api_key')),
  };
}

async function startTwo(t: Test): Promise<{ rig: PlatformRig; alice: Started; bob: Started }> {
  const users = '[{ key: key-of-alice, user_id: alice }, { key: key-of-bob, user_id: bob }]';
  const rig = await startPlatform(t, { platform: specs('', 'none'), users });
  t.teardown(() => killMarked(join(rig.folder, 'data')));
  return {
    rig,
    alice: await startConversation(rig, 'key-of-alice'),
    bob: await startConversation(rig, 'key-of-bob'),
  };
}

t.test("a sandbox's key opens what is for sandboxes, for that sandbox alone", async (t) => {
  const { rig, alice, bob } = await startTwo(t);
  const report = (path: string, id: string, key: string | null) => rig.api('POST', path, { id }, key);
  const cases: readonly (readonly [path: string, id: string, key: string | null, status: number])[] = [
    [WEBHOOK, alice.conversationId, alice.key, 200],
    [older(alice.sandboxId), alice.conversationId, alice.key, 200],
    [WEBHOOK, randomUUID(), alice.key, 200],
    [WEBHOOK, bob.conversationId, alice.key, 403],
    [older(bob.sandboxId), bob.conversationId, alice.key, 403],
    [older('nobody'), alice.conversationId, alice.key, 403],
    [WEBHOOK, alice.conversationId, null, 401],
    [WEBHOOK, alice.conversationId, '', 401],
    [WEBHOOK, alice.conversationId, 'key-of-alice', 401],
    [WEBHOOK, alice.conversationId, `${alice.key} `.repeat(2), 401],
    [WEBHOOK, alice.conversationId, alice.key.toLowerCase(), 401],
    [WEBHOOK, 'no-uuid', alice.key, 422],
  ];
  for (const [path, id, key, status] of cases)
    t.equal((await report(path, id, key)).status, status, `${path} ${id} ${String(key).slice(0, 12)}`);
  t.same((await report(older(bob.sandboxId), bob.conversationId, alice.key)).json, {
    detail: 'Session API key does not match sandbox',
  });
});

t.test("a sandbox's key opens nothing that is for users, and ends with the sandbox", async (t) => {
  const { rig, alice } = await startTwo(t);
  for (const [method, path] of [
    ['GET', '/api/v1/settings'],
    ['GET', '/api/v1/sandboxes/search'],
    ['DELETE', `/api/v1/sandboxes/${alice.sandboxId}`],
    ['DELETE', `/api/v1/app-conversations/${alice.conversationId}`],
  ] as const)
    t.equal((await rig.api(method, path, undefined, alice.key)).status, 401, path);
  t.equal(
    (await rig.api('DELETE', `/api/v1/sandboxes/${alice.sandboxId}`, undefined, 'key-of-alice')).status,
    200,
  );
  t.equal((await rig.api('POST', WEBHOOK, { id: alice.conversationId }, alice.key)).status, 401);
});

t.test('reports may be larger than what users send, and are bounded too', async (t) => {
  const { rig, alice } = await startTwo(t);
  const report = (bytes: number) =>
    rig.api('POST', WEBHOOK, { id: alice.conversationId, agent: 'x'.repeat(bytes) }, alice.key);
  t.equal((await report(3 * 1024 * 1024)).status, 200);
  t.equal((await report(16 * 1024 * 1024)).status, 413);
});

t.test(
  'a session key is taken in three headers; it opens nothing of the proxy, nor the other way',
  async (t) => {
    const rig = await startPlatform(t);
    const ask = (headers: Readonly<Record<string, string>>, path = '/api/v1/app-conversations/count') =>
      send(rig.url, 'GET', path, undefined, { authorization: '', ...headers });
    for (const headers of [
      { 'x-session-api-key': SESSION_KEY },
      { 'X-Access-Token': SESSION_KEY },
      { authorization: `Bearer ${SESSION_KEY}` },
      { authorization: `bearer  ${SESSION_KEY}` },
    ])
      t.equal((await ask(headers)).status, 200, JSON.stringify(headers));
    for (const headers of [
      {},
      { authorization: `Bearer ${KEY}` },
      { 'x-session-api-key': KEY },
      { 'x-access-token': `${SESSION_KEY} x` },
      { authorization: `Basic ${SESSION_KEY}` },
      { 'x-litellm-api-key': SESSION_KEY },
      { 'x-api-key': SESSION_KEY },
    ]) {
      const refused = await ask(headers);
      t.equal(refused.status, 401, JSON.stringify(headers));
      t.same(JSON.parse(refused.text), { detail: 'Unauthorized' });
    }
    for (const path of ['/v1/models', '/model/info', '/spend/logs', '/health'])
      for (const headers of [
        { authorization: `Bearer ${SESSION_KEY}` },
        { 'x-session-api-key': SESSION_KEY },
      ])
        t.equal((await ask(headers, path)).status, 401, path);
  },
);
