// Bodies of the proxy's own API that two parsers could read differently, that are large, and that would take long to build.
import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { KEY_ROUTES } from '../../../proxy/api/access/key-routes.ts';
import { TEAM_ROUTES } from '../../../proxy/api/access/team-routes.ts';
import { managed, newKey } from '../../support/manage.ts';
import { codeOf, PageClient } from '../../support/page-client.ts';
import { defaultConfig, send, startRig } from '../../support/rig.ts';

t.test(
  'the same member twice and bytes that are no UTF-8 are refused as in calls, and nothing is stored',
  async (t) => {
    const rig = await startRig(t);
    const twice = /stands twice|more than once|twice/;
    const cases: readonly (readonly [string, string | Buffer, string, string | null])[] = [
      ['/key/generate', '{"max_budget":1,"max_budget":1000000}', 'duplicate_member', 'max_budget'],
      ['/key/generate', '{"max_budget":1,"max\\u005fbudget":2}', 'duplicate_member', 'max_budget'],
      ['/key/generate', '{"unknown":1,"unknown":2}', 'duplicate_member', 'unknown'],
      [
        '/key/generate',
        '{"model_max_budget":{"demo":1,"demo":9}}',
        'duplicate_member',
        'model_max_budget.demo',
      ],
      ['/team/new', '{"team_id":"a","team_id":"b"}', 'duplicate_member', 'team_id'],
      ['/model/new', '{"model_name":"a","model_name":"b"}', 'duplicate_member', 'model_name'],
      ['/team/new', Buffer.from('{"team_alias":"a\xff"}', 'latin1'), 'body_not_utf8', null],
      ['/user/new', Buffer.from('{"metadata":{"a":"\xc3("}}', 'latin1'), 'body_not_utf8', null],
    ];
    for (const [path, body, reason, param] of cases) {
      const name = `${path} ${body.toString('latin1')}`;
      const { status, text } = await send(rig.url, 'POST', path, Buffer.from(body));
      t.equal(status, 400, `${name}: ${text}`);
      const { error } = JSON.parse(text) as { readonly error: Readonly<Record<string, unknown>> };
      t.equal(error['reason'] ?? error['code'], reason, name);
      t.equal(error['param'] ?? null, param, name);
      if (reason === 'duplicate_member') t.match(error['message'], twice, name);
    }
    t.equal((await send(rig.url, 'POST', '/key/generate', Buffer.from('{"a":'))).status, 400);
    t.same((await managed(rig, 'GET /key/list'))['keys'], []);
    t.same((await managed(rig, 'GET /v2/team/list'))['total'], 0);
  },
);

/** Nested lists: the JSON that takes longest for its size. */
const nested = (count: number): string =>
  `[${Array.from({ length: count }, () => '['.repeat(300) + ']'.repeat(300)).join(',')}]`;

/** The status and code of a refusal, in both shapes of errors. */
function codeIn({ status, text }: { readonly status: number; readonly text: string }): unknown {
  const { error } = JSON.parse(text) as { readonly error: Readonly<Record<string, unknown>> };
  return [status, error['reason'] ?? error['code']];
}

t.test('signing in takes a body of one key, from whoever comes', async (t) => {
  const rig = await startRig(t);
  const page = new PageClient(rig.url);
  const large = await page.call('POST', '/ui/session', { key: 'x', a: JSON.parse(nested(40)) });
  t.same([large.status, codeOf(large)], [413, 'body_too_large']);
  t.equal((await page.call('POST', '/ui/session', { key: 'sk-none' })).status, 401);
});

t.test('a route of our own takes bodies of its purpose: bytes, also inflated, and values', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => defaultConfig(demo, '  accept_compressed_requests: { max_inflated_mb: 8 }'),
  });
  const post = async (path: string, text: string, headers = {}) =>
    codeIn(await send(rig.url, 'POST', path, Buffer.from(text), headers));
  const large = JSON.stringify({ key_alias: 'a', unknown: 'x'.repeat(3_000_000) });
  t.same(await post('/key/generate', large), [413, 'body_too_large']);
  const small = gzipSync(large);
  const inflated = await send(rig.url, 'POST', '/key/generate', small, { 'content-encoding': 'gzip' });
  t.same(codeIn(inflated), [413, 'body_too_large'], inflated.text);

  for (const path of ['/key/generate', '/model/new', '/v2/key/info', '/doctor'])
    t.same(await post(path, `{"unknown":${nested(400)}}`), [400, 'body_too_complex'], path);
  const members = Array.from({ length: 10_001 }, (_, i) => `"m${i}":1`).join(',');
  t.same(await post('/team/new', `{${members}}`), [400, 'body_too_complex']);

  const counter = '/utils/token_counter';
  t.same(await post(counter, `{"model":"demo","contents":${nested(400)}}`), [400, 'body_too_complex']);
  const messages = Array.from({ length: 40_000 }, () => ({ role: 'user', content: 'x' }));
  t.same(await post(counter, JSON.stringify({ model: 'demo', messages })), [400, 'body_too_complex']);
  t.same(await post('/spend/calculate', JSON.stringify({ model: 'demo', messages })), [
    400,
    'body_too_complex',
  ]);
  t.same(await managed(rig, 'GET /key/list').then(({ keys }) => keys), []);
});

t.test('what is only long, and lists as long as they may be, are taken', async (t) => {
  const rig = await startRig(t);
  const prompt = 'a word '.repeat(500_000);
  t.ok((await managed(rig, 'POST /utils/token_counter', { model: 'demo', prompt }))['total_tokens']);
  const user_ids = Array.from({ length: 10_000 }, (_, i) => `${i}-${'u'.repeat(100)}`);
  t.same(await managed(rig, 'POST /customer/unblock', { user_ids }), { blocked_users: [] });
  const metadata = { text: 'é'.repeat(200_000) };
  t.match(await managed(rig, 'POST /key/generate', { metadata }), { metadata });
});

t.test('who may use a route for nothing is refused before the body is read', async (t) => {
  const rig = await startRig(t);
  const user = async (user_id: string, user_role: string, more = {}): Promise<string> => {
    await managed(rig, 'POST /user/new', { user_id, user_role, auto_create_key: false });
    return newKey(rig, { user_id, ...more });
  };
  const callers = {
    calls: await newKey(rig, { key_type: 'llm_api' }),
    reads: await user('reads', 'internal_user', { key_type: 'read_only' }),
    nobody: await newKey(rig, {}),
    views: await user('views', 'internal_user_viewer'),
    'sees all': await user('all', 'proxy_admin_viewer'),
    works: await user('works', 'internal_user'),
  };
  const notJson = Buffer.from('{');
  for (const { method, path, audience } of [...KEY_ROUTES, ...TEAM_ROUTES])
    for (const [name, key] of Object.entries(callers)) {
      if (audience === 'object') continue;
      const isIn =
        (audience === 'change' && name === 'works') || (audience === 'view' && name === 'sees all');
      const { status, text } = await send(rig.url, method, path, notJson, {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
      });
      const isBodiless = method === 'DELETE' && path.includes('{');
      if (!isBodiless || !isIn) t.equal(status, isIn ? 400 : 403, `${path}, ${name}: ${text}`);
    }
});
