// The platform's interface as the page reaches it: in the name of one of its users, for administrators alone.
import t from 'tap';
import { specs, startPlatform } from '../../../platform/fixture/rig.ts';
import { managed, newKey } from '../../../support/manage.ts';
import { codeOf, PageClient } from '../../../support/page-client.ts';
import { KEY } from '../../../support/rig.ts';

t.test('the platform behind the session of the console', async (t) => {
  const users = '[{ key: key-of-alice, user_id: alice }, { key: key-of-bob, user_id: bob }]';
  const rig = await startPlatform(t, { users, platform: specs('', 'none') });
  const page = new PageClient(rig.url);
  const path = '/ui/platform/api/v1/settings';
  t.equal(codeOf(await page.call('GET', path)), 'missing_api_key');
  t.match((await page.signIn(KEY)).json, {
    has: { platform: true },
    platform_users: ['alice', 'bob'],
    may: { platform: true },
  });

  const bob = { 'x-platform-user': 'bob' };
  const change = { agent_settings_diff: { llm: { model: 'demo' } } };
  const changed = await page.call('POST', path, change, bob);
  t.equal(changed.status, 200, changed.text);
  const read = await page.call('GET', path, undefined, bob);
  t.match(read.text, /"model":"demo"/);
  t.match(read.headers, {
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  t.notMatch((await page.call('GET', path)).text, /"model":"demo"/, 'the first user has none');

  t.equal(codeOf(await page.call('GET', path, undefined, { 'x-platform-user': 'eve' })), 'invalid_parameter');
  for (const none of [
    '/ui/platform/',
    '/ui/platform/v1/models',
    '/ui/platform/api',
    '/ui/platform/model/info',
  ])
    t.equal((await page.call('GET', none)).status, 404, none);
  const type = { 'content-type': 'text/plain' };
  t.equal(codeOf(await page.call('POST', path, {}, type)), 'session_not_taken');

  await managed(rig, 'POST /user/new', { user_id: 'uma', auto_create_key: false });
  const other = new PageClient(rig.url);
  t.match((await other.signIn(await newKey(rig, { user_id: 'uma' }))).json, {
    platform_users: [],
    may: { platform: false },
  });
  t.equal(codeOf(await other.call('GET', path)), 'admin_key_required');
  t.notMatch(JSON.stringify(rig.log), /key-of-/);
});
