// Signing in to the console, what a session opens, and how it ends.
import t from 'tap';
import { ManualClock, WallClock } from '../../../support/clock.ts';
import { managed, newKey, type Json } from '../../../support/manage.ts';
import { codeOf, PageClient, type PageAnswer } from '../../../support/page-client.ts';
import { defaultConfig, KEY, startRig, type Rig } from '../../../support/rig.ts';

const AGENT = 'sk-agent-key-for-tests';
const HOUR_MS = 3_600_000;

const settled = async (rig: Rig): Promise<void> => {
  await managed(rig, 'GET /key/list');
};

t.test('a session, from the key to the end', async (t) => {
  const clock = new WallClock();
  const rig = await startRig(t, {
    clock,
    config: (demo) => defaultConfig(demo, `  inference_keys: [${AGENT}]\n  console: { session_hours: 2 }\n`),
  });
  const page = new PageClient(rig.url);

  const before = await page.call('GET', '/ui/session');
  t.equal(before.status, 200);
  t.match(before.json, { signed_in: false, sign_in: { key: true, oidc: null } });
  t.notOk('reason' in before.json, 'nobody was signed in');
  t.equal(codeOf(await page.call('GET', '/model/info')), 'missing_api_key');

  await t.test('the master key signs in; the cookie is for no script and no other page', async (t) => {
    const answer = await page.signIn(` ${KEY}\n`);
    t.equal(answer.status, 200);
    t.match(answer.json, { signed_in: true, role: 'admin', who: { kind: 'master' }, may: { change: true } });
    const [set = ''] = answer.headers['set-cookie'] ?? [];
    t.match(set, /^throughline-console=[\w-]+; Path=\/; Max-Age=7200; HttpOnly; SameSite=Strict$/);
    t.equal(answer.headers['cache-control'], 'no-store');
    t.notMatch(JSON.stringify([answer.text, set, rig.log]), KEY);
    t.equal((await page.call('GET', '/model/info')).status, 200);
    t.equal((await page.call('GET', '/spend/report?by=day')).status, 200);
    t.equal((await page.call('POST', '/key/generate', {})).status, 200);
  });

  await t.test('through https, as the browser says, it is for https alone', async (t) => {
    const secure = new PageClient(rig.url);
    const answer = await secure.call(
      'POST',
      '/ui/session',
      { key: KEY },
      { origin: rig.url.replace('http:', 'https:') },
    );
    t.match(
      answer.headers['set-cookie']?.[0],
      /^__Host-throughline=.*; Path=\/; .*HttpOnly; SameSite=Strict; Secure$/,
    );
    t.equal((await secure.call('GET', '/model/info')).status, 200);
  });

  await t.test('it counts for requests of its own page alone', async (t) => {
    const refused = async (method: string, path: string, headers: Record<string, string>): Promise<unknown> =>
      codeOf(await page.call(method, path, method === 'GET' ? undefined : {}, headers));
    const none = { 'sec-fetch-site': '' };
    t.equal(await refused('GET', '/model/info', { 'sec-fetch-site': 'cross-site' }), 'session_not_taken');
    t.equal(await refused('GET', '/model/info', { 'sec-fetch-site': 'same-site' }), 'session_not_taken');
    t.equal(await refused('POST', '/key/generate', { 'sec-fetch-site': 'none' }), 'session_not_taken');
    for (const origin of ['http://evil.example', 'null', `${rig.url}.evil.example`, 'http://127.0.0.1:1'])
      t.equal(await refused('POST', '/key/generate', { ...none, origin }), 'session_not_taken', origin);
    const type = { 'content-type': 'text/plain' };
    t.equal(await refused('POST', '/key/generate', type), 'session_not_taken');
    t.equal(
      (await page.call('POST', '/key/generate', {}, none)).status,
      200,
      'Origin says that it is the page',
    );
    t.equal((await page.call('GET', '/model/info', undefined, none)).status, 200, 'reading, on plain http');
    const foreign = new PageClient(rig.url);
    const login = await foreign.call('POST', '/ui/session', { key: KEY }, { 'sec-fetch-site': 'cross-site' });
    t.equal(codeOf(login), 'session_not_taken', 'nor does another page sign somebody in');
    t.equal(
      codeOf(await page.call('DELETE', '/ui/session', undefined, { 'sec-fetch-site': 'cross-site' })),
      'cross_origin_request',
    );
  });

  await t.test('beside a key the key alone counts, and LLM calls stay with keys', async (t) => {
    const both = await page.call('GET', '/model/new', undefined, { authorization: 'Bearer sk-wrong' });
    t.equal(both.status, 405);
    t.equal(
      codeOf(await page.call('GET', '/spend/keys', undefined, { authorization: 'Bearer sk-wrong' })),
      'invalid_api_key',
    );
    t.equal(
      codeOf(await page.call('GET', '/spend/keys', undefined, { 'x-api-key': AGENT })),
      'admin_key_required',
    );
    const chat = { model: 'demo', messages: [{ role: 'user', content: 'Hi' }] };
    t.equal(codeOf(await page.call('POST', '/v1/chat/completions', chat)), 'missing_api_key');
    const tried = await page.call('POST', '/ui/v1/chat/completions', chat);
    t.equal(tried.status, 200);
    t.match(tried.json, { object: 'chat.completion' });
    const streamed = await page.call('POST', '/ui/v1/chat/completions', { ...chat, stream: true });
    t.match(streamed.text, /data: \[DONE\]/);
    t.equal(
      codeOf(await new PageClient(rig.url).call('POST', '/ui/v1/chat/completions', chat)),
      'missing_api_key',
    );
    const seen = JSON.stringify(rig.demo.seen.at(-1)?.rawHeaders);
    t.notMatch(seen, /cookie/i, 'the cookie goes nowhere');
  });

  await t.test('a damaged cookie, and one of another key, is no session', async (t) => {
    const [[name, value] = ['', '']] = [...page.cookies];
    for (const other of [`${value.slice(0, -2)}AA`, 'x', '%00', value.toUpperCase(), `${value}${value}`]) {
      const client = new PageClient(rig.url, new Map([[name, other]]));
      t.equal(codeOf(await client.call('GET', '/model/info')), 'session_expired', other.slice(0, 8));
      t.match((await client.call('GET', '/ui/session')).json, { signed_in: false, reason: 'revoked' });
      t.equal(client.cookies.size, 0, 'and is taken away');
    }
  });

  await t.test('signing out ends every copy of the cookie', async (t) => {
    const copy = new PageClient(rig.url, page.cookies);
    t.equal((await page.call('DELETE', '/ui/session')).status, 204);
    t.equal(page.cookies.size, 0);
    t.equal(codeOf(await copy.call('GET', '/model/info')), 'session_expired');
    t.match((await copy.call('GET', '/ui/session')).json, { signed_in: false, reason: 'revoked' });
    t.equal((await page.call('DELETE', '/ui/session')).status, 204, 'twice does no harm');
  });

  await t.test(
    'it ends after its time, and when nobody does anything; doing something renews it',
    async (t) => {
      t.equal((await page.signIn(KEY)).status, 200);
      clock.advance(20 * 60_000);
      t.match((await page.call('GET', '/ui/session')).json, { signed_in: true });
      clock.advance(20 * 60_000);
      t.equal((await page.call('GET', '/model/info')).status, 200, 'it was renewed');
      const idle = new PageClient(rig.url, page.cookies);
      clock.advance(11 * 60_000);
      t.equal(codeOf(await idle.call('GET', '/model/info')), 'session_expired');
      t.match((await idle.call('GET', '/ui/session')).json, { signed_in: false, reason: 'idle' });
      t.equal((await page.signIn(KEY)).status, 200);
      for (let passed = 0; passed < 2 * HOUR_MS; passed += 25 * 60_000) {
        clock.advance(25 * 60_000);
        await page.call('GET', '/ui/session');
      }
      t.equal(page.cookies.size, 0, 'no use renews it for ever');
    },
  );

  await t.test('another master key ends all sessions', async (t) => {
    t.equal((await page.signIn(KEY)).status, 200);
    const config = defaultConfig(rig.demo);
    await rig.reconfigure(config.replace(KEY, 'sk-another-master-key'));
    t.equal(codeOf(await page.call('GET', '/model/info')), 'session_expired');
    await rig.reconfigure(`${config}  console: { enabled: false }\n`);
    for (const path of ['/ui', '/ui/', '/ui/session', '/ui/models'])
      t.equal((await page.call('GET', path)).status, 404, `${path} while it is off`);
    t.equal((await page.signIn(KEY)).status, 404);
    t.equal(codeOf(await page.call('GET', '/model/info')), 'missing_api_key', 'and no cookie counts');
  });
});

t.test('roles: what each key opens of the routes of the console', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => defaultConfig(demo, `  inference_keys: [${AGENT}]\n`),
  });
  for (const [id, role] of Object.entries({
    ada: 'proxy_admin',
    vic: 'proxy_admin_viewer',
    uma: 'internal_user',
    otto: 'internal_user_viewer',
  }))
    await managed(rig, 'POST /user/new', { user_id: id, user_role: role, auto_create_key: false });
  await managed(rig, 'POST /team/new', {
    team_id: 'blue',
    members_with_roles: [{ role: 'admin', user_id: 'uma' }],
  });
  const keys: Record<string, string> = { master: KEY };
  for (const user of ['ada', 'vic', 'uma', 'otto']) keys[user] = await newKey(rig, { user_id: user });
  keys['bare'] = await newKey(rig, { key_alias: 'bare' });
  const pages = new Map<string, PageClient>();
  const signedIn = new Map<string, PageAnswer>();
  for (const [who, key] of Object.entries(keys)) {
    const page = new PageClient(rig.url);
    signedIn.set(who, await page.signIn(key));
    pages.set(who, page);
  }
  t.same(
    [...signedIn].map(([who, { json }]) => [who, json['role'], (json['who'] as Json)['admin_of']]),
    [
      ['master', 'admin', []],
      ['ada', 'admin', []],
      ['vic', 'viewer', []],
      ['uma', 'user', ['blue']],
      ['otto', 'user_viewer', []],
      ['bare', 'key', []],
    ],
  );

  /** Who is let in: the first letter of each who is. Others get 403. */
  const TABLE: Readonly<Record<string, string>> = {
    'GET /chain': 'mav',
    'GET /config': 'mav',
    'GET /doctor': 'mav',
    'GET /health?model=none': 'mav',
    'GET /metrics': 'mav',
    'GET /spend/report?by=day': 'mav',
    'GET /spend/budgets': 'mav',
    'GET /spend/keys': 'mav',
    'GET /spend/logs/ui?start_date=2026-01-01&end_date=2026-01-02': 'mav',
    'GET /conversations/braked': 'mav',
    'GET /budget/list': 'mav',
    'GET /customer/list': 'mav',
    'GET /spend/rows': 'mavuob',
    'GET /spend/sums?by=day': 'mavuob',
    'GET /model/info': 'mavuob',
    'GET /key/list': 'mavuob',
    'GET /key/info': 'avuob',
    'GET /team/list': 'mavuob',
    'GET /user/daily/activity?start_date=2026-01-01&end_date=2026-01-02': 'mavuo',
    'GET /team/daily/activity?start_date=2026-01-01&end_date=2026-01-02': 'mavu',
    'GET /tag/daily/activity?start_date=2026-01-01&end_date=2026-01-02': 'mav',
    'POST /config/reload?dry_run=true': 'ma',
    'POST /model/new': 'ma',
    'POST /model/update': 'ma',
    'POST /team/new': 'ma',
    'POST /user/new': 'ma',
    'POST /budget/new': 'ma',
    'POST /spend/calculate': 'ma',
    'POST /key/generate': 'mau',
    'POST /ui/v1/chat/completions': 'mavuob',
  };
  for (const [call, wanted] of Object.entries(TABLE)) {
    const [method = '', path = ''] = call.split(' ');
    let letIn = '';
    for (const [who, page] of pages) {
      const { status } = await page.call(method, path, method === 'POST' ? {} : undefined);
      if (status !== 403 && status !== 401) letIn += who.charAt(0);
    }
    // The master key has no key of its own to show.
    t.equal(call === 'GET /key/info' ? letIn.replace('m', '') : letIn, wanted, call);
  }

  await t.test('keys that do not sign in', async (t) => {
    const page = new PageClient(rig.url);
    t.equal(codeOf(await page.signIn(AGENT)), 'sign_in_refused');
    t.equal(codeOf(await page.signIn('sk-wrong')), 'invalid_api_key');
    for (const body of [{}, { key: 7 }, { key: 'x'.repeat(2_000) }])
      t.equal(codeOf(await page.call('POST', '/ui/session', body)), 'invalid_parameter');
    t.equal(page.cookies.size, 0);
  });

  await t.test('a key that is blocked or deleted ends its sessions at once', async (t) => {
    const uma = pages.get('uma') ?? new PageClient(rig.url);
    const copy = new PageClient(rig.url, uma.cookies);
    await managed(rig, 'POST /key/block', { key: keys['uma'] });
    t.equal(codeOf(await uma.call('GET', '/key/list')), 'key_blocked');
    t.match((await copy.call('GET', '/ui/session')).json, { signed_in: false, reason: 'revoked' });
    await managed(rig, 'POST /key/unblock', { key: keys['uma'] });
    t.equal((await uma.call('GET', '/key/list')).status, 200);
    await managed(rig, 'POST /key/delete', { keys: [keys['uma']] });
    t.equal(codeOf(await uma.call('GET', '/key/list')), 'session_expired');
    await managed(rig, 'POST /user/update', { user_id: 'ada', user_role: 'internal_user' });
    await settled(rig);
    t.equal(
      (await pages.get('ada')?.call('GET', '/chain'))?.status,
      403,
      'a role that is taken away is gone',
    );
  });
});

t.test('tries from one address are counted; waiting gives them back', async (t) => {
  const clock = new ManualClock();
  const rig = await startRig(t, { clock });
  const page = new PageClient(rig.url);
  for (let n = 0; n < 5; n += 1) t.equal(codeOf(await page.signIn(`sk-wrong-${n}`)), 'invalid_api_key');
  const refused = await page.signIn(KEY);
  t.equal(refused.status, 429);
  t.equal(codeOf(refused), 'too_many_sign_ins');
  t.equal(refused.headers['retry-after'], '12', 'also with the right key');
  clock.advance(12_000);
  t.equal((await page.signIn(KEY)).status, 200);
  for (let n = 0; n < 5; n += 1)
    t.equal(codeOf(await page.signIn('sk-wrong')), 'invalid_api_key', 'success forgets');
});
