// The real program, killed with many requests in flight: whatever the upstream saw has exactly one row afterwards. And
// its other ends: a signal, a second signal, a second process, a full disk.
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { startDemoGateway, type DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { openCall } from '../support/call.ts';
import { folder, runCli, serveCli } from '../support/cli.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { sendLoadCall } from '../support/load-call.ts';
import { allRows as recordsOf, CLOSE_MS, ledgerOf } from '../proxy/spend/journal/fixture/ledgers.ts';
import { defaultConfig, headerOf, send, type Row } from '../support/rig.ts';
import { noSmallDisk, smallDisk } from '../support/small-disk.ts';

/** `npm run battery -- --only kill` has more of them. */
const ROUNDS = 2;
const IN_FLIGHT = 120;
const MODELS = [
  'demo',
  'demo-slow',
  'demo-slow-stream',
  'demo-interval',
  'demo-hold',
  'demo-stall',
  'demo-500',
  'compat',
  'compat-interval',
];

/** A demo gateway and a configuration in front of it, in a folder of their own. */
async function house(t: Test, more = ''): Promise<{ demo: DemoGateway; config: string; dataDir: string }> {
  const demo = await startDemoGateway({ slowMs: 60, eventIntervalMs: 15 });
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, defaultConfig(demo, more));
  return { demo, config, dataDir: join(dir, 'data') };
}

const chatOf = (model: string, stream: boolean): object => ({
  model,
  stream,
  messages: [{ role: 'user', content: 'one two three four five six' }],
});

async function allRows(url: string): Promise<Row[]> {
  return JSON.parse((await send(url, 'GET', '/spend/logs')).text) as Row[];
}

async function rowsOfSession(url: string, session: string): Promise<Row[]> {
  return JSON.parse((await send(url, 'GET', `/spend/logs?session_id=${session}`)).text) as Row[];
}

t.test('kill -9 at random points: every request that the upstream saw has exactly one row', async (t) => {
  const seed = Date.now() % 1_000_000;
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  const { demo, config, dataDir } = await house(t);
  const whole = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const proxy = await serveCli(t, config, dataDir, ['--log-level', 'error']);
    const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
    const seenBefore = demo.seen.length;
    // The kill comes with the n-th piece of an answer, or with the n-th request at the upstream: never by a clock.
    let pieces = Math.floor(random() * 400);
    let ended = 0;
    const least = Math.floor(random() * IN_FLIGHT * 0.8);
    const onBytes = (): void => {
      pieces -= 1;
      if (pieces <= 0 && demo.seen.length - seenBefore >= least) proxy.kill('SIGKILL');
    };
    const calls = Array.from({ length: IN_FLIGHT }, async (_, n) => {
      const session = `round-${round}-${n}`;
      const model = MODELS[Math.floor(random() * MODELS.length)] as string;
      const { port } = proxy;
      const end = await sendLoadCall({ agent, port, session, model, stream: random() < 0.6, onBytes });
      if (end === 'whole') whole.add(session);
      ended += 1;
      if (ended === IN_FLIGHT / 2) proxy.kill('SIGKILL'); // the dice asked for more pieces than there were
    });
    await Promise.race([demo.waitFor(seenBefore + least), proxy.ended]);
    if (round === ROUNDS - 1) proxy.kill('SIGKILL'); // also where no byte has come back yet
    const { signal } = await proxy.ended;
    t.equal(signal, 'SIGKILL');
    await Promise.all(calls);
    agent.destroy();
    demo.release();
  }

  const proxy = await serveCli(t, config, dataDir, ['--log-level', 'error']);
  const rows = await allRows(proxy.url);
  const bySession = Map.groupBy(rows, (row) => String(row['session_id']));
  t.equal(new Set(rows.map((row) => row['request_id'])).size, rows.length, 'no id twice');
  t.same(
    [...bySession].filter(([, of]) => of.length !== 1).map(([session]) => session),
    [],
    'no request twice',
  );
  const seen = demo.seen.map(({ rawHeaders }) => headerOf(rawHeaders, 'x-litellm-session-id') as string);
  t.ok(
    seen.length > ROUNDS * 10,
    `${seen.length} requests at the upstream, ${rows.length} rows, ${whole.size} whole answers`,
  );
  t.same(
    seen.filter((session) => !bySession.has(session)),
    [],
    'each request at the upstream has its row',
  );
  t.same(
    [...whole].filter((session) => bySession.get(session)?.[0]?.['status'] !== 'success'),
    [],
    'each answer that reached its client whole is a success',
  );
  const ends = Map.groupBy(rows, (row) => String(row['end_reason']));
  t.ok((ends.get('interrupted')?.length ?? 0) > 0, `interrupted: ${ends.get('interrupted')?.length}`);
  t.ok((ends.get('complete')?.length ?? 0) > 0, `complete: ${ends.get('complete')?.length}`);
  t.same(
    [...ends.keys()].filter(
      (end) => !['interrupted', 'complete', 'upstream_error', 'client_gone'].includes(end),
    ),
    [],
  );
  const metrics = (await send(proxy.url, 'GET', '/metrics')).text;
  t.match(metrics, /throughline_\w*recovered\w* \d+/);
  proxy.kill('SIGTERM');
  t.equal((await proxy.ended).code, 0);
});

/** One data directory and the processes that follow each other on it, test by test. */
const lived = await house(t, '  store_model_in_db: true\n');
const begin = () => serveCli(t, lived.config, lived.dataDir);
let current = await begin();
const RUNTIME_MODEL = {
  model_name: 'runtime',
  litellm_params: { model: 'litellm_proxy/demo', api_base: lived.demo.url, api_key: 'sk-runtime' },
};

t.test(
  'a second process on the same data directory is refused in one sentence, and the first goes on',
  async (t) => {
    const { config, dataDir } = lived;
    const second = await runCli(t, ['serve', '--config', config, '--port', '0', '--data-dir', dataDir]);
    t.equal(second.code, 1);
    t.match(
      second.err,
      new RegExp(
        `^throughline: the data directory ${dataDir} is in use by another Throughline process \\(pid ${current.pid} on .*\\) - stop .*--data-dir\\n$`,
      ),
    );
    t.equal((await send(current.url, 'POST', '/v1/chat/completions', chatOf('demo', false))).status, 200);
  },
);

t.test(
  'a runtime model survives kill -9 when the answer said so, and the lock ends with its holder',
  async (t) => {
    const added = await send(current.url, 'POST', '/model/new', RUNTIME_MODEL);
    current.kill('SIGKILL');
    t.match(JSON.parse(added.text), { persisted: true, message: /survives a restart/ });
    await current.ended;
    current = await begin();
    t.equal((await allRows(current.url)).length, 1);
    const answer = await send(current.url, 'POST', '/v1/chat/completions', chatOf('runtime', false));
    t.equal(answer.status, 200);
    t.equal(headerOf(lived.demo.seen.at(-1)?.rawHeaders ?? [], 'authorization'), 'Bearer sk-runtime');
  },
);

t.test('a runtime model is gone after kill -9 when the answer said that', async (t) => {
  const { config, dataDir } = await house(t);
  const proxy = await serveCli(t, config, dataDir);
  const added = await send(proxy.url, 'POST', '/model/new', RUNTIME_MODEL);
  proxy.kill('SIGKILL');
  t.match(JSON.parse(added.text), { persisted: false, message: /gone after a restart/ });
  await proxy.ended;
  const next = await serveCli(t, config, dataDir);
  t.equal((await send(next.url, 'POST', '/v1/chat/completions', chatOf('runtime', false))).status, 404);
});

t.test('SIGTERM lets a running stream end, refuses newcomers, writes the rows and exits 0', async (t) => {
  const { demo } = lived;
  const before = demo.seen.length;
  const call = openCall(current.url, '/v1/chat/completions', chatOf('demo-hold', true), {
    'x-litellm-session-id': 'drained',
  });
  await demo.waitFor(before + 1);
  current.kill('SIGTERM');
  await current.said(/"msg":"stopping"/);
  await t.rejects(send(current.url, 'GET', '/health/liveness'), { code: 'ECONNREFUSED' });
  demo.release();
  t.match(await call.received('[DONE]'), /"content":/);
  const { code, out } = await current.ended;
  t.equal(code, 0);
  t.match(out, /"msg":"stopped"/);
  current = await begin();
  t.match(await rowsOfSession(current.url, 'drained'), [{ status: 'success', end_reason: 'complete' }]);
});

t.test('a second SIGTERM ends what still runs with an error event; its row is written', async (t) => {
  const call = openCall(current.url, '/v1/chat/completions', chatOf('demo-stall', true), {
    'x-litellm-session-id': 'cut',
  });
  await call.received('data:');
  current.kill('SIGTERM');
  await current.said(/"msg":"stopping"/);
  current.kill('SIGTERM');
  t.match(await call.received('shutting_down'), /data: \{"error":\{[^}]*"code":"shutting_down"\}\}\n\n$/);
  t.equal((await current.ended).code, 0);
  t.equal(await lived.demo.seen.at(-1)?.finished, 'aborted', 'the upstream call was cut, too');
  const { ledger } = await ledgerOf(t, lived.dataDir);
  const rows = await recordsOf(ledger);
  t.match(
    rows.filter(({ sessionId }) => sessionId === 'cut'),
    [{ status: 'failure', endReason: 'stopped', errorSource: 'proxy' }],
  );
  await ledger.close(CLOSE_MS);
});

t.test(
  'disk full: 503 with a clear text and not ready, a running stream ends, and all goes on once there is room',
  { skip: noSmallDisk() },
  async (t) => {
    const { demo, config, dataDir } = await house(t);
    const journal = join(dataDir, 'journal');
    const disk = smallDisk(t, journal);
    const proxy = await serveCli(t, config, dataDir, ['--log-level', 'info']);
    const running = openCall(proxy.url, '/v1/chat/completions', chatOf('demo-hold', true), {
      'x-litellm-session-id': 'running',
    });
    await demo.waitFor(1);
    disk.fill();

    let refused = await send(proxy.url, 'POST', '/v1/chat/completions', chatOf('demo', false));
    for (let n = 0; n < 50 && refused.status === 200; n += 1) {
      refused = await send(proxy.url, 'POST', '/v1/chat/completions', chatOf('demo', false)); // fills the last page
    }
    const served = demo.seen.length;
    t.equal(refused.status, 503);
    t.match(JSON.parse(refused.text), {
      error: { code: 'journal_unwritable', message: /^Spend records cannot be written/ },
    });
    t.equal(refused.headers['x-litellm-error-source'], 'proxy');
    t.equal(refused.headers['retry-after'], '5');
    const readiness = await send(proxy.url, 'GET', '/health/readiness');
    t.equal(readiness.status, 503);
    t.match(JSON.parse(readiness.text), {
      status: 'unhealthy',
      reason: /ENOSPC/,
      journal: { writable: false },
    });
    t.equal(
      (await send(proxy.url, 'GET', '/health/liveness')).status,
      200,
      'alive: a restart would not help',
    );
    t.equal((await send(proxy.url, 'GET', '/v1/models')).status, 200, 'listings go on');
    demo.release();
    await running.received('[DONE]');
    t.match((await send(proxy.url, 'GET', '/metrics')).text, /rows_at_risk [1-9]/);
    t.equal(demo.seen.length, served, 'nothing went upstream without a record');

    disk.free();
    await proxy.said(/"journal_writable"/);
    t.equal((await send(proxy.url, 'GET', '/health/readiness')).status, 200);
    t.equal((await send(proxy.url, 'POST', '/v1/chat/completions', chatOf('demo', false))).status, 200);
    const rows = await allRows(proxy.url);
    t.match(
      rows.find((row) => row['session_id'] === 'running'),
      { status: 'success', end_reason: 'complete' },
    );
    t.ok(
      rows.some((row) => row['end_reason'] === 'refused' && row['http_status'] === 503),
      'refused ones have a row, too',
    );
    t.equal(
      rows.filter((row) => row['status'] === 'success').length,
      demo.seen.length,
      'one row for each upstream request',
    );
    proxy.kill('SIGTERM');
    t.equal((await proxy.ended).code, 0);
  },
);
