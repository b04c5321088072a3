// Workers and their ends: drained, cut, killed under load, left behind by their supervisor or by a smaller number at
// the next start. Whatever the upstream saw has exactly one row afterwards.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { startDemoGateway, type DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { openCall } from '../support/call.ts';
import { folder, runs, serveCli, workersOf } from '../support/cli.ts';
import { allRows, ledgerOf, CLOSE_MS } from '../proxy/spend/journal/fixture/ledgers.ts';
import type { SpendRecord } from '../../proxy/spend/record/record.ts';
import { defaultConfig, headerOf, KEY, send, type Row } from '../support/rig.ts';
import { beforeNextLook } from '../support/patience.ts';
import { ownPostgres } from '../support/postgres.ts';

/** `npm run battery -- --only kill` has more of them. */
const KILLS = 2;
const BODY = { model: 'demo', messages: [{ role: 'user', content: 'one two three four five six' }] };

async function house(t: Test): Promise<{ demo: DemoGateway; config: string; dataDir: string }> {
  const demo = await startDemoGateway({ slowMs: 60, eventIntervalMs: 15 });
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, defaultConfig(demo));
  return { demo, config, dataDir: join(dir, 'data') };
}

const rowsOf = async (url: string): Promise<Row[]> =>
  JSON.parse((await send(url, 'GET', '/spend/logs')).text) as Row[];

/** What the next start finds, by whatever number of workers: the rows of all journals. */
async function recovered(t: Test, dataDir: string): Promise<readonly SpendRecord[]> {
  const { ledger } = await ledgerOf(t, dataDir);
  const rows = await allRows(ledger);
  await ledger.close(CLOSE_MS);
  return rows;
}

const TOTAL = /^throughline_requests_total\{[^}]*\} (\d+)$/gm;
const requestsIn = (metrics: string): number =>
  [...metrics.matchAll(TOTAL)].reduce((sum, [, count]) => sum + Number(count), 0);

t.test('kill -9 of a worker under load: the other one serves on, no row is lost or doubled', async (t) => {
  const { demo, config, dataDir } = await house(t);
  const proxy = await serveCli(t, config, dataDir, ['--workers', '2']);
  const models = ['demo', 'demo-interval', 'demo-slow', 'compat', 'demo-500'];
  const whole = new Set<string>();
  let counted = 0;
  for (let round = 0; round < KILLS; round += 1) {
    const earlier = demo.seen.length;
    // What each worker holds at its kill does not depend on the moment: connections are shared out in turn.
    const held = Array.from({ length: 4 }, (_, n) =>
      openCall(
        proxy.url,
        '/v1/chat/completions',
        { ...BODY, model: 'demo-hold' },
        { 'x-litellm-session-id': `round-${round}-held-${n}` },
      ),
    );
    const before = earlier + held.length;
    await demo.waitFor(before);
    const calls = Array.from({ length: 80 }, async (_, n) => {
      const session = `round-${round}-${n}`;
      const headers = { 'x-litellm-session-id': session };
      const body = { ...BODY, model: models[n % models.length], stream: n % 3 === 0 };
      const answer = await send(proxy.url, 'POST', '/v1/chat/completions', body, headers).catch(() => null);
      if (answer !== null && !answer.broken && answer.status === 200) whole.add(session);
    });
    await demo.waitFor(before + 40);
    const metrics = await send(proxy.url, 'GET', '/metrics');
    t.ok(requestsIn(metrics.text) >= counted, 'counts do not go back');
    counted = requestsIn(metrics.text);
    const victim = workersOf(proxy.pid)[round % 2] as number;
    process.kill(victim, 'SIGKILL');
    await proxy.said(new RegExp(`"pid":${victim},"code":null,"signal":"SIGKILL"`));
    const others = await Promise.all(
      [1, 2, 3, 4].map(() => send(proxy.url, 'POST', '/v1/chat/completions', BODY)),
    );
    t.same(
      others.map(({ status }) => status),
      [200, 200, 200, 200],
      'who comes now is served',
    );
    await Promise.all(calls);
    demo.release();
    await Promise.all(held.map(({ head }) => head.catch(() => null)));
    await proxy.said(new RegExp(`(?:the replaced worker serves[^]*){${round + 1}}`)); // both gone: nobody would listen
  }
  const rows = await rowsOf(proxy.url); // by whichever worker: the replaced ones have recovered their journals
  const bySession = Map.groupBy(rows, (row) => String(row['session_id']));
  t.equal(new Set(rows.map((row) => row['request_id'])).size, rows.length, 'no id twice');
  t.same(
    [...bySession].filter(([, of]) => of.length !== 1).map(([session]) => session),
    [],
    'no request twice',
  );
  const seen = demo.seen.map(({ rawHeaders }) => headerOf(rawHeaders, 'x-litellm-session-id') as string);
  t.same(
    seen.filter((session) => !bySession.has(session)),
    [],
    'each request at the upstream has its row',
  );
  t.same(
    [...whole].filter((session) => bySession.get(session)?.[0]?.['status'] !== 'success'),
    [],
    'each whole answer is a success',
  );
  const ends = Map.groupBy(rows, (row) => String(row['end_reason']));
  t.ok((ends.get('interrupted')?.length ?? 0) > 0, `interrupted: ${ends.get('interrupted')?.length}`);
  t.ok(
    whole.size > KILLS * 20,
    `${seen.length} at the upstream, ${rows.length} rows, ${whole.size} whole answers`,
  );
  const metrics = (await send(proxy.url, 'GET', '/metrics')).text;
  t.match(metrics, /^throughline_workers 2$/m);
  t.match(metrics, new RegExp(`^throughline_workers_lost_total ${KILLS}$`, 'm'));
  t.ok(requestsIn(metrics) >= counted);

  t.comment('a second SIGTERM tells running streams that they end');
  const before = demo.seen.length;
  const calls = Array.from({ length: 4 }, () =>
    openCall(proxy.url, '/v1/chat/completions', { ...streamed, model: 'demo-stall' }),
  );
  await demo.waitFor(before + 4);
  const cut = Promise.all(
    calls.map(async ({ received }) => {
      await received('data:');
      return received('"code":"shutting_down"');
    }),
  );
  await stopGroup(t, proxy);
  proxy.kill('SIGTERM');
  t.equal((await cut).length, 4);
  t.equal((await proxy.ended).code, 0);
  const stopped = (await recovered(t, dataDir)).filter(({ endReason }) => endReason === 'stopped');
  t.equal(stopped.length, 4);
});

t.test(
  'a worker that is stuck with its calls is killed after a minute, and each call has one row',
  async (t) => {
    const { demo, dataDir, config } = await house(t);
    const proxy = await serveCli(t, config, dataDir, ['--workers', '2']);
    const calls = Array.from({ length: 8 }, () =>
      openCall(proxy.url, '/v1/chat/completions', { ...BODY, stream: true, model: 'demo-hold' }),
    );
    await demo.waitFor(8);
    const stuck = workersOf(proxy.pid)[0] as number;
    process.kill(stuck, 'SIGSTOP');
    await proxy.said(new RegExp(`"worker":1,"pid":${stuck},"silent_ms":60000,"msg":"a worker is stuck`));
    await proxy.said(/the replaced worker serves/);
    demo.release();
    await Promise.all(calls.map(({ head }) => head.catch(() => null)));
    proxy.kill('SIGTERM');
    t.equal((await proxy.ended).code, 0);
    const reasons = (await recovered(t, dataDir)).map(({ endReason }) => endReason);
    const [complete, interrupted] = ['complete', 'interrupted'].map((one) =>
      reasons.filter((it) => it === one),
    );
    t.equal(reasons.length, 8);
    t.equal((complete?.length ?? 0) + (interrupted?.length ?? 0), 8, reasons.join());
    t.ok(interrupted?.length, 'those of the stuck one');
  },
);

/** For the tests below up to its end: a start of two workers costs three processes. */
const shared = await house(t);
const sharedProxy = await serveCli(t, shared.config, shared.dataDir, ['--workers', '2']);
const streamed = { ...BODY, stream: true };

t.test('a connection on its way to a stuck worker ends with it, and all others are served', async (t) => {
  const stuck = workersOf(sharedProxy.pid)[0] as number;
  process.kill(stuck, 'SIGSTOP');
  let answered = 0;
  const calls = Array.from({ length: 8 }, () =>
    send(sharedProxy.url, 'GET', '/health/liveness').then(
      ({ status }) => {
        answered += 1;
        if (answered === 7) process.kill(stuck, 'SIGKILL');
        return status;
      },
      ({ code }: NodeJS.ErrnoException) => code,
    ),
  );
  const ends = await Promise.all(calls);
  t.same(ends.toSorted(), [...Array<number>(7).fill(200), 'ECONNRESET']);
  await sharedProxy.said(
    new RegExp(`"worker":1,"pid":${stuck},.*"restart_in_ms":0,"msg":"a worker ended; it is replaced"`),
  );
});

t.test(
  'a worker that dies again at once is replaced after a pause, and the log says so in one line',
  async (t) => {
    const [, next = ''] = await sharedProxy.said(/"worker":1,"pid":(\d+),"msg":"the replaced worker serves"/);
    process.kill(Number(next), 'SIGKILL');
    await sharedProxy.said(new RegExp(`"pid":${next},.*"restart_in_ms":250`));
    t.equal(
      (await send(sharedProxy.url, 'GET', '/health/readiness')).status,
      200,
      'ready meanwhile, with the other one',
    );
    await sharedProxy.said(/(?:the replaced worker serves[^]*){2}/);
  },
);

/** Signals the whole group, as Ctrl-C or a service manager does: the workers must not take it for a second signal. */
async function stopGroup(t: Test, proxy: typeof sharedProxy): Promise<void> {
  for (const pid of [proxy.pid, ...workersOf(proxy.pid)]) process.kill(pid, 'SIGTERM');
  await proxy.said(/"msg":"stopping"/);
  await t.rejects(refusedSoon(proxy.url), { code: 'ECONNREFUSED' }, 'newcomers are refused');
}

t.test('SIGTERM lets running streams of both workers end', async (t) => {
  const { demo, dataDir } = shared;
  const calls = Array.from({ length: 4 }, () =>
    openCall(sharedProxy.url, '/v1/chat/completions', { ...streamed, model: 'demo-hold' }),
  );
  await demo.waitFor(4);
  const ends = Promise.all(calls.map(({ received }) => received('[DONE]')));
  await stopGroup(t, sharedProxy);
  demo.release();
  t.equal((await ends).length, 4);
  t.equal((await sharedProxy.ended).code, 0);
  const reasons = (await recovered(t, dataDir)).map(({ endReason }) => endReason);
  t.same(reasons, Array(4).fill('complete'));
});

t.test('a stuck worker holds up a stop for the drain and its steps, and the end is said', async (t) => {
  const { config, dataDir, demo } = await house(t);
  writeFileSync(config, defaultConfig(demo, '  drain_seconds: 1\n'));
  const proxy = await serveCli(t, config, dataDir, ['--workers', '2']);
  await proxy.said(/all workers serve/);
  const stuck = workersOf(proxy.pid)[1] as number;
  process.kill(stuck, 'SIGSTOP');
  proxy.kill('SIGTERM');
  const { out } = await proxy.ended;
  t.match(out, new RegExp(`"worker":2,"pid":${stuck},"msg":"a worker does not end; it is killed"`));
  t.notMatch(out, /replaced|is stuck/, 'before it is known to be stuck, and nobody takes its place');
  t.match(out, /"msg":"all workers have stopped"\}\n$/);
});

t.test('workers serve newcomers for min_drain_seconds, each on a connection that closes', async (t) => {
  const { config, dataDir, demo } = await house(t);
  writeFileSync(config, defaultConfig(demo, '  min_drain_seconds: 300\n'));
  const proxy = await serveCli(t, config, dataDir, ['--workers', '2']);
  proxy.kill('SIGTERM');
  await proxy.said(/(?:"min_drain_ms":300000[^]*){2}/);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => send(proxy.url, 'POST', '/v1/chat/completions', BODY)),
  );
  for (const { status, headers } of answers)
    t.match({ status, headers }, { status: 200, headers: { connection: 'close' } });
  t.equal((await send(proxy.url, 'GET', '/health/readiness')).status, 503);
  t.equal((await send(proxy.url, 'GET', '/health/liveness')).status, 200);
  proxy.kill('SIGINT');
  t.equal((await proxy.ended).code, 0);
});

/** Asks until the listening socket is closed: the supervisor closes it when each worker has done so. */
async function refusedSoon(url: string): Promise<never> {
  for (;;) {
    await send(url, 'GET', '/health/liveness').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET') throw error;
    });
    await beforeNextLook();
  }
}

t.test('the number of workers may change between starts: no journal is stranded', async (t) => {
  const { demo, config, dataDir } = await house(t);
  const workers = [['--workers=3'], [], ['--num_workers', '2']];
  for (const [n, flags] of workers.entries()) {
    const proxy = await serveCli(t, config, dataDir, flags);
    const seen = demo.seen.length;
    const calls = Array.from({ length: 6 }, () =>
      openCall(proxy.url, '/v1/chat/completions', { ...BODY, model: 'demo-hold' }),
    );
    await demo.waitFor(seen + 6);
    const rows = await rowsOf(proxy.url);
    t.equal(rows.length, 6 * n, `${6 * n} rows of those before, each once`);
    for (const pid of [...workersOf(proxy.pid), proxy.pid]) process.kill(pid, 'SIGKILL');
    await proxy.ended;
    for (const call of calls) call.leave();
    demo.release();
  }
  const rows = await recovered(t, dataDir);
  t.equal(new Set(rows.map(({ requestId }) => requestId)).size, 18);
  t.equal(rows.length, 18);
  t.same(new Set(rows.map(({ endReason }) => endReason)), new Set(['interrupted']));
});

t.test(
  'workers end by themselves when their supervisor is killed, and the next start has all rows',
  async (t) => {
    const { demo, config, dataDir } = await house(t);
    const proxy = await serveCli(t, config, dataDir, ['--workers', '2']);
    const call = openCall(proxy.url, '/v1/chat/completions', { ...BODY, model: 'demo-hold', stream: true });
    await demo.waitFor(1);
    const workers = workersOf(proxy.pid);
    proxy.kill('SIGKILL');
    await t.rejects(call.received('[DONE]'));
    const { out } = await proxy.ended; // its pipes are closed when the last worker has ended
    t.equal(out.match(/"worker":[12],"msg":"the supervisor is gone; this worker ends"/g)?.length, 2);
    while (workers.some(runs)) await beforeNextLook(); // they close their pipes just before
    t.equal((await recovered(t, dataDir)).length, 1);
  },
);

t.test('what a killed worker had reserved is settled also where the store is away meanwhile', async (t) => {
  const server = await ownPostgres(t);
  if (server === null) {
    t.comment('no PostgreSQL is installed');
    return;
  }
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(
    config,
    `
model_list:
  - model_name: demo-hold
    litellm_params: { model: openai/acme/demo-hold, api_base: "${demo.url}/compat/v1", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
general_settings: { master_key: ${KEY}, database_url: "${server.url()}" }
litellm_settings: { max_budget: 1 }
`,
  );
  const proxy = await serveCli(t, config, join(dir, 'data'), ['--workers', '2']);
  const calls = Array.from({ length: 2 }, () =>
    openCall(proxy.url, '/v1/chat/completions', {
      ...BODY,
      model: 'demo-hold',
      max_tokens: 10,
      stream: true,
    }),
  );
  await demo.waitFor(2); // one of each worker
  const budget = async (): Promise<Row> => {
    const { text } = await send(proxy.url, 'GET', '/spend/budgets');
    const [first = {}] = (JSON.parse(text) as { readonly budgets?: readonly Row[] }).budgets ?? [];
    return first;
  };
  const { reserved } = await budget();
  await server.stop();
  const [pid = 0] = workersOf(proxy.pid);
  process.kill(pid, 'SIGKILL');
  await proxy.said(/what a worker had reserved of budgets/);
  await server.start();
  let now = await budget();
  while (Number(now['reserved'] ?? reserved) > Number(reserved) / 2) {
    await beforeNextLook();
    now = await budget();
  }
  t.match(now, { reserved: Number(reserved) / 2, counted: String(now['current_spend']) });
  demo.release();
  await Promise.allSettled(calls.map(({ received }) => received('[DONE]')));
  proxy.kill('SIGTERM');
  await proxy.ended;
});
