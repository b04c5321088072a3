// Budgets from outside: nothing is let in that may cost more than is left, each budget refuses alone and charges nothing else,
// and what counters say is what the rows add up to, whatever happens to calls, windows, caps and the process.
import { setImmediate } from 'node:timers/promises';
import { tempDir } from '../proxy/spend/store/fixture/temp-dir.ts';
import t from 'tap';
import type { Test } from 'tap';
import { blankKey, blankTeam, blankUser } from '../../proxy/access/objects/blank.ts';
import { createHash } from 'node:crypto';
import {
  NO_BUDGET,
  NO_LIMITS,
  type AccessObject,
  type BudgetTerms,
  type VirtualKey,
} from '../../proxy/access/objects/objects.ts';
import { memberId, type Scope } from '../../proxy/access/budgets/scopes.ts';
import { openCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { chat, KEY, rowOf, send, startRig, type Answer, type Rig, type RigOptions } from '../support/rig.ts';

/** 1 USD per million tokens of input, 2 of output; `dear` ten times that. */
const config =
  (more = '', settings = '') =>
  (demo: { readonly url: string }): string => `
model_list:
  - model_name: demo
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
    model_info: { id: d-demo }
  - model_name: "demo-*"
    litellm_params: { model: "openai/acme/demo-*", api_base: "${demo.url}/compat/v1", api_key: k, on_disconnect: abort, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
  - model_name: free
    litellm_params: { model: openai/acme/no-such-model-anywhere, api_base: "${demo.url}/compat/v1", api_key: k }
  - model_name: two
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6, max_budget: 0.00001, budget_duration: 1d }
    model_info: { id: d-cheap, profile: small }
  - model_name: two
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
    model_info: { id: d-other }
${more}
general_settings:
  master_key: ${KEY}
${settings}`;

const sha = (key: string): string => createHash('sha256').update(key).digest('hex');
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const capped = (more: Partial<BudgetTerms>): BudgetTerms => ({ ...NO_BUDGET, ...more });
const keyOf = (key: string, more: Partial<VirtualKey> = {}): VirtualKey => ({
  ...blankKey(sha(key), key.slice(-4), 1),
  ...more,
});

function organizationOf(id: string, budget: BudgetTerms): AccessObject {
  const { metadata, kept, ...common } = blankUser(id, 1);
  const { origin, revision, createdMs, updatedMs, createdBy, updatedBy } = common;
  const all = { origin, revision, createdMs, updatedMs, createdBy, updatedBy, metadata, kept };
  return {
    kind: 'organization',
    members: [],
    id,
    alias: null,
    models: [],
    budgetId: null,
    budget,
    limits: NO_LIMITS,
    ...all,
  };
}

async function put(rig: Rig, ...objects: readonly AccessObject[]): Promise<void> {
  const { access } = rig.gateway.reloader.active.services;
  await access.change(
    objects.map((object) => ({ put: { ...object, revision: access.directory.get(object)?.revision ?? 0 } })),
  );
}

interface Refusal {
  readonly message: string;
  readonly type: string;
  readonly code: string;
}
const errorOf = ({ text }: Answer): Refusal => (JSON.parse(text) as { error: Refusal }).error;

const start = (t: Test, options: RigOptions = {}): Promise<Rig> =>
  startRig(t, { config: config(), ...options });

/** What counters say of a scope, and what the rows of the store add up to. */
async function agreed(t: Test, rig: Rig, scope: Scope, because: string): Promise<bigint> {
  const { budgets, spending } = rig.gateway.reloader.active.services;
  const [fromRows = 0n] = await spending.spentBy([scope]);
  for await (const { cap, state } of budgets.states())
    if (cap.scope.kind === scope.kind && cap.scope.id === scope.id && cap.model === null) {
      t.equal(state.spentPico, fromRows, `${because}: counter and rows`);
      t.equal(state.reservedPico, 0n, `${because}: nothing is held`);
    }
  return fromRows;
}

/** Settles when a call holds something of a scope. */
async function held(rig: Rig, scope: Scope): Promise<void> {
  for (;;) {
    for await (const { cap, state } of rig.gateway.reloader.active.services.budgets.states())
      if (cap.scope.id === scope.id && state.reservedPico > 0n) return;
    await setImmediate();
  }
}

const key = (value: string): Scope => ({ kind: 'key', id: sha(value) });

t.test('of a hundred calls at once as many get in as there is room for, and no more', async (t) => {
  const rig = await start(t);
  // A call may cost some 150 tokens of input at 1 USD and 10 of output at 2 USD a million.
  await put(rig, keyOf('sk-narrow', { budget: capped({ maxBudget: 0.0002 }) }));
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => chat(rig, 'demo', { max_tokens: 10 }, as('sk-narrow'))),
  );
  const served = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 422);
  t.equal(served.length + refused.length, 100);
  t.ok(served.length >= 1 && served.length < 20, `${served.length} were let in`);
  const spent = await agreed(t, rig, key('sk-narrow'), 'after all');
  t.ok(spent > 0n && spent <= 200_000_000n, `${spent} pico-dollars`);
  t.equal(rig.demo.seen.length, served.length, 'nothing else went upstream');
  const [first] = refused;
  if (first === undefined) return;
  t.match(errorOf(first), {
    type: 'budget_exceeded',
    code: 'budget_exceeded',
    message: /^Budget has been exceeded! Key=\(sk-\.\.\.rrow\) Current cost: [\d.]+, Max budget: 0\.0002\. /,
  });
  t.notMatch(first.text, /\b429\b|rate.?limit/i);
  t.equal(first.headers['retry-after'], undefined);
});

t.test('no length that a request states makes its reservation too small', async (t) => {
  const rig = await start(t);
  await put(rig, keyOf('sk-lengths', { budget: capped({ maxBudget: 0.001 }) }));
  const post = async (path: string, body: object): Promise<number> =>
    (await send(rig.url, 'POST', path, { model: 'demo', ...body }, as('sk-lengths'))).status;
  const messages = [{ role: 'user', content: 'x' }];
  for (const huge of [1e15, 1e18, 1e300]) {
    t.equal(await post('/v1/chat/completions', { messages, max_tokens: huge }), 422, `max_tokens ${huge}`);
    t.equal(await post('/v1/chat/completions', { messages, max_tokens: huge, n: huge }), 422, `n ${huge}`);
    t.equal(await post('/v1/completions', { prompt: 'x', max_tokens: 1, best_of: huge }), 422);
  }
  t.equal(await post('/v1/chat/completions', { messages, max_output_tokens: 1 }), 422, 'not read there');
  t.equal(await post('/v1/responses', { input: 'x', max_tokens: 1 }), 422, 'not read there');
  t.equal(await post('/v1/messages', { messages, max_completion_tokens: 1 }), 422, 'not read there');
  t.equal(await post('/v1/responses', { input: 'x', max_output_tokens: 1 }), 200);
});

t.test('a refusal says what is left, what the call may cost and which max_tokens fits', async (t) => {
  const rig = await start(t);
  await put(rig, keyOf('sk-helpful', { budget: capped({ maxBudget: 0.01, budgetDuration: '1d' }) }));
  const refused = await chat(rig, 'demo', { max_tokens: 100_000 }, as('sk-helpful'));
  const { message } = errorOf(refused);
  t.match(
    message,
    /This call may cost 0\.2\d+ USD, 0\.01 USD are left\. Lower max_tokens to (\d+)\. It begins anew at \d{4}-/,
  );
  const fitting = Number(/Lower max_tokens to (\d+)/.exec(message)?.[1]);
  t.equal((await chat(rig, 'demo', { max_tokens: fitting + 50 }, as('sk-helpful'))).status, 422);
  t.equal(
    (await chat(rig, 'demo', { max_tokens: fitting }, as('sk-helpful'))).status,
    200,
    `${fitting} tokens fit`,
  );
  const row = await rowOf(rig, refused);
  t.match(row, {
    end_reason: 'refused',
    spend: 0,
    metadata: { error_information: { error_class: 'budget_exceeded' } },
  });
});

t.test('every scope refuses by itself and leaves the others as they were', async (t) => {
  const rules = ['tag', 'model', 'profile', 'conversation', 'end_user'];
  const ids: Readonly<Record<string, string>> = {
    tag: 'dear',
    model: 'demo-x',
    profile: 'small',
    conversation: 'conv-1',
    end_user: 'eve',
  };
  const budgets = `budgets:\n${rules.map((scope) => `  - { scope: ${scope}, id: ${ids[scope]}, max_budget: 0.000001 }\n`).join('')}`;
  const rig = await start(t, { config: config(budgets) });
  const none = capped({ maxBudget: 0.000001 });
  await put(
    rig,
    keyOf('sk-capped', { budget: none }),
    keyOf('sk-team', { teamId: 'poor' }),
    keyOf('sk-user', { userId: 'poor' }),
    keyOf('sk-member', { teamId: 'rich', userId: 'kid' }),
    keyOf('sk-org', { organizationId: 'broke' }),
    keyOf('sk-model', {
      aliases: { fast: 'demo-yes' },
      budget: capped({ modelMaxBudget: { 'demo-y*': { maxBudget: 0.000001, budgetDuration: '1d' } } }),
    }),
    { ...blankTeam('poor', 1), budget: none },
    { ...blankUser('poor', 1), budget: none },
    organizationOf('broke', none),
    {
      ...blankTeam('rich', 1),
      members: [{ userId: 'kid', role: 'user', budgetId: null, budget: none, limits: NO_LIMITS }],
    },
  );
  const cases: readonly (readonly [
    name: RegExp,
    model: string,
    more: object,
    headers: Record<string, string>,
  ])[] = [
    [/Key=/, 'demo', {}, as('sk-capped')],
    [/Team=poor /, 'demo', {}, as('sk-team')],
    [/ExceededBudget: User=poor over budget/, 'demo', {}, as('sk-user')],
    [/TeamMember=kid:rich /, 'demo', {}, as('sk-member')],
    [/Organization=broke /, 'demo', {}, as('sk-org')],
    [/exceeded budget for model=demo-y\*/, 'demo-yes', {}, as('sk-model')],
    [/exceeded budget for model=demo-y\*/, 'fast', {}, as('sk-model')],
    [/Tag=dear /, 'demo', { metadata: { tags: ['dear'] } }, {}],
    [/Model=demo-x /, 'demo-x', {}, {}],
    [/Conversation=conv-1 /, 'demo', {}, { 'x-litellm-session-id': 'conv-1' }],
    [/ExceededBudget: EndUser=eve over budget/, 'demo', { user: 'eve' }, {}],
  ];
  for (const [name, model, more, headers] of cases) {
    const answer = await chat(rig, model, { max_tokens: 5, ...more }, headers);
    t.equal(answer.status, 422, `${name}: ${answer.text}`);
    t.match(errorOf(answer).message, name);
  }
  t.equal((await chat(rig, 'demo', { max_tokens: 5 })).status, 200, 'nobody else is hindered');
  t.equal(
    (await chat(rig, 'demo', { max_tokens: 5 }, as('sk-model'))).status,
    200,
    'other models of the key',
  );
  for await (const { cap, state } of rig.gateway.reloader.active.services.budgets.states())
    t.same([state.spentPico, state.reservedPico], [0n, 0n], cap.counter);
  t.equal(
    (await send(rig.url, 'GET', '/v1/models', undefined, as('sk-capped'))).status,
    200,
    'listings are free',
  );
});

t.test('a team of the platform with a budget of 0 may call what costs nothing, a key may not', async (t) => {
  const rig = await start(t);
  await put(
    rig,
    keyOf('sk-of-team', { teamId: 'new' }),
    { ...blankTeam('new', 1), budget: capped({ maxBudget: 0 }) },
    keyOf('sk-zero', { budget: capped({ maxBudget: 0 }) }),
    keyOf('sk-endless', { budget: capped({ maxBudget: 1_000_000_000 }) }),
  );
  const free = await chat(rig, 'free', {}, as('sk-of-team'));
  t.equal(free.status, 200, free.text);
  t.match((await rowOf(rig, free))['metadata'], {
    warnings: [/its budgets reserved nothing for it: no price is known/],
  });
  t.equal((await chat(rig, 'demo', {}, as('sk-of-team'))).status, 422);
  t.equal((await chat(rig, 'free', {}, as('sk-zero'))).status, 422);
  t.equal((await chat(rig, 'demo', {}, as('sk-endless'))).status, 200);
});

t.test('a deployment whose budget has no room gets no call, its neighbour does', async (t) => {
  const rig = await start(t);
  for (let i = 0; i < 6; i += 1) {
    const answer = await chat(rig, 'two', { max_tokens: 5 });
    t.equal(answer.status, 200, answer.text);
    t.equal(answer.headers['x-litellm-model-id'], 'd-other');
  }
});

t.test('whatever the end of a call is, it counts what its row says, once', async (t) => {
  const rig = await start(t);
  await put(rig, keyOf('sk-any', { budget: capped({ maxBudget: 10 }), teamId: 'all' }), {
    ...blankTeam('all', 1),
    budget: capped({ maxBudget: 10, budgetDuration: '30d' }),
  });
  const headers = as('sk-any');
  for (const model of ['demo', 'demo-no-usage', 'demo-cached', 'demo-500', 'demo-cut', 'demo-404', 'nothing'])
    for (const stream of [false, true]) await chat(rig, model, { stream, max_tokens: 20 }, headers);
  const ended = (model: string): Promise<unknown> =>
    rig.logged((line) => line['model'] === model && line['end'] === 'client_gone');
  const said = { stream: true, max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
  const late = openCall(rig.url, '/v1/chat/completions', { model: 'demo-stall', ...said }, headers);
  await late.received('data:');
  late.leave();
  await ended('demo-stall');
  const early = openCall(rig.url, '/v1/chat/completions', { model: 'demo-hold', ...said }, headers);
  await held(rig, key('sk-any'));
  early.leave();
  await ended('demo-hold');
  t.ok((await agreed(t, rig, key('sk-any'), 'key')) > 0n);
  t.equal(
    await agreed(t, rig, { kind: 'team', id: 'all' }, 'team'),
    await agreed(t, rig, key('sk-any'), 'key'),
  );
});

t.test('a cap that nobody can reach is none', async (t) => {
  const rig = await start(t);
  for (const maxBudget of [1e30, 1e300]) {
    await put(rig, keyOf(`sk-${maxBudget}`, { budget: capped({ maxBudget }) }));
    t.equal((await chat(rig, 'demo', { max_tokens: 5 }, as(`sk-${maxBudget}`))).status, 200, `${maxBudget}`);
  }
});

t.test('a client that leaves before the answer has spent its prompt', async (t) => {
  const rig = await start(t);
  await put(rig, keyOf('sk-leaving', { budget: capped({ maxBudget: 0.001 }) }));
  let before = 0n;
  for (const [model, stream] of [['demo-hold', true] as const, ['demo-hold-x', false] as const]) {
    const said = { model, stream, max_tokens: 5, messages: [{ role: 'user', content: 'x' }] };
    const call = openCall(rig.url, '/v1/chat/completions', said, as('sk-leaving'));
    await rig.demo.waitFor(stream ? 1 : 2);
    call.leave();
    await rig.logged((line) => line['model'] === model && line['end'] === 'client_gone');
    const after = await agreed(t, rig, key('sk-leaving'), model);
    t.ok(after > before, 'the prompt counts');
    t.ok(after < before + 200_000_000n, 'and no more');
    before = after;
  }
});

t.test('a budget begins anew with its window, and a call counts for the window it began in', async (t) => {
  const clock = new ManualClock(Date.parse('2026-03-10T23:59:50Z'));
  const rig = await start(t, { clock });
  await put(rig, keyOf('sk-daily', { budget: capped({ maxBudget: 0.0001, budgetDuration: '1d' }) }));
  const headers = as('sk-daily');
  const call = (): Promise<Answer> => chat(rig, 'demo', { max_tokens: 10 }, headers);
  openCall(
    rig.url,
    '/v1/chat/completions',
    { model: 'demo-hold', stream: true, max_tokens: 10, messages: [{ role: 'user', content: 'x' }] },
    headers,
  );
  await held(rig, key('sk-daily'));
  t.equal((await call()).status, 422, 'the call under way holds the rest');
  clock.advance(20_000);
  t.equal((await call()).status, 200, 'the next day');
  const spent = (await rig.gateway.reloader.active.services.spending.spentBy([key('sk-daily')]))[0] ?? 0n;
  rig.demo.release();
  await rig.logged((line) => line['model'] === 'demo-hold' && line['end'] !== undefined);
  t.equal(await agreed(t, rig, key('sk-daily'), 'the new window'), spent, 'the old call is of yesterday');
});

t.test('caps that are raised, lowered and increased for a while hold at once', async (t) => {
  const clock = new ManualClock();
  const rig = await start(t, { clock });
  const headers = as('sk-moving');
  const cap = (more: Partial<BudgetTerms>): Promise<void> =>
    put(rig, keyOf('sk-moving', { budget: capped(more) }));
  const call = async (): Promise<number> => (await chat(rig, 'demo', { max_tokens: 10 }, headers)).status;
  await cap({ maxBudget: 0.0000001 });
  t.equal(await call(), 422);
  await cap({ maxBudget: 1 });
  t.equal(await call(), 200);
  await cap({ maxBudget: 0.0000001, temporaryIncrease: { usd: 1, untilMs: clock.now() + 1_000 } });
  t.equal(await call(), 200);
  clock.advance(1_000);
  t.equal(await call(), 422);
  await cap({});
  t.equal(await call(), 200, 'no budget');
  const spent = await agreed(t, rig, key('sk-moving'), 'counted all the time');
  await cap({ maxBudget: 1, countFrom: { atMs: clock.now() + 1, usd: 0.5 } });
  clock.advance(1);
  t.equal(
    (await rig.gateway.reloader.active.services.spending.spentBy([key('sk-moving')]))[0],
    500_000_000_000n,
    `not ${spent}`,
  );
  t.equal(await call(), 200);
});

t.test('what calls under way hold counts for another value of their key, too', async (t) => {
  const rig = await start(t);
  const value = 'sk-renewed-while-it-runs';
  await put(rig, keyOf(value, { budget: capped({ maxBudget: 0.0001 }) })); // for one call at a time
  const running = chat(rig, 'demo-hold', { stream: true, max_tokens: 10 }, as(value));
  await held(rig, key(value));
  const renewed = await send(rig.url, 'POST', '/key/regenerate', { key: value });
  t.equal(renewed.status, 200, renewed.text);
  const { key: other } = JSON.parse(renewed.text) as { readonly key: string };
  t.equal((await chat(rig, 'demo', { max_tokens: 10 }, as(other))).status, 422);
  rig.demo.release();
  const row = await rowOf(rig, await running);
  t.ok(Number(row['spend']) > 0);
  t.equal(Number(await agreed(t, rig, key(other), 'after it')) / 1e12, Number(row['spend']));
  t.equal((await chat(rig, 'demo', { max_tokens: 1 }, as(other))).status, 200);
  await agreed(t, rig, key(other), 'after another call');
});

t.test('a restart goes on with what was spent, also by calls that had no end', async (t) => {
  const first = await start(t, { folder: tempDir(t) });
  const terms = capped({ maxBudget: 0.01, budgetDuration: '30d' });
  await put(first, keyOf('sk-lasting', { budget: terms }));
  for (let i = 0; i < 3; i += 1)
    t.equal((await chat(first, 'demo', { max_tokens: 10 }, as('sk-lasting'))).status, 200);
  const spent = await agreed(t, first, key('sk-lasting'), 'before');
  await first.stop();
  const second = await start(t, { folder: first.folder });
  t.equal(await agreed(t, second, key('sk-lasting'), 'after the start'), spent);
  t.equal((await chat(second, 'demo', { max_tokens: 10 }, as('sk-lasting'))).status, 200);
  t.ok((await agreed(t, second, key('sk-lasting'), 'after a call')) > spent);
});

t.test('soft budgets and used up budgets are told once in their window', async (t) => {
  const rig = await start(t, {
    config: config('budgets:\n  - { scope: proxy, soft_budget: 0.000001, budget_duration: 1d }\n'),
  });
  for (let i = 0; i < 3; i += 1) t.equal((await chat(rig, 'demo', { max_tokens: 5 })).status, 200);
  await rig.logged((line) => line['event'] === 'soft_budget');
  const told = rig.log.filter((line) => line['event'] === 'soft_budget');
  t.equal(told.length, 1);
  t.match(told[0], { scope: 'proxy', budget: '1d', limit_usd: '0.000001' });
});

t.test('the status of refusals is the configuration to say, and reservations may be off', async (t) => {
  const rig = await start(t, {
    config: config(
      'litellm_settings: { budget_exceeded_status_code: 400, max_budget: 0.00001 }',
      '  budget_reservation: off\n',
    ),
  });
  t.equal((await chat(rig, 'demo', { max_tokens: 100_000 })).status, 200, 'something is left');
  const refused = await chat(rig, 'demo');
  t.equal(refused.status, 400, refused.text);
  t.match(
    errorOf(refused).message,
    /^Budget has been exceeded! Current cost: [\d.]+, Max budget: 0\.00001\. Nothing is left\.$/,
  );
});

t.test(
  'while the store does not answer, calls with a budget that is not known wait for it, others go on',
  async (t) => {
    const rig = await start(t, {
      config: config('', '  database_url: "postgres://user:secret@127.0.0.1:1/db"\n'),
    });
    await rig.reconfigure(
      config(
        'litellm_settings: { tag_budget_config: { capped: { max_budget: 1 } } }',
        '  database_url: "postgres://user:secret@127.0.0.1:1/db"\n',
      )(rig.demo),
    );
    t.equal((await chat(rig, 'demo', { max_tokens: 5 })).status, 200, 'no budget');
    const refused = await chat(rig, 'demo', { max_tokens: 5, metadata: { tags: ['capped'] } });
    t.equal(refused.status, 503);
    t.equal(refused.headers['retry-after'], '5');
    t.match(errorOf(refused), { code: 'budget_unverified', message: /^Budget enforcement unavailable: / });
    await rig.reconfigure(
      config(
        'litellm_settings: { tag_budget_config: { capped: { max_budget: 1 } } }',
        '  database_url: "postgres://user:secret@127.0.0.1:1/db"\n  allow_requests_on_db_unavailable: true\n',
      )(rig.demo),
    );
    t.equal((await chat(rig, 'demo', { max_tokens: 5, metadata: { tags: ['capped'] } })).status, 200);
    await rig.logged(({ msg }) => String(msg).includes('allow_requests_on_db_unavailable'));
  },
);

t.test('a call that is served although its budget is not known keeps its limits', async (t) => {
  const database =
    '  database_url: "postgres://user:secret@127.0.0.1:1/db"\n  allow_requests_on_db_unavailable: true\n';
  const rig = await start(t, { config: config('', database) });
  const limited = `keys: [{ key_alias: limited, hash: ${sha('sk-limited')}, max_budget: 1, rpm_limit: 2 }]`;
  await rig.reconfigure(config(limited, database)(rig.demo));
  const call = (): Promise<Answer> => chat(rig, 'demo', { max_tokens: 5 }, as('sk-limited'));
  t.match(await call(), { status: 200, headers: { 'x-ratelimit-remaining-requests': '1' } });
  t.match(await call(), { status: 200, headers: { 'x-ratelimit-remaining-requests': '0' } });
  t.match(errorOf(await call()), { code: 'rate_limit_exceeded' });
});

t.test('members of a team are told apart', (t) => {
  t.not(memberId('a', 'b/c'), memberId('a/b', 'c'));
  t.end();
});
