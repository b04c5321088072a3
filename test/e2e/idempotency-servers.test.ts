// Calls with an Idempotency-Key that reach several processes: two servers on one Valkey, one of them killed, Valkey
// restarted, and two workers of one server. What is killed, and workers, are the real program.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startDemoGateway, type DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder, serveCli } from '../support/cli.ts';
import { beforeNextLook } from '../support/patience.ts';
import { defaultConfig, send, startRig, type Answer, type Rig } from '../support/rig.ts';
import { ownValkey, type ValkeyServer } from '../support/valkey.ts';

const body = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'one two three' }],
  ...more,
});
const ask = (url: string, model: string, key: string, more: object = {}): Promise<Answer> =>
  send(url, 'POST', '/v1/chat/completions', body(model, more), { 'idempotency-key': key });
/**
 * A call that must not go on without Valkey: on a busy machine that answers late now and then, which is refused, and the
 * client asks again.
 */
async function askClosed(url: string, model: string, key: string): Promise<Answer> {
  for (;;) {
    const answer = await ask(url, model, key);
    if (answer.status !== 503 || !answer.text.includes('counters_unavailable')) return answer;
    await beforeNextLook();
  }
}
const isReplayed = ({ headers }: Answer): boolean => headers['idempotent-replayed'] === 'true';

function configOf(demo: DemoGateway, valkey: ValkeyServer, more = '{}'): string {
  const router = `router_settings: { redis_host: 127.0.0.1, redis_port: ${valkey.port} }\n`;
  return defaultConfig(demo, `  idempotency: ${more}\n${router}`);
}

/** A server in this process, which waits for Valkey however late that answers. */
const startServer = (t: Test, config: string): Promise<Rig> => startRig(t, { config: () => config });

async function metric(url: string, name: string): Promise<number> {
  const { text } = await send(url, 'GET', '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? NaN);
}

t.test('two servers make one call of two with the same key', async (t) => {
  const valkey = await ownValkey(t);
  if (valkey === null) return;
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const config = configOf(demo, valkey);
  const [a, b] = [await startServer(t, config), await startServer(t, config)];
  const first = ask(a.url, 'demo-hold', 'k');
  await demo.waitFor(1);
  const others = [ask(b.url, 'demo-hold', 'k'), ask(b.url, 'demo-hold', 'k'), ask(a.url, 'demo-hold', 'k')];
  const mismatch = await ask(b.url, 'demo-hold', 'k', { temperature: 1 });
  t.match([mismatch.status, JSON.parse(mismatch.text).error.code], [422, 'idempotency_mismatch']);
  while ((await metric(b.url, 'throughline_idempotency_elsewhere_total')) < 2) await beforeNextLook();
  demo.release();
  const answer = await first;
  const replayed = await Promise.all(others);
  t.equal(answer.status, 200);
  t.ok(replayed.every(isReplayed));
  for (const one of [...replayed, await ask(b.url, 'demo-hold', 'k')]) t.same(one.body, answer.body);
  t.equal(demo.seen.length, 1, 'paid once');

  t.equal((await ask(b.url, 'demo', 'stream', { stream: true })).status, 200);
  let stream = await ask(a.url, 'demo', 'stream', { stream: true });
  while (stream.text.includes('is still running'))
    stream = await ask(a.url, 'demo', 'stream', { stream: true });
  t.match([stream.status, JSON.parse(stream.text).error.code], [409, 'idempotency_conflict']);
  t.match(stream.text, 'has ended (complete, with status 200)');

  const failed = await ask(a.url, 'demo-503', 'failed');
  t.equal(failed.status, 503);
  t.notOk(isReplayed(await ask(b.url, 'demo-503', 'failed')), 'what cost nothing is tried again');

  await valkey.kill();
  const seen = demo.seen.length;
  while ((await metric(a.url, 'throughline_counters_degraded')) !== 1) await beforeNextLook();
  await ask(a.url, 'demo', 'alone');
  await ask(b.url, 'demo', 'alone');
  t.equal(demo.seen.length, seen + 2, 'without Valkey each server knows its own calls alone');
  t.ok(isReplayed(await ask(a.url, 'demo', 'alone')));
  t.equal(await metric(a.url, 'throughline_idempotency_alone_total'), 1);
  await valkey.start();
  for (const { url } of [a, b])
    while ((await metric(url, 'throughline_counters_degraded')) !== 0) await beforeNextLook();
  t.ok(
    isReplayed(await ask(b.url, 'demo-hold', 'k')),
    'a restart of Valkey forgets no answer of a server that lives',
  );
});

t.test('the key of a server that was killed is free after its lease', async (t) => {
  const valkey = await ownValkey(t);
  if (valkey === null) return;
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const text = configOf(demo, valkey, '{ fail_closed: true }');
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, text);
  const [a, b] = [await serveCli(t, config, join(dir, 'data')), await startServer(t, text)];
  const first = askClosed(a.url, 'demo-hold', 'k').catch(() => null);
  await demo.waitFor(1);
  const again = askClosed(b.url, 'demo-hold', 'k');
  while ((await metric(b.url, 'throughline_idempotency_elsewhere_total')) < 1) await beforeNextLook();
  a.kill('SIGKILL');
  await Promise.all([a.ended, first]);
  const [servers = ''] = (await valkey.ask('KEYS', '*:servers')) as string[];
  const all = (await valkey.ask('ZRANGE', servers, '0', '-1')) as string[];
  for (const one of all) await valkey.ask('ZADD', servers, '1', one); // half a minute later; who lives says so each second
  await demo.waitFor(2);
  demo.release();
  t.match([(await again).status, isReplayed(await again)], [200, false]);
  await valkey.kill();
  while ((await metric(b.url, 'throughline_counters_degraded')) !== 1) await beforeNextLook();
  const refused = await ask(b.url, 'demo', 'new');
  t.match([refused.status, JSON.parse(refused.text).error.code], [503, 'counters_unavailable']);
  t.equal(
    (await send(b.url, 'POST', '/v1/chat/completions', body('demo'))).status,
    200,
    'calls without a key go on',
  );
});

t.test('two workers make one call of many with the same key', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, defaultConfig(demo, '  idempotency: {}\n'));
  const { url } = await serveCli(t, config, join(dir, 'data'), ['--workers', '2']);
  const calls = Array.from({ length: 6 }, () => ask(url, 'demo-hold', 'k'));
  await demo.waitFor(1);
  await send(url, 'GET', '/health/liveness');
  demo.release();
  const answers = await Promise.all(calls);
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.equal(answers.filter((answer) => !isReplayed(answer)).length, 1);
  for (let n = 0; n < 4; n += 1) t.ok(isReplayed(await ask(url, 'demo-hold', 'k')), 'on whichever worker');
  t.equal(demo.seen.length, 1);
});
