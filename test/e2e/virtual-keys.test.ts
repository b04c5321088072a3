// Virtual keys on calls and listings, from outside: which of them get in, what they may call, what their rows say.
import { hash } from 'node:crypto';
import t from 'tap';
import type { Test } from 'tap';
import { blankKey, blankTeam, blankUser } from '../../proxy/access/objects/blank.ts';
import type { AccessObject, Team, User, VirtualKey } from '../../proxy/access/objects/objects.ts';
import { ManualClock } from '../support/clock.ts';
import { chat, defaultConfig, KEY, rowOf, send, startRig, type Answer, type Rig } from '../support/rig.ts';

const sha = (key: string): string => hash('sha256', key, 'hex');
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const keyOf = (value: string, more: Partial<VirtualKey> = {}): VirtualKey => ({
  ...blankKey(sha(value), value.slice(-4), 1),
  ...more,
});
const teamOf = (id: string, more: Partial<Team> = {}): Team => ({ ...blankTeam(id, 1), ...more });
const userOf = (id: string, more: Partial<User> = {}): User => ({ ...blankUser(id, 1), ...more });

const put = (rig: Rig, ...objects: readonly AccessObject[]): Promise<void> =>
  rig.gateway.reloader.active.services.access.change(objects.map((object) => ({ put: object })));

const current = (rig: Rig, value: string): VirtualKey => {
  const key = rig.gateway.reloader.active.services.access.directory.key(sha(value));
  if (key === null) throw new Error('no such key');
  return key;
};

interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
}
const errorOf = ({ text }: Answer): ErrorBody => (JSON.parse(text) as { error: ErrorBody }).error;
const namesOf = ({ text }: Answer): string[] =>
  (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id);
const list = (rig: Rig, key: string, query = ''): Promise<Answer> =>
  send(rig.url, 'GET', `/v1/models${query}`, undefined, as(key));

const start = (t: Test, more = '', models = ''): Promise<Rig> =>
  startRig(t, {
    config: (demo) =>
      defaultConfig(demo, more).replace(
        'general_settings:',
        `${models.replaceAll('$URL', demo.url)}general_settings:`,
      ),
  });

t.test('a virtual key gets in by every credential header, in the order of the dialect', async (t) => {
  const rig = await start(t);
  await put(rig, keyOf('sk-virtual-key-1'));
  for (const name of [
    'x-litellm-api-key',
    'authorization',
    'API-Key',
    'x-api-key',
    'x-goog-api-key',
    'Ocp-Apim-Subscription-Key',
  ]) {
    const headers = {
      authorization: '',
      [name]: name === 'authorization' ? 'Bearer sk-virtual-key-1' : 'sk-virtual-key-1',
    };
    t.equal((await send(rig.url, 'GET', '/v1/models', undefined, headers)).status, 200, name);
    t.equal((await chat(rig, 'demo', {}, headers)).status, 200, name);
  }
  const two = { authorization: 'Bearer sk-wrong', 'x-litellm-api-key': 'Bearer sk-virtual-key-1' };
  t.equal((await chat(rig, 'demo', {}, two)).status, 200, 'the first of the order counts');
  const other = { authorization: 'Bearer sk-virtual-key-1', 'x-litellm-api-key': 'sk-wrong' };
  t.equal((await chat(rig, 'demo', {}, other)).status, 401);
  for (const twisted of ['SK-VIRTUAL-KEY-1', 'sk-virtual-key-', 'sk-virtual-key-12', sha('sk-virtual-key-1')])
    t.equal((await chat(rig, 'demo', {}, as(twisted))).status, 401, twisted);
  t.notMatch(JSON.stringify(rig.demo.seen), /sk-virtual-key/, 'it does not go upstream');
});

t.test(
  'unknown, blocked and expired keys get 401 on calls and listings alike, and no text holds a key',
  async (t) => {
    const clock = new ManualClock();
    const rig = await startRig(t, { clock });
    const soon = clock.now() + 1_000;
    await put(
      rig,
      keyOf('sk-blocked-key', { blocked: true }),
      keyOf('sk-expiring-key', { expiresMs: soon }),
      keyOf('sk-team-key', { teamId: 'closed' }),
      teamOf('closed', { blocked: true }),
    );
    t.equal((await list(rig, 'sk-expiring-key')).status, 200, 'to the second before');
    clock.advance(1_000);
    const cases = [
      ['sk-unknown-key', 'invalid_api_key', 'auth_error', /Invalid proxy server token passed/],
      ['sk-blocked-key', 'key_blocked', 'auth_error', /Key is blocked\. Update via `\/key\/unblock`/],
      ['sk-expiring-key', 'key_expired', 'expired_key', /Expired Key\. Key Expiry time .* and current time/],
      ['sk-team-key', 'team_blocked', 'auth_error', /Team=closed is blocked/],
    ] as const;
    for (const [key, code, type, message] of cases) {
      for (const answer of [
        await list(rig, key),
        await send(rig.url, 'GET', '/v1/models/demo', undefined, as(key)),
        await send(rig.url, 'GET', '/model/info', undefined, as(key)),
        await chat(rig, 'demo', {}, as(key)),
        await send(rig.url, 'GET', '/spend/logs', undefined, as(key)),
      ]) {
        t.equal(answer.status, 401, key);
        t.match(errorOf(answer), { code, type, message });
        t.notMatch(answer.text, new RegExp(key), 'the answer does not show it');
      }
    }
    t.equal(rig.demo.seen.length, 0);
    t.notMatch(JSON.stringify([rig.log, await rig.rows()]), /sk-(?:unknown|blocked|expiring|team)-key/);
    const { id } = current(rig, 'sk-blocked-key');
    await put(rig, { ...current(rig, 'sk-blocked-key'), blocked: false });
    t.equal((await list(rig, 'sk-blocked-key')).status, 200, id);
  },
);

t.test('a regenerated key is known by its old value until its grace is over', async (t) => {
  const clock = new ManualClock();
  const rig = await startRig(t, { clock });
  const untilMs = clock.now() + 60_000;
  await put(rig, keyOf('sk-new-value', { alias: 'mine', former: [{ id: sha('sk-old-value'), untilMs }] }));
  const old = await chat(rig, 'demo', {}, as('sk-old-value'));
  t.equal(old.status, 200);
  t.match(await rowOf(rig, old), { api_key: sha('sk-new-value'), metadata: { user_api_key_alias: 'mine' } });
  clock.advance(60_000);
  t.equal((await chat(rig, 'demo', {}, as('sk-old-value'))).status, 401);
  t.equal((await chat(rig, 'demo', {}, as('sk-new-value'))).status, 200);
});

t.test('the master key and configured keys work whatever objects there are', async (t) => {
  const rig = await start(t, '  inference_keys: [sk-agent-key]\n');
  await put(rig, keyOf(KEY, { blocked: true }), keyOf('sk-agent-key', { blocked: true }));
  t.equal((await send(rig.url, 'GET', '/spend/logs')).status, 200);
  t.equal((await list(rig, 'sk-agent-key')).status, 200);
});

t.test('what a key opens, by its type, its routes and the role of its user', async (t) => {
  const rig = await start(t);
  await put(
    rig,
    keyOf('sk-default'),
    keyOf('sk-llm', { type: 'llm_api' }),
    keyOf('sk-management', { type: 'management' }),
    keyOf('sk-read-only', { type: 'read_only' }),
    keyOf('sk-chat', { allowedRoutes: ['/chat/completions'] }),
    keyOf('sk-v1', { allowedRoutes: ['/v1/chat/*'] }),
    keyOf('sk-group', { allowedRoutes: ['llm_api_routes'] }),
    keyOf('sk-nothing', { allowedRoutes: ['no_such_routes'] }),
    userOf('root', { role: 'proxy_admin' }),
    userOf('eye', { role: 'proxy_admin_viewer' }),
    userOf('plain'),
    keyOf('sk-root', { userId: 'root' }),
    keyOf('sk-root-llm', { userId: 'root', type: 'llm_api' }),
    keyOf('sk-root-reads', { userId: 'root', type: 'read_only' }),
    keyOf('sk-eye', { userId: 'eye' }),
    keyOf('sk-eye-llm', { userId: 'eye', type: 'llm_api' }),
    keyOf('sk-plain', { userId: 'plain' }),
  );
  const status = async (key: string): Promise<readonly number[]> => [
    (await chat(rig, 'demo', {}, as(key))).status,
    (await send(rig.url, 'POST', '/v1/v1/chat/completions', { model: 'demo', messages: [] }, as(key))).status,
    (await send(rig.url, 'POST', '/v1/embeddings', { model: 'demo', input: 'a' }, as(key))).status,
    (await list(rig, key)).status,
    (await send(rig.url, 'GET', '/spend/logs', undefined, as(key))).status,
    (await send(rig.url, 'POST', '/spend/calculate', { model: 'demo', messages: [] }, as(key))).status,
  ];
  const admin = await status(KEY);
  const [call, plain, embed, listing, read] = admin;
  t.notOk(
    [401, 403, 404].some((one) => admin.includes(one)),
    admin.join(),
  );
  for (const [key, expected] of [
    ['sk-default', [call, plain, embed, listing, 403, 403]],
    ['sk-llm', [call, plain, embed, listing, 403, 403]],
    ['sk-management', [403, 403, 403, listing, 403, 403]],
    ['sk-read-only', [403, 403, 403, listing, 403, 403]],
    ['sk-chat', [call, plain, 403, 403, 403, 403]],
    ['sk-v1', [call, plain, 403, 403, 403, 403]],
    ['sk-group', [call, plain, embed, listing, 403, 403]],
    ['sk-nothing', [403, 403, 403, 403, 403, 403]],
    ['sk-root', admin],
    ['sk-root-llm', [call, plain, embed, listing, 403, 403]],
    ['sk-root-reads', [403, 403, 403, listing, read, 403]],
    ['sk-eye', [call, plain, embed, listing, read, 403]],
    ['sk-eye-llm', [call, plain, embed, listing, 403, 403]],
    ['sk-plain', [call, plain, embed, listing, 403, 403]],
  ] as const) {
    const got = await status(key);
    t.same(got, expected, key);
  }
  t.match(errorOf(await chat(rig, 'demo', {}, as('sk-nothing'))), {
    code: 'route_denied',
    message: /Only allowed to call routes: \[no_such_routes\]\. Tried to call route: \/v1\/chat\/completions/,
  });
});

const GROUPS = `
  - model_name: cheap-1
    litellm_params: { model: litellm_proxy/demo, api_base: "$URL", api_key: sk-upstream-secret }
    model_info: { access_groups: [cheap] }
  - model_name: "wild/*"
    litellm_params: { model: "litellm_proxy/demo", api_base: "$URL", api_key: sk-upstream-secret }
    model_info: { access_groups: [wilds] }
`;

t.test('a key calls and lists what its lists allow: names, patterns, groups, words', async (t) => {
  const rig = await start(t, '', GROUPS);
  const nothing = 'no-default-models';
  const all = namesOf(await list(rig, KEY));
  const cases: readonly (readonly [
    Partial<VirtualKey>,
    readonly string[],
    readonly string[],
    readonly string[],
  ])[] = [
    [{}, ['demo', 'compat', 'cheap-1', 'wild/x'], [], all],
    [{ models: ['demo'] }, ['demo'], ['compat', 'Demo', 'demo-fast', 'demo '], ['demo']],
    [{ models: ['demo*'] }, ['demo', 'demo-fast'], ['compat'], ['demo', 'demo-*']],
    [{ models: ['cheap'] }, ['cheap-1'], ['demo', 'wilds'], ['cheap-1']],
    [{ models: ['wilds'] }, ['wild/x'], ['demo', 'wild'], ['wild/*']],
    [{ models: ['wild/x'] }, ['wild/x'], ['wild/y', 'wild/*'], ['wild/x']],
    [{ models: ['kept'] }, ['compat'], ['demo'], ['compat']],
    [{ models: ['all-proxy-models'] }, ['demo', 'wild/x'], [], all],
    [{ models: [nothing] }, [], ['demo', nothing], []],
    [{ teamId: 'small' }, ['demo'], ['compat'], ['demo']],
    [{ teamId: 'small', models: ['all-team-models'] }, ['demo'], ['compat'], ['demo']],
    [{ teamId: 'small', models: ['compat'] }, [], ['compat', 'demo'], []],
    [{ userId: 'u' }, ['compat'], ['demo'], ['compat']],
    [{ userId: 'u', teamId: 'open' }, ['demo', 'compat'], [], all],
    [{ models: ['*'] }, ['demo', 'wild/x'], [], all],
  ];
  await put(
    rig,
    teamOf('small', { models: ['demo'] }),
    teamOf('open'),
    userOf('u', { models: ['compat'] }),
    { ...blankTeam('kept', 1), kind: 'access_group', models: ['compat'] } as unknown as AccessObject,
    ...cases.map(([more], i) => keyOf(`sk-case-${i}`, more)),
  );
  for (const [i, [more, allowed, denied, listed]] of cases.entries()) {
    const key = `sk-case-${i}`;
    const name = JSON.stringify(more);
    for (const model of allowed)
      t.equal((await chat(rig, model, {}, as(key))).status, 200, `${name} ${model}`);
    for (const model of denied) {
      const answer = await chat(rig, model, {}, as(key));
      t.equal(answer.status, 403, `${name} ${model}`);
      t.match(errorOf(answer), {
        param: 'model',
        type: /^(?:key|team|user)_model_access_denied$/,
        message: /not allowed to access model\. This (?:key|team|user) can only access models=\[/,
      });
      t.equal(
        (await send(rig.url, 'GET', `/v1/models/${encodeURIComponent(model)}`, undefined, as(key))).status,
        404,
      );
    }
    t.same(namesOf(await list(rig, key)).toSorted(), listed.toSorted(), name);
    for (const model of listed.filter((one) => !one.includes('*')))
      t.equal(
        (await send(rig.url, 'GET', `/v1/models/${encodeURIComponent(model)}`, undefined, as(key))).status,
        200,
      );
  }
  const info = await send(rig.url, 'GET', '/model/info', undefined, as('sk-case-1'));
  t.same(
    (JSON.parse(info.text) as { data: { model_name: string }[] }).data.map((one) => one.model_name),
    ['demo'],
  );
  t.same(namesOf(await list(rig, 'sk-case-3', '?only_model_access_groups=true')), ['cheap']);
  t.same(namesOf(await list(rig, 'sk-case-3', '?include_model_access_groups=True')), ['cheap-1', 'cheap']);
  t.same(namesOf(await list(rig, KEY, '?only_model_access_groups=true')).toSorted(), [
    'cheap',
    'kept',
    'wilds',
  ]);
});

t.test('a change of a key, a team or a group counts for the next call', async (t) => {
  const rig = await start(t);
  const group = (models: readonly string[], revision: number): AccessObject =>
    ({ ...blankTeam('g', 1), kind: 'access_group', models, revision }) as unknown as AccessObject;
  await put(rig, keyOf('sk-changing', { models: ['g'] }), group(['demo'], 0));
  t.equal((await chat(rig, 'compat', {}, as('sk-changing'))).status, 403);
  t.same(namesOf(await list(rig, 'sk-changing')), ['demo']);
  await put(rig, group(['compat'], 1));
  t.equal((await chat(rig, 'compat', {}, as('sk-changing'))).status, 200);
  t.same(namesOf(await list(rig, 'sk-changing')), ['compat']);
  await put(rig, { ...current(rig, 'sk-changing'), models: ['demo'] });
  t.equal((await chat(rig, 'compat', {}, as('sk-changing'))).status, 403);
  const { kind, id, revision } = current(rig, 'sk-changing');
  await rig.gateway.reloader.active.services.access.change([{ remove: { kind, id, revision } }]);
  t.equal((await chat(rig, 'demo', {}, as('sk-changing'))).status, 401);
});

t.test(
  'a key and a team call models by names of their own; the row has the one that is served',
  async (t) => {
    const rig = await start(t);
    await put(
      rig,
      teamOf('acme', { models: ['demo'], modelAliases: { 'gpt-x': 'demo' } }),
      keyOf('sk-aliases', { models: ['mine'], aliases: { mine: 'compat' } }),
      keyOf('sk-team', { teamId: 'acme', models: ['demo'] }),
    );
    const own = await chat(rig, 'mine', {}, as('sk-aliases'));
    t.equal(own.status, 200);
    t.match(await rowOf(rig, own), { model_group: 'compat' });
    t.equal(
      (await chat(rig, 'compat', {}, as('sk-aliases'))).status,
      403,
      'the target alone is not in its list',
    );
    const team = await chat(rig, 'gpt-x', {}, as('sk-team'));
    t.equal(team.status, 200, 'a key that allows the target may use its alias');
    t.match(await rowOf(rig, team), { model_group: 'demo', team_id: 'acme' });
    t.same(namesOf(await list(rig, 'sk-team')), ['demo', 'gpt-x']);
    for (const name of ['__proto__', 'constructor', 'toString'])
      t.equal((await chat(rig, name, {}, as('sk-aliases'))).status, 403, name);
  },
);

t.test('a fallback that the key may not call is not used', async (t) => {
  const rig = await start(
    t,
    'router_settings: { fallbacks: [{ broken: [compat, demo] }], num_retries: 0 }\n',
    `
  - model_name: broken
    litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:9", api_key: sk-upstream-secret }
`,
  );
  await put(rig, keyOf('sk-both', { models: ['broken', 'demo'] }), keyOf('sk-one', { models: ['broken'] }));
  const both = await chat(rig, 'broken', {}, as('sk-both'));
  t.equal(both.status, 200);
  t.match(await rowOf(rig, both), { model: 'demo' });
  t.equal((await chat(rig, 'broken', {}, as('sk-one'))).status, 503);
  t.equal(rig.demo.seen.length, 1);
});

t.test(
  'rows say whose a key is; the deployment says it where a key does not, its tags come before the call’s',
  async (t) => {
    const rig = await start(
      t,
      '',
      `
  - model_name: attributed
    litellm_params: { model: litellm_proxy/demo, api_base: "$URL", api_key: sk-upstream-secret }
    model_info: { team_id: acme, user_id: nobody, tags: [deployed] }
  - model_name: anybodys
    litellm_params: { model: litellm_proxy/demo, api_base: "$URL", api_key: sk-upstream-secret }
    model_info: { user_id: of-deployment }
`,
    );
    await put(
      rig,
      teamOf('acme', { tags: ['team-tag'] }),
      userOf('ann'),
      keyOf('sk-owned', { alias: 'ann, laptop', teamId: 'acme', userId: 'ann', tags: ['key-tag'] }),
      keyOf('sk-free', {}),
    );
    const call = await chat(rig, 'attributed', { metadata: { tags: ['asked'] } }, as('sk-owned'));
    t.match(await rowOf(rig, call), {
      api_key: sha('sk-owned'),
      team_id: 'acme',
      user: 'ann',
      metadata: { user_api_key_alias: 'ann, laptop' },
    });
    const tags = (await rowOf(rig, call))['request_tags'];
    t.same(typeof tags === 'string' ? JSON.parse(tags) : tags, ['deployed', 'key-tag', 'team-tag', 'asked']);
    t.match(await rowOf(rig, await chat(rig, 'anybodys', {}, as('sk-free'))), {
      team_id: null,
      user: 'of-deployment',
    });
    t.match(
      await rowOf(rig, await chat(rig, 'attributed')),
      { team_id: 'acme', user: 'nobody' },
      'of the master key',
    );
    const refused = await chat(rig, 'nothing-like-it', {}, as('sk-owned'));
    t.match(await rowOf(rig, refused), { team_id: 'acme', http_status: 404 }, 'refusals, too');
  },
);

t.test('a customer that is blocked is refused, whoever calls', async (t) => {
  const rig = await start(t);
  const customer = {
    ...blankUser('mallory', 1),
    kind: 'customer',
    blocked: true,
  } as unknown as AccessObject;
  await put(rig, customer, keyOf('sk-any'));
  for (const key of [KEY, 'sk-any']) {
    const answer = await chat(rig, 'demo', { user: 'mallory' }, as(key));
    t.match({ status: answer.status, code: errorOf(answer).code }, { status: 400, code: 'blocked_end_user' });
    t.equal((await chat(rig, 'demo', { user: 'alice' }, as(key))).status, 200);
  }
});
