// Groups as operators meet them: sessions that stay, entries that rest and come back, checks in the background, names
// that lead elsewhere, and what the health page, the metrics and the listing say of it.
import t from 'tap';
import { startUpstream, type ReceivedCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { chat, KEY, rowOf, send, startRig, type Answer } from '../support/rig.ts';

const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, finish_reason: 'stop', message: {} }],
};

/** An upstream that a test can break and mend: what it answers, and how often it was asked. */
interface Moody {
  readonly url: string;
  status: number;
  retryAfter: string | null;
  models: number;
  calls: number;
  /** `GET /models` that came. */
  checks: number;
  onCheck: () => void;
}

async function moody(): Promise<Moody> {
  const mood = { status: 200, retryAfter: null, models: 200, calls: 0, checks: 0, onCheck: () => undefined };
  const one: Moody = Object.assign(mood, { url: '' });
  const answer = ({ req, res }: ReceivedCall): void => {
    if (req.method === 'GET') {
      one.checks += 1;
      res.writeHead(one.models, { 'content-type': 'application/json' }).end('{"data":[]}');
      res.on('close', () => one.onCheck());
      return;
    }
    one.calls += 1;
    const { status, retryAfter } = one;
    const headers = {
      'content-type': 'application/json',
      ...(retryAfter === null ? {} : { 'retry-after': retryAfter }),
    };
    res.writeHead(status, headers);
    res.end(JSON.stringify(status === 200 ? ANSWER : { error: { message: 'no', code: String(status) } }));
  };
  return Object.assign(one, { url: await startUpstream(t, answer) });
}

const entry = (name: string, { url }: Moody, more = ''): string =>
  `  - { model_name: "${name}", litellm_params: { model: litellm_proxy/up, api_base: "${url}"${more} } }\n`;
const GENERAL = `general_settings: { master_key: ${KEY} }\n`;
const idOf = (answer: Answer): string => String(answer.headers['x-litellm-model-id']);
const session = (id: string): Record<string, string> => ({ 'x-litellm-session-id': id });

t.test(
  'a session stays with one entry; another instance chooses the same; calls without one are shared',
  async (t) => {
    const all = await Promise.all([moody(), moody(), moody()]);
    const config = `model_list:\n${all.map((one) => entry('m', one)).join('')}${GENERAL}`;
    const [one, two] = [
      await startRig(t, { config: () => config }),
      await startRig(t, { config: () => config }),
    ];
    const homes = new Map<string, string>();
    for (let i = 0; i < 30; i += 1) {
      const id = idOf(await chat(one, 'm', {}, session(`s-${i % 10}`)));
      t.equal(homes.get(`s-${i % 10}`) ?? id, id);
      homes.set(`s-${i % 10}`, id);
    }
    t.ok(new Set(homes.values()).size > 1, 'sessions are spread');
    for (const [id, home] of homes) t.equal(idOf(await chat(two, 'm', {}, session(id))), home);
    const free = new Set<string>();
    for (let i = 0; i < 40; i += 1) free.add(idOf(await chat(one, 'm')));
    t.equal(free.size, 3);
  },
);

t.test(
  'an entry that fails too often rests while another serves, is tried by one call, and comes back',
  async (t) => {
    const [a, b] = [await moody(), await moody()];
    const clock = new ManualClock();
    const rig = await startRig(t, {
      clock,
      config: () =>
        `model_list:\n${entry('m', a, ', order: 1')}${entry('m', b, ', order: 2')}${GENERAL}` +
        'router_settings: { allowed_fails: 2, cooldown_time: 30 }\n',
    });
    a.status = 503;
    for (let i = 0; i < 3; i += 1)
      t.equal((await chat(rig, 'm')).headers['x-litellm-attempted-retries'], '1');
    t.match(await rig.logged((line) => line['msg'] === 'deployment cooling down'), {
      model: 'm',
      upstream: a.url,
    });
    const spared = await chat(rig, 'm');
    t.match(spared.headers, { 'x-litellm-attempted-retries': '0' });
    t.equal(a.calls, 3);
    const { text } = await send(rig.url, 'GET', '/metrics');
    t.match(text, /throughline_cooldowns_total\{model="m"\} 1/);
    t.match(text, /throughline_deployment_state\{model="m",model_id="[0-9a-f]+"\} 2/);
    const health = await send(rig.url, 'GET', '/health');
    t.same(
      (JSON.parse(health.text) as { healthy_endpoints: { breaker: string }[] }).healthy_endpoints.map(
        (one) => one.breaker,
      ),
      ['open', 'closed'],
    );
    await rig.reconfigure(
      `model_list:\n${entry('m', a, ', order: 1')}${entry('m', b, ', order: 2')}${entry('new', b)}${GENERAL}` +
        'router_settings: { allowed_fails: 2, cooldown_time: 30 }\n',
    );
    t.equal((await chat(rig, 'm')).headers['x-litellm-attempted-retries'], '0', 'a reload forgets nothing');
    a.status = 200;
    clock.advance(29_999);
    t.equal(idOf(await chat(rig, 'm')), idOf(spared), 'it rests for as long as it was told to');
    clock.advance(1);
    t.not(idOf(await chat(rig, 'm')), idOf(spared));
    t.equal(a.calls, 4, 'one call tried it');
    t.notMatch((await send(rig.url, 'GET', '/metrics')).text, /throughline_deployment_state\{/);
  },
);

t.test('each call that a fallback serves counts as one, also while the model cools down', async (t) => {
  const [a, b] = [await moody(), await moody()];
  const rig = await startRig(t, {
    config: () =>
      `model_list:\n${entry('m', a)}${entry('spare', b)}${GENERAL}` +
      'router_settings: { allowed_fails: 0, cooldown_time: 300, num_retries: 0, fallbacks: [{ m: [spare] }] }\n',
  });
  a.status = 503;
  for (let i = 0; i < 3; i += 1)
    t.equal((await chat(rig, 'm')).headers['x-litellm-attempted-fallbacks'], '1');
  t.equal(a.calls, 1, 'two calls went to the fallback at once');
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, /throughline_fallbacks_total\{model="m",to="spare"\} 3/);
});

t.test('below a wildcard fallbacks are counted by the entry, not by what clients ask for', async (t) => {
  const [a, b] = [await moody(), await moody()];
  const rig = await startRig(t, {
    config: () =>
      `model_list:\n${entry('any/*', a)}${entry('spare', b)}${GENERAL}` +
      'router_settings: { allowed_fails: 0, cooldown_time: 300, num_retries: 0, default_fallbacks: [spare] }\n',
  });
  a.status = 503;
  for (const model of ['any/one', 'any/two', 'any/three'])
    t.equal((await chat(rig, model)).headers['x-litellm-attempted-fallbacks'], '1');
  t.equal(a.calls, 1, 'two calls went to the fallback at once');
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.same(text.match(/^throughline_fallbacks_total.*/gm), [
    'throughline_fallbacks_total{model="any/*",to="spare"} 3',
  ]);
});

t.test('the last entry of a name never rests, and a client’s mistakes make none rest', async (t) => {
  const [a, b] = [await moody(), await moody()];
  const rig = await startRig(t, {
    config: () =>
      `model_list:\n${entry('alone', a)}${entry('m', a, ', order: 1')}${entry('m', b, ', order: 2')}${GENERAL}` +
      'router_settings: { allowed_fails: 0, retry_budget: 0 }\n',
  });
  a.status = 500;
  for (let i = 1; i <= 8; i += 1) {
    t.equal((await chat(rig, 'alone')).status, 500);
    t.equal(a.calls, i, 'it is asked every time');
  }
  for (const status of [400, 403, 404, 422]) {
    a.status = status;
    for (let i = 0; i < 4; i += 1) t.equal((await chat(rig, 'm')).status, status);
  }
  t.equal(b.calls, 0);
  a.status = 401;
  let refused = 0;
  while ((await chat(rig, 'm')).status === 401) refused += 1;
  t.equal(refused, 16, 'a refused key is not tried again, but counts: 16 of 32 calls');
});

t.test('a 429 gives the entry the rest it asked for, at once', async (t) => {
  const [a, b] = [await moody(), await moody()];
  const rig = await startRig(t, {
    config: () => `model_list:\n${entry('m', a, ', order: 1')}${entry('m', b, ', order: 2')}${GENERAL}`,
  });
  Object.assign(a, { status: 429, retryAfter: '120' });
  t.equal((await chat(rig, 'm')).status, 200);
  Object.assign(a, { status: 200, retryAfter: null });
  for (let i = 0; i < 5; i += 1) t.equal((await chat(rig, 'm')).headers['x-litellm-attempted-retries'], '0');
  t.equal(a.calls, 1);
});

t.test('when the budget is used up, the failure is the answer', async (t) => {
  const [a, b] = [await moody(), await moody()];
  const rig = await startRig(t, {
    config: () =>
      `model_list:\n${entry('m', a, ', order: 1')}${entry('m', b, ', order: 2')}${GENERAL}` +
      'router_settings: { disable_cooldowns: true }\n',
  });
  a.status = 500;
  const statuses: number[] = [];
  for (let i = 0; i < 60; i += 1) statuses.push((await chat(rig, 'm')).status);
  t.equal(statuses.filter((status) => status === 200).length, b.calls);
  t.ok(b.calls >= 20 && b.calls <= 22, `10 in reserve and 20% of 60: ${b.calls}`);
  t.match(
    (await send(rig.url, 'GET', '/metrics')).text,
    /throughline_retries_denied_total\{model="m"\} (3[89]|40)/,
  );
});

t.test(
  'with fallbacks a name whose entries all rest is passed over, and tried again by one call',
  async (t) => {
    const [a, b] = [await moody(), await moody()];
    const rig = await startRig(t, {
      config: () =>
        `model_list:\n${entry('main', a)}${entry('backup', b)}${GENERAL}` +
        'router_settings: { allowed_fails: 1, cooldown_time: 60, fallbacks: [{ main: [backup] }] }\n',
    });
    a.status = 502;
    for (let i = 0; i < 6; i += 1) {
      const answer = await chat(rig, 'main');
      t.equal(answer.status, 200);
      t.equal(answer.headers['x-litellm-attempted-fallbacks'], '1');
    }
    t.equal(a.calls, 2);
    b.status = 503;
    const last = await chat(rig, 'main');
    t.equal(last.status, 502, 'the one that rests is the last resort');
    t.equal((await rowOf(rig, last))['attempts'], 2);
  },
);

t.test('background checks leave out what does not answer, before a request finds out', async (t) => {
  const [a, b] = [await moody(), await moody()];
  a.models = 503;
  const checked = new Promise<void>((resolve) => {
    b.onCheck = () => (b.checks === 2 ? resolve() : undefined);
  });
  const rig = await startRig(t, {
    config: () =>
      `model_list:\n${entry('m', a, ', order: 1')}${entry('m', b, ', order: 2')}` +
      `general_settings: { master_key: ${KEY}, background_health_checks: true, health_check_interval: 0.05 }\n`,
  });
  await checked;
  t.match(await rig.logged((line) => line['msg'] === 'deployment unhealthy'), { upstream: a.url });
  await chat(rig, 'm');
  t.same([a.calls, b.calls], [0, 1]);
  const health = JSON.parse((await send(rig.url, 'GET', '/health')).text) as {
    unhealthy_endpoints: object[];
  };
  t.match(health.unhealthy_endpoints, [{ api_base: a.url, error: /answered 503/ }]);
  t.match((await send(rig.url, 'GET', '/metrics')).text, /throughline_deployment_state\{[^}]*\} 3/);
  a.models = 200;
  await rig.logged((line) => line['msg'] === 'deployment healthy again');
  await chat(rig, 'm');
  t.same([a.calls, b.calls], [1, 1]);
});

t.test('further names are served and listed, save the hidden ones', async (t) => {
  const a = await moody();
  const rig = await startRig(t, {
    config: () =>
      `model_list:\n${entry('m', a)}${GENERAL}` +
      'router_settings: { model_group_alias: { gpt-4: m, secret: { model: m, hidden: true } } }\n',
  });
  for (const name of ['gpt-4', 'secret']) {
    const answer = await chat(rig, name);
    t.equal(answer.status, 200);
    t.match(await rowOf(rig, answer), { model_group: name, model: 'up' });
  }
  const { text } = await send(rig.url, 'GET', '/v1/models');
  t.same(
    (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id),
    ['m', 'gpt-4'],
  );
  t.equal((await send(rig.url, 'GET', '/v1/models/gpt-4')).status, 200);
});

for (const strategy of ['least-busy', 'latency-based-routing'])
  t.test(`${strategy} keeps away from an entry that does not come to an end`, async (t) => {
    const held = Promise.withResolvers<ReceivedCall>();
    let calls = 0;
    const stuck = await startUpstream(t, (got) => {
      calls += 1;
      held.resolve(got);
    });
    const quick = await moody();
    const rig = await startRig(t, {
      config: () =>
        `model_list:\n${entry('m', { ...quick, url: stuck })}${entry('m', quick)}${GENERAL}` +
        `router_settings: { routing_strategy: ${strategy} }\n`,
    });
    const first: Promise<Answer>[] = [];
    do first.push(chat(rig, 'm'));
    while ((await Promise.race([first.at(-1), held.promise.then(() => 'held')])) !== 'held');
    for (let i = 0; i < 20; i += 1) t.equal((await chat(rig, 'm')).status, 200);
    t.equal(calls, 1);
    (await held.promise).res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(ANSWER));
    await Promise.all(first);
  });
