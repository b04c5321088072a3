// Limits from outside: requests, tokens and calls at a time of keys, teams and users; what a refused client is told, and that a
// refusal costs nothing elsewhere.
import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import { blankKey, blankTeam } from '../../proxy/access/objects/blank.ts';
import {
  NO_LIMITS,
  type AccessObject,
  type LimitTerms,
  type VirtualKey,
} from '../../proxy/access/objects/objects.ts';
import { openCall, type OpenCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { ownValkey } from '../support/valkey.ts';
import {
  chat,
  defaultConfig,
  send,
  startRig,
  type Answer,
  type Rig,
  type RigOptions,
} from '../support/rig.ts';

const sha = (key: string): string => createHash('sha256').update(key).digest('hex');
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const limits = (terms: Partial<LimitTerms>): LimitTerms => ({ ...NO_LIMITS, ...terms });
const keyOf = (key: string, more: Partial<VirtualKey>): VirtualKey => ({
  ...blankKey(sha(key), key.slice(-4), 1),
  ...more,
});

async function start(t: Test, objects: readonly AccessObject[], options: RigOptions = {}): Promise<Rig> {
  const rig = await startRig(t, options);
  await rig.gateway.reloader.active.services.access.change(objects.map((put) => ({ put })));
  return rig;
}

const errorOf = ({ text }: Answer): Record<string, unknown> =>
  (JSON.parse(text) as { error: Record<string, unknown> }).error;
const body = (model: string): object => ({
  model,
  stream: true,
  messages: [{ role: 'user', content: 'one two three' }],
});

/** A call that is answered for as long as the test wants. */
async function hold(rig: Rig, key: string): Promise<OpenCall> {
  const call = openCall(rig.url, '/v1/chat/completions', body('demo-stall'), as(key));
  await call.received('data:');
  return call;
}
const upstreamCalls = (rig: Rig): number => rig.demo.seen.length;

t.test('the call over a limit is refused with the text of the dialect and a true time to wait', async (t) => {
  const clock = new ManualClock(Date.UTC(2026, 10, 22, 10, 0, 0));
  const rig = await start(t, [keyOf('sk-two', { limits: limits({ rpm: 2, tpm: 60_000 }) })], { clock });
  const stated = (headers: Answer['headers']): readonly string[] =>
    Object.keys(headers)
      .filter((name) => /^x-(?:ratelimit|litellm-key)-/.test(name))
      .toSorted();
  let names: readonly string[] = [];
  for (const left of ['1', '0']) {
    const { status, headers } = await chat(rig, 'demo', {}, as('sk-two'));
    t.equal(status, 200);
    names = stated(headers);
    t.match(headers, {
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': left,
      'x-ratelimit-api_key-remaining-requests': left,
      'x-litellm-key-rpm-limit': '2',
    });
  }
  const refused = await chat(rig, 'demo', {}, as('sk-two'));
  t.equal(refused.status, 429);
  const wait = Number(refused.headers['retry-after']);
  t.ok(wait > 0 && wait <= 30, `${wait} s`);
  t.match(refused.headers, { rate_limit_type: 'requests', reset_at: /^2026-11-22 10:00:\d\d UTC$/ });
  t.same(stated(refused.headers), names, 'the same set as with an answer');
  t.match(refused.headers, {
    'x-ratelimit-limit-requests': '2',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '1m0s',
    'x-ratelimit-limit-tokens': '60000',
    'x-ratelimit-remaining-tokens': /^5\d{4}$/,
    'x-ratelimit-reset-tokens': /s$/,
    'x-ratelimit-api_key-remaining-requests': '0',
  });
  t.match(errorOf(refused), {
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    message: new RegExp(
      `^Rate limit exceeded for api_key: ${sha('sk-two')}\\. Limit type: requests\\. Current limit: 2, Remaining: 0\\. Limit resets at: `,
    ),
  });
  t.equal(upstreamCalls(rig), 2);
  clock.advance(wait * 1000);
  t.equal((await chat(rig, 'demo', {}, as('sk-two'))).status, 200, 'after that time it is let in');
});

t.test('without limits there are no such headers, and those of the upstream go through', async (t) => {
  const rig = await start(t, [keyOf('sk-free', {}), keyOf('sk-some', { limits: limits({ rpm: 9 }) })]);
  const { headers } = await chat(rig, 'demo', {}, as('sk-free'));
  const others = Object.keys(headers).filter(
    (name) => /ratelimit/.test(name) && !name.endsWith('remaining-requests'),
  );
  t.same(others, []);
  const limited = await chat(rig, 'demo', {}, as('sk-some'));
  t.equal(limited.headers['x-ratelimit-remaining-requests'], '8', 'once, and ours');
});

t.test('a refusal by one limit consumes nothing of the others', async (t) => {
  const team = { ...blankTeam('t', 1), limits: limits({ rpm: 100 }) };
  const objects = [
    team,
    keyOf('sk-one', { teamId: 't', limits: limits({ rpm: 1 }) }),
    keyOf('sk-other', { teamId: 't' }),
  ];
  const rig = await start(t, objects, { clock: new ManualClock() }); // one of 100 comes back every 0.6 s
  t.equal((await chat(rig, 'demo', {}, as('sk-one'))).status, 200);
  for (let i = 0; i < 5; i += 1) t.equal((await chat(rig, 'demo', {}, as('sk-one'))).status, 429);
  const { headers } = await chat(rig, 'demo', {}, as('sk-other'));
  t.equal(headers['x-ratelimit-team-remaining-requests'], '98');
});

t.test('calls at a time: a place is free when its call ends, however it ends', async (t) => {
  const rig = await start(t, [keyOf('sk-par', { limits: limits({ maxParallel: 1 }) })]);
  const running = await hold(rig, 'sk-par');
  const refused = await chat(rig, 'demo', {}, as('sk-par'));
  t.equal(refused.status, 429);
  t.match(refused.headers, {
    rate_limit_type: 'max_parallel_requests',
    'retry-after': '1',
    'x-ratelimit-api_key-remaining-max_parallel_requests': '0',
  });
  running.leave();
  let status = 429;
  while (status === 429) ({ status } = await chat(rig, 'demo', {}, as('sk-par')));
  t.equal(status, 200);
});

t.test('tokens: reserved by an estimate, settled by what was used', async (t) => {
  const rig = await start(t, [keyOf('sk-tok', { limits: limits({ tpm: 5000 }) })], {
    clock: new ManualClock(), // or some come back between two calls
  });
  const first = await chat(rig, 'demo', { max_tokens: 4000 }, as('sk-tok'));
  t.equal(first.status, 200);
  const left = Number(first.headers['x-ratelimit-remaining-tokens']);
  t.ok(left < 1000, `${left} are left while it runs`);
  const second = await chat(rig, 'demo', { max_tokens: 4000 }, as('sk-tok'));
  t.equal(second.status, 200, 'it has used only some');
  const over = await chat(rig, 'demo', { max_tokens: 1_000_000 }, as('sk-tok'));
  t.equal(over.status, 429);
  t.match(over.headers, { 'x-ratelimit-limit-tokens': '5000' });
  t.match(
    errorOf(over)['message'],
    `Remaining: ${String(over.headers['x-ratelimit-remaining-tokens'])}.`,
    'what is left for a smaller call',
  );
});

t.test('a compaction reserves tokens for what its model writes, as any answer', async (t) => {
  const rig = await start(t, [keyOf('sk-com', { limits: limits({ tpm: 5000 }) })], {
    clock: new ManualClock(),
  });
  const compaction = { model: 'demo', input: 'go on' };
  const answer = await send(rig.url, 'POST', '/v1/responses/compact', compaction, as('sk-com'));
  t.equal(answer.status, 200, answer.text);
  const left = Number(answer.headers['x-ratelimit-remaining-tokens']);
  t.ok(left <= 4500, `${left} are left while it runs: a tenth is held for its answer`);
});

t.test('where it is configured, a call waits for its limit; one whose client leaves is gone', async (t) => {
  const rig = await start(t, [keyOf('sk-wait', { limits: limits({ maxParallel: 1 }) })], {
    config: (demo) => defaultConfig(demo, '  limit_queue_seconds: 60\n'),
  });
  const running = await hold(rig, 'sk-wait');
  const waiting = chat(rig, 'demo', {}, as('sk-wait'));
  openCall(rig.url, '/v1/chat/completions', body('demo'), as('sk-wait')).leave();
  t.equal(upstreamCalls(rig), 1, 'only the running call went upstream');
  running.leave();
  t.equal((await waiting).status, 200);
});

t.test('listings are free of limits', async (t) => {
  const rig = await start(t, [keyOf('sk-zero', { limits: limits({ rpm: 0 }) })]);
  t.equal((await chat(rig, 'demo', {}, as('sk-zero'))).status, 429);
  t.equal((await send(rig.url, 'GET', '/v1/models', undefined, as('sk-zero'))).status, 200);
});

t.test('two proxies share limits through Valkey, and say when it is away', async (t) => {
  const server = await ownValkey(t);
  if (server === null) return;
  const options: RigOptions = {
    config: (demo) =>
      defaultConfig(demo, `router_settings: { redis_host: 127.0.0.1, redis_port: ${server.port} }\n`),
  };
  const objects = [keyOf('sk-shared', { limits: limits({ rpm: 2 }) })]; // one comes back in 30 s
  const [one, two] = [await start(t, objects, options), await start(t, objects, options)];
  const statuses: number[] = [];
  for (const rig of [one, two, one]) statuses.push((await chat(rig, 'demo', {}, as('sk-shared'))).status);
  t.same(statuses, [200, 200, 429]);
  const metrics = async (): Promise<string> => (await send(one.url, 'GET', '/metrics')).text;
  t.match(await metrics(), /^throughline_counters_degraded 0$/m);
  await server.kill();
  await one.logged(({ msg }) => /shared counters are away/.test(String(msg)));
  t.match(await metrics(), /^throughline_counters_degraded 1$/m);
  t.equal((await chat(one, 'demo', {}, as('sk-shared'))).status, 200, 'it allows its share');
  for (let asked = 0; asked < 4; asked += 1)
    t.equal((await send(one.url, 'GET', '/v1/models', undefined, as('sk-shared'))).status, 200, 'listings');
});

t.test(
  'limits of models take the patterns that budgets of models take, and count once for all that fit',
  async (t) => {
    const key = { modelRpm: { 'demo*': 2, '*': 9 } };
    const objects = [
      keyOf('sk-pattern', { limits: limits(key) }),
      keyOf('sk-tokens', { limits: limits({ modelTpm: { 'demo*': 5000 } }) }),
      { ...blankTeam('t', 1), limits: limits({ modelRpm: { 'd*': 1 } }) },
      keyOf('sk-of-team', { teamId: 't' }),
      keyOf('sk-other', { limits: limits({ modelRpm: { 'gpt-*': 0 } }) }),
    ];
    const rig = await start(t, objects, { clock: new ManualClock() });
    const first = await chat(rig, 'demo', {}, as('sk-pattern'));
    t.match(first.headers, { 'x-ratelimit-model_per_key-limit-requests': '2' });
    t.equal((await chat(rig, 'demo-sonnet', {}, as('sk-pattern'))).status, 200);
    const refused = await chat(rig, 'demo', {}, as('sk-pattern'));
    t.equal(refused.status, 429);
    t.match(errorOf(refused)['message'], 'model_per_key');
    t.match(errorOf(refused)['message'], ':demo*.');
    t.equal((await chat(rig, 'demo-sonnet', {}, as('sk-tokens'))).status, 200);
    t.equal((await chat(rig, 'demo', { max_tokens: 1_000_000 }, as('sk-tokens'))).status, 429);
    t.equal((await chat(rig, 'demo', {}, as('sk-of-team'))).status, 200);
    t.equal((await chat(rig, 'demo', {}, as('sk-of-team'))).status, 429);
    t.equal((await chat(rig, 'demo', {}, as('sk-other'))).status, 200, 'a pattern limits nothing else');
  },
);
