// The real program with two workers, seen from outside as one proxy: connections are shared out, a change reaches
// both, figures and rows are those of the whole, and it ends in order.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { identityOf } from '../../config/read.ts';
import { startDemoGateway, type DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { ConfigWatcher } from '../../proxy/server/config-watcher.ts';
import { openCall } from '../support/call.ts';
import { folder, runCli, runWithin, serveCli, startCli, workersOf } from '../support/cli.ts';
import { freePort } from '../support/free-port.ts';
import { PageClient } from '../support/page-client.ts';
import { defaultConfig, KEY, send, type Row } from '../support/rig.ts';
import { beforeNextLook } from '../support/patience.ts';

const BODY = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
const STORED = '  store_model_in_db: true\n';

interface House {
  readonly demo: DemoGateway;
  readonly dir: string;
  readonly config: string;
  readonly dataDir: string;
}

async function house(t: Test, more = ''): Promise<House> {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, defaultConfig(demo, more));
  return { demo, dir, config, dataDir: join(dir, 'data') };
}

interface Line {
  readonly worker?: number;
  readonly msg?: string;
  readonly call_id?: string;
}

/** What the program has logged, once it has ended. */
const linesOf = (out: string): Line[] =>
  out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

/** The answer to `path` on eight connections in turn: with two workers, both have been asked. */
async function everywhere(url: string, path: string): Promise<Set<string>> {
  const texts = new Set<string>();
  for (let n = 0; n < 8; n += 1) texts.add((await send(url, 'GET', path)).text);
  return texts;
}

const metric = (text: string, line: string): number =>
  Number(
    text
      .split('\n')
      .find((one) => one.startsWith(`${line} `))
      ?.split(' ')
      .at(-1) ?? NaN,
  );

const REQUESTS =
  'throughline_requests_total{model="demo",call_type="acompletion",status="success",end_reason="complete"}';

/** One data directory and the two processes that follow each other on it: a start of two workers costs three processes. */
const shared = await house(t, STORED);
const begin = () => serveCli(t, shared.config, shared.dataDir, ['--workers', '2']);
let proxy = await begin();
/** Calls of the first one. */
const ids: string[] = [];

t.test(
  'connections one after another are shared out, and figures and rows are those of the whole',
  async (t) => {
    for (let n = 0; n < 10; n += 1) {
      const answer = await send(proxy.url, 'POST', '/v1/chat/completions', BODY);
      ids.push(String(answer.headers['x-litellm-call-id']));
      const rows = JSON.parse((await send(proxy.url, 'GET', '/spend/logs')).text) as Row[];
      t.same(
        rows.map((row) => row['request_id']).toSorted(),
        ids.toSorted(),
        'whichever worker is asked, it knows the rows of both',
      );
      t.equal(metric((await send(proxy.url, 'GET', '/metrics')).text, REQUESTS), n + 1);
    }
    const readiness = JSON.parse((await send(proxy.url, 'GET', '/health/readiness')).text) as object;
    t.match(readiness, {
      status: 'healthy',
      db: 'connected',
      keys_loaded: true,
      journal: { writable: true, rows_at_risk: 0 },
      workers: { configured: 2, serving: 2 },
    });
    const text = (await send(proxy.url, 'GET', '/metrics')).text;
    t.equal(metric(text, 'throughline_workers'), 2);
    t.equal(metric(text, 'throughline_spend_rows_written_total'), 10);
    t.match(text, /^throughline_config_info\{version="[0-9a-f]{12}"\} 1$/m);
    t.equal(
      metric(text, 'throughline_config_reloads_total{result="applied"}'),
      1,
      'the files were read once',
    );
  },
);

t.test('the console sees the whole, and a session of it is one of both workers until it ends', async (t) => {
  const chain = JSON.parse((await send(proxy.url, 'GET', '/chain')).text) as object;
  t.match(chain, {
    proxy: { workers: { configured: 2, serving: 2, silent: [] } },
    traffic: { calls: 10, calls_per_minute: 10 },
    ledger: { writable: true },
  });
  const page = new PageClient(proxy.url);
  t.equal((await page.signIn(KEY)).status, 200);
  const codes = async (): Promise<unknown[]> => {
    const all = new Set<unknown>();
    for (let n = 0; n < 8; n += 1) all.add((await page.call('GET', '/model/info')).status);
    return [...all];
  };
  t.same(await codes(), [200]);
  const copy = new Map(page.cookies);
  t.equal((await page.call('DELETE', '/ui/session')).status, 204);
  for (const [name, value] of copy) page.cookies.set(name, value);
  // The other worker learns of it within a moment.
  while ((await codes()).includes(200)) await beforeNextLook();
  t.same(await codes(), [401]);
});

t.test('an admin change is in both workers when it is answered; what is stored comes back', async (t) => {
  const { demo } = shared;
  const entry = (name: string): object => ({
    model_name: name,
    litellm_params: { model: 'litellm_proxy/demo', api_base: demo.url, api_key: 'sk-upstream-secret' },
  });
  const names = Array.from({ length: 6 }, (_, n) => `added-${n}`);
  // At once and over several connections, so that both workers change the list at the same time.
  const added = await Promise.all(names.map((name) => send(proxy.url, 'POST', '/model/new', entry(name))));
  t.same(
    added.map(({ status }) => status),
    names.map(() => 200),
  );
  const lists = await everywhere(proxy.url, '/v1/models');
  t.equal(lists.size, 1, 'both list the same models');
  for (const name of names) t.match([...lists][0], `"id":"${name}"`);
  const first = JSON.parse(added[0]?.text ?? '{}') as { model_id: string; persisted: boolean };
  t.equal(first.persisted, true);
  const gone = await send(proxy.url, 'POST', '/model/delete', { id: first.model_id });
  t.equal(gone.status, 200);
  const after = await everywhere(proxy.url, '/v1/models');
  t.equal(after.size, 1);
  t.notMatch([...after][0], '"id":"added-0"');
  const refused = await send(proxy.url, 'POST', '/model/new', { model_name: 'x', litellm_params: {} });
  t.equal(refused.status, 400);
  proxy.kill('SIGTERM');
  const { code, out, err } = await proxy.ended;
  t.equal(code, 0);
  t.equal(err.match(/throughline serves/g)?.length, 1, 'one line says that it serves');
  const calls = linesOf(out).filter((line) => ids.includes(line.call_id ?? ''));
  const share = [1, 2].map((worker) => calls.filter((line) => line.worker === worker).length);
  t.equal(calls.length, 10, 'each line names its worker');
  t.ok(Math.min(...share) >= 3, `shares: ${share}`);
  proxy = await begin();
  t.same(await everywhere(proxy.url, '/v1/models'), after, 'and after a restart');
});

t.test(
  'a worker that is replaced serves models that were never stored, and the configuration of the others',
  async (t) => {
    const { demo, config, dataDir } = await house(t);
    const proxy = await serveCli(t, config, dataDir, ['--workers', '2']);
    const entry = {
      model_name: 'in-memory',
      litellm_params: { model: 'litellm_proxy/demo', api_base: demo.url, api_key: 'sk-upstream-secret' },
    };
    t.equal((await send(proxy.url, 'POST', '/model/new', entry)).status, 200);
    writeFileSync(config, 'model_list: [{}]\n'); // what is on the disk now could not be started with
    await proxy.said(/"msg":"configuration refused"/);
    const call = openCall(proxy.url, '/v1/chat/completions', { ...BODY, model: 'demo-hold', stream: true });
    await demo.waitFor(1);
    const [worker] = workersOf(proxy.pid);
    process.kill(worker as number, 'SIGKILL');
    call.leave();
    await proxy.said(/"msg":"the replaced worker serves"/);
    const lists = await everywhere(proxy.url, '/v1/models');
    t.equal(lists.size, 1);
    t.match([...lists][0], '"id":"in-memory"');
    const states = [...(await everywhere(proxy.url, '/health/readiness'))].map(
      (text) => (JSON.parse(text) as { config: { last_reload: string; version: string } }).config,
    );
    t.equal(new Set(states.map(({ version }) => version)).size, 1);
    t.same(
      new Set(states.map(({ last_reload }) => last_reload)),
      new Set(['refused']),
      'both know of the refusal',
    );
  },
);

t.test('a written file, and SIGHUP, reach both workers with one version', async (t) => {
  const { demo, config } = shared;
  writeFileSync(config, defaultConfig(demo, STORED).replace('model_name: compat\n', 'model_name: renamed\n'));
  await proxy.said(/"msg":"configuration applied"/);
  // The line is written when the first worker serves it; that the other one does is told by the next change.
  proxy.kill('SIGHUP');
  let metrics: string;
  for (;;) {
    metrics = (await send(proxy.url, 'GET', '/metrics')).text;
    if (/result="unchanged"\} 1$/m.test(metrics)) break;
    await beforeNextLook();
  }
  t.equal(metrics.match(/^throughline_config_info\{/gm)?.length, 1, 'one version in all');
  const lists = await everywhere(proxy.url, '/v1/models');
  t.equal(lists.size, 1);
  t.match([...lists][0], '"id":"renamed"');
});

t.test(
  'health checks are switched on and off in all workers, and what they found goes with them',
  async (t) => {
    const { demo, config, dataDir } = await house(t);
    const proxy = await serveCli(t, config, dataDir, ['--workers', '2']);
    const text = (checks: string): string =>
      defaultConfig(demo, checks).replace(`${demo.url}/compat/v1`, 'http://127.0.0.1:9/v1');
    /** Answered when all workers serve it, whoever has noticed the file first. */
    const reload = async (checks: string): Promise<void> => {
      writeFileSync(config, text(checks));
      t.equal((await send(proxy.url, 'POST', '/config/reload', {})).status, 200);
    };
    const states = async (): Promise<string[]> =>
      (await send(proxy.url, 'GET', '/metrics')).text.match(/^throughline_deployment_state\{.* \d+$/gm) ?? [];
    await reload('  background_health_checks: true\n');
    while (!(await states()).some((line) => line.endsWith(' 3'))) await beforeNextLook(); // of the worst
    await reload('');
    t.same(await states(), []);
  },
);

t.test('a change is read when the worker that was to read it has died, and when nobody served', async (t) => {
  const { demo, config, dataDir } = await house(t);
  // One that the system chose would be another one once nobody has it.
  const port = String(await freePort());
  const proxy = await serveCli(t, config, dataDir, ['--workers', '2', '--port', port]);
  const noticed = Promise.withResolvers<void>();
  const watcher = new ConfigWatcher(() => noticed.resolve());
  t.teardown(() => watcher.close());
  watcher.follow(new Map([[config, identityOf(config)]]));
  const workers = workersOf(proxy.pid);
  for (const pid of workers) process.kill(pid, 'SIGSTOP');
  writeFileSync(config, defaultConfig(demo).replace('model_name: compat\n', 'model_name: renamed\n'));
  await noticed.promise;
  for (let n = 0; n < 10; n += 1) await beforeNextLook(); // the supervisor has noticed it as well by then, mostly
  for (const pid of workers) process.kill(pid, 'SIGKILL');
  await proxy.said(/"msg":"configuration applied"/);
  t.equal((await send(proxy.url, 'POST', '/config/reload', {})).status, 200); // all serve it now
  const lists = await everywhere(proxy.url, '/v1/models');
  t.equal(lists.size, 1);
  t.match([...lists][0], '"id":"renamed"');
});

t.test('an object made by one worker is found by the other', async (t) => {
  const made = await send(proxy.url, 'POST', '/v1/responses', { model: 'demo', input: 'Hello' });
  const { id } = JSON.parse(made.text) as { id: string };
  for (let n = 0; n < 4; n += 1) {
    const found = await send(proxy.url, 'GET', `/v1/responses/${id}`);
    t.equal(found.status, 200, found.text);
  }
});

t.test('what one worker finds of a deployment the other one hears', async (t) => {
  const entry = (model: string, order: number): object => ({
    model_name: 'pair',
    litellm_params: { model, api_base: shared.demo.url, api_key: 'sk-x', order },
  });
  for (const one of [entry('litellm_proxy/demo-429', 1), entry('litellm_proxy/demo', 2)])
    t.equal((await send(proxy.url, 'POST', '/model/new', one)).status, 200);
  t.equal((await send(proxy.url, 'POST', '/v1/chat/completions', { ...BODY, model: 'pair' })).status, 200);
  const learned = 'throughline_cooldowns_from_others_total{model="pair"}';
  const metrics = async (): Promise<string> => (await send(proxy.url, 'GET', '/metrics')).text;
  while (metric(await metrics(), learned) !== 1) await beforeNextLook();
});

t.test('what hinders the start is said once; the exit codes are those of a single process', async (t) => {
  const { demo, dir, config } = await house(t);
  const start = (...more: string[]) =>
    runCli(t, ['serve', '--config', config, '--host', '127.0.0.1', '--workers', '2', ...more]);
  const locked = await start('--port', '0', '--data-dir', shared.dataDir);
  t.match(locked, {
    code: 1,
    err: new RegExp(`^throughline: the data directory .* \\(pid ${proxy.pid} on .*\\n$`),
  });
  await t.rejects(
    runWithin(['serve', '--config', config, '--port', '0', '--data-dir', shared.dataDir]),
    { name: 'CannotStart', message: /is in use by another Throughline process/ },
    'so does a single process',
  );
  const taken = await start('--port', String(proxy.port), '--data-dir', join(dir, 'other'));
  t.match(taken, {
    code: 1,
    err: new RegExp(`^throughline: port ${proxy.port} of .* is in use [^\\n]*\\n$`),
  });
  const sentence = 'is not a number of workers - give a whole number of 1 to 128, or auto';
  for (const wrong of ['0', '1.5', 'many', '129'])
    await t.rejects(runWithin(['serve', '--config', config, '--workers', wrong]), {
      name: 'UsageError',
      message: `--workers ${wrong} ${sentence}`,
    });
  writeFileSync(config, 'model_list: [{}]\n');
  const refused = await start('--port', '0', '--data-dir', join(dir, 'third'));
  t.equal(refused.code, 1);
  t.equal(refused.err.match(/nothing was started/g)?.length, 1);

  writeFileSync(config, defaultConfig(demo, '  workers: 2\n'));
  const stated = await serveCli(t, config, join(dir, 'fourth'));
  t.equal(workersOf(stated.pid).length, 2, 'the configuration may say it');
  stated.kill('SIGKILL');
  const fewer = await serveCli(t, config, join(dir, 'fifth'), ['--workers', '1']);
  t.equal(workersOf(fewer.pid).length, 0, 'the flag comes first');
  fewer.kill('SIGKILL');
  const env = { NUM_WORKERS: '2', HOST: '127.0.0.1', PORT: '0', THROUGHLINE_DATA_DIR: join(dir, 'sixth') };
  const more = startCli(t, ['--config', config], { env });
  await more.said(/serves \d+ models/);
  t.equal(workersOf(more.pid).length, 2, 'and so does the environment');
});
