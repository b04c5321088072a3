// More calls than places: who waits, who gives way, who is turned away, and what a flood on one model does to another.
import OpenAI from 'openai';
import t from 'tap';
import type { Test } from 'tap';
import { openCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import {
  chat,
  headerOf,
  KEY,
  metric,
  queued,
  rowOf,
  send,
  startRig,
  type Answer,
  type Rig,
} from '../support/rig.ts';

interface Setting {
  readonly general?: string;
  readonly router?: string;
  readonly models: readonly (readonly [name: string, upstream: string, params: string])[];
}

const configOf =
  ({ general = '', router = '', models }: Setting) =>
  ({ url }: { readonly url: string }): string => `
model_list:
${models.map(([name, upstream, params]) => `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/${upstream}, api_base: "${url}"${params} } }`).join('\n')}
router_settings: { session_affinity: false${router} }
general_settings: { master_key: ${KEY}${general} }
`;
const start = (t: Test, setting: Setting, clock?: ManualClock): Promise<Rig> =>
  startRig(t, { config: configOf(setting), ...(clock === undefined ? {} : { clock }) });

/** The upstream's names of what it was asked for, in order. */
const asked = ({ demo }: Rig): string[] =>
  demo.seen.map(({ body }) => (JSON.parse(body.toString()) as { model: string }).model);

const refusal = (t: Test, answer: Answer): void => {
  t.match(answer, { status: 503, headers: { 'x-litellm-error-source': 'proxy' }, broken: false });
  t.match(JSON.parse(answer.text), { error: { type: 'overloaded_error', code: 'overloaded' } });
  t.match(headerOf(answer.rawHeaders, 'retry-after'), /^[123]$/);
};

t.test(
  'a call beyond the limit waits for its turn and is served; nothing goes upstream before',
  async (t) => {
    const clock = new ManualClock();
    const rig = await start(t, { models: [['m', 'demo-hold', ', max_parallel_requests: 1']] }, clock);
    const first = chat(rig, 'm');
    await rig.demo.waitFor(1);
    const second = chat(rig, 'm');
    await queued(rig, 1);
    t.equal(rig.demo.seen.length, 1);
    clock.advance(5_000);
    rig.demo.release();
    t.equal((await first).status, 200);
    await rig.demo.waitFor(2);
    rig.demo.release();
    const answer = await second;
    t.equal(answer.status, 200);
    t.match(await rowOf(rig, answer), { end_reason: 'complete', attempts: 1 });
    t.equal(answer.headers['x-litellm-overhead-duration-ms'], '0.000', 'waiting is no overhead');
    t.equal(await metric(rig, 'throughline_queued_total\\{model="m"\\}'), '1');
  },
);

t.test(
  'with a full queue, or after max_queue_seconds, it is turned away; its row costs nothing',
  async (t) => {
    const models = [['m', 'demo-hold', ', max_parallel_requests: 1']] as const;
    const queue = (most: number, seconds: number): Setting => ({
      general: `, max_queued_requests: ${most}, max_queue_seconds: ${seconds}`,
      models,
    });
    const rig = await start(t, queue(1, 3_600));
    const first = chat(rig, 'm');
    await rig.demo.waitFor(1);
    const waits = chat(rig, 'm');
    await queued(rig, 1);
    const beyond = await chat(rig, 'm');
    refusal(t, beyond);
    await rig.reconfigure(configOf(queue(2, 0.05))(rig.demo));
    refusal(t, await chat(rig, 'm'));
    t.match(await rowOf(rig, beyond), {
      end_reason: 'refused',
      error_source: 'proxy',
      spend: 0,
      attempts: 0,
    });
    t.equal(await metric(rig, 'throughline_overloaded_total\\{model="m",why="queue_full"\\}'), '1');
    t.equal(await metric(rig, 'throughline_overloaded_total\\{model="m",why="queue_timeout"\\}'), '1');
    t.equal(rig.demo.seen.length, 1);
    rig.demo.release();
    t.equal((await first).status, 200);
    await rig.demo.waitFor(2);
    rig.demo.release();
    t.equal((await waits).status, 200);
  },
);

t.test(
  'a full entry gives way to another one of its name, a full name to a fallback after the wait',
  async (t) => {
    const rig = await start(t, {
      general: ', max_queue_seconds: 0.1',
      router: ', fallbacks: [{ m: [spare] }]',
      models: [
        ['m', 'demo-hold-a', ', order: 1, max_parallel_requests: 1'],
        ['m', 'demo-hold-b', ', order: 2, max_parallel_requests: 1'],
        ['spare', 'demo-spare', ''],
      ],
    });
    const [first, second] = [chat(rig, 'm'), rig.demo.waitFor(1).then(() => chat(rig, 'm'))];
    await rig.demo.waitFor(2);
    t.same(asked(rig), ['demo-hold-a', 'demo-hold-b'], 'the lower rank, although the higher one serves');
    const third = await chat(rig, 'm');
    t.match(third, { status: 200, headers: { 'x-litellm-attempted-fallbacks': '1' } });
    t.same(asked(rig).at(-1), 'demo-spare');
    rig.demo.release();
    t.same([(await first).status, (await second).status], [200, 200]);
  },
);

t.test('a retry goes to an entry that has room, and waits for one where none has', async (t) => {
  const rig = await start(t, {
    models: [
      ['m', 'demo-500', ', order: 1, max_parallel_requests: 1'],
      ['m', 'demo-hold', ', order: 2, max_parallel_requests: 1'],
    ],
  });
  const first = chat(rig, 'm');
  await rig.demo.waitFor(2);
  const second = chat(rig, 'm');
  await rig.demo.waitFor(3);
  await queued(rig, 1);
  rig.demo.release();
  t.equal((await first).status, 200);
  await rig.demo.waitFor(4);
  rig.demo.release();
  t.match(await second, { status: 200, headers: { 'x-litellm-attempted-retries': '1' } });
  t.same(asked(rig), ['demo-500', 'demo-hold', 'demo-500', 'demo-hold']);
});

t.test(
  'a call that ends while its retry waits has made the attempts that went upstream, and costs what they did',
  async (t) => {
    const setting = (seconds: number): Setting => ({
      general: `, max_queue_seconds: ${seconds}`,
      models: [
        ['m', 'demo-500', ', order: 1, max_parallel_requests: 1'],
        ['m', 'demo-hold', ', order: 2, max_parallel_requests: 1'],
      ],
    });
    const rig = await start(t, setting(3_600));
    const first = chat(rig, 'm');
    await rig.demo.waitFor(2);
    const leaves = openCall(rig.url, '/v1/chat/completions', { model: 'm', messages: [] }, {});
    await queued(rig, 1);
    leaves.leave();
    await rig.logged((line) => line['end'] === 'client_gone');
    const gone = (await rig.rows()).find((row) => row['end_reason'] === 'client_gone');
    await rig.reconfigure(configOf(setting(0.05))(rig.demo));
    const beyond = await chat(rig, 'm');
    refusal(t, beyond);
    for (const row of [gone, await rowOf(rig, beyond)]) {
      t.match(row, { status: 'failure', spend: 0, attempts: 1 });
      t.match(row?.['attempt_log'], [{ status: 500, error: 'server', spend: 0 }]);
      t.equal([row?.['attempt_log']].flat().length, 1);
    }
    rig.demo.release();
    t.equal((await first).status, 200);
  },
);

t.test('a flood on one model takes no more than its turn from another', async (t) => {
  const rig = await start(t, {
    general: ', global_max_parallel_requests: 1, max_queued_requests: 20, max_queue_seconds: 60',
    models: [
      ['flood', 'demo-hold-flood', ''],
      ['quiet', 'demo-hold-quiet', ''],
    ],
  });
  const flood = Array.from({ length: 30 }, () => chat(rig, 'flood'));
  await queued(rig, 20);
  const quiet = [chat(rig, 'quiet'), chat(rig, 'quiet')];
  await Promise.race(flood); // the first that was turned away: the queue is full, and those of `quiet` are in it
  while ((await metric(rig, 'throughline_queued_total\\{model="quiet"\\}')) !== '2');
  for (let served = 1; served <= 6; served += 1) {
    await rig.demo.waitFor(served);
    rig.demo.release();
  }
  const [one, two] = await Promise.all(quiet);
  t.same([one?.status, two?.status], [200, 200]);
  t.equal(
    asked(rig)
      .slice(0, 6)
      .filter((model) => model === 'demo-hold-quiet').length,
    2,
  );
  let isOver = false;
  const all = Promise.all(flood).finally(() => (isOver = true));
  const release = (): void => {
    rig.demo.release();
    if (!isOver) setImmediate(release);
  };
  release();
  const statuses = (await all).map(({ status }) => status);
  t.same(new Set(statuses), new Set([200, 503]));
  t.equal(statuses.filter((status) => status === 503).length, 11, '1 ran, 20 waited, 2 of them gave way');
});

t.test('a client that leaves its place in the queue is gone, and a stop tells those who wait', async (t) => {
  const rig = await start(t, { models: [['m', 'demo-hold', ', max_parallel_requests: 1']] });
  const first = chat(rig, 'm');
  await rig.demo.waitFor(1);
  const leaves = openCall(rig.url, '/v1/chat/completions', { model: 'm', messages: [] }, {});
  await queued(rig, 1);
  leaves.leave();
  await queued(rig, 0);
  await rig.logged((line) => line['end'] === 'client_gone');
  const waits = chat(rig, 'm');
  await queued(rig, 1);
  const rows = await rig.rows();
  t.match(
    rows.find((row) => row['end_reason'] === 'client_gone'),
    { spend: 0, attempts: 0 },
  );
  await rig.gateway.stop({ maxMs: 0 });
  for (const answer of [await first, await waits]) t.match(answer.text, /"code":"shutting_down"/);
});

t.test(
  'a call on a response that exists takes a place at its entry too, waits, and gives it back',
  async (t) => {
    const within = (seconds: number): Setting => ({
      general: `, max_queue_seconds: ${seconds}`,
      models: [['"demo-*"', 'demo-*', ', max_parallel_requests: 1']],
    });
    const rig = await start(t, within(0.05));
    const made = await send(rig.url, 'POST', '/v1/responses', { model: 'demo-x', input: 'one two' });
    const path = `/v1/responses/${(JSON.parse(made.text) as { id: string }).id}`;
    const holds = chat(rig, 'demo-hold');
    await rig.demo.waitFor(2);
    const beyond = await send(rig.url, 'GET', path);
    refusal(t, beyond);
    t.match(await rowOf(rig, beyond), { end_reason: 'refused', call_type: 'aget_responses', attempts: 0 });
    await rig.reconfigure(configOf(within(3_600))(rig.demo));
    const waits = send(rig.url, 'GET', path);
    await queued(rig, 1);
    t.equal(rig.demo.seen.length, 2, 'nothing went upstream');
    rig.demo.release();
    t.same([(await holds).status, (await waits).status], [200, 200]);
    t.equal((await send(rig.url, 'GET', path)).status, 200, 'its place was given back');
  },
);

t.test('the SDK sends a call that was turned away again by itself', async (t) => {
  const general = ', max_queued_requests: 0';
  const rig = await start(t, { general, models: [['m', 'demo-hold', ', max_parallel_requests: 1']] });
  const first = chat(rig, 'm');
  await rig.demo.waitFor(1);
  const client = new OpenAI({ baseURL: `${rig.url}/v1`, apiKey: KEY, maxRetries: 5 });
  const answer = client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
  await rig.logged((line) => line['error'] === 'overloaded');
  rig.demo.release();
  await first;
  await rig.demo.waitFor(2);
  rig.demo.release();
  t.match(await answer, { object: 'chat.completion' });
});

t.test(
  'calls are turned away while the event loop lags and stays late, and served when it does not',
  async (t) => {
    const clock = new ManualClock();
    const rig = await start(
      t,
      { general: ', max_event_loop_lag_ms: 20', models: [['m', 'demo', '']] },
      clock,
    );
    t.equal((await chat(rig, 'm')).status, 200);
    const busy = setInterval(() => clock.advance(300), 10); // each turn of the loop seems to take long
    let answer: Answer;
    do answer = await chat(rig, 'm');
    while (answer.status === 200);
    clearInterval(busy);
    refusal(t, answer);
    t.ok(Number(await metric(rig, 'throughline_event_loop_lag_seconds')) > 0.05);
    t.equal(await metric(rig, 'throughline_overloaded_total\\{model="",why="event_loop_lag"\\}'), '1');
    do answer = await chat(rig, 'm');
    while (answer.status !== 200);
  },
);
