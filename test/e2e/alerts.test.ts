// Alerts of a running proxy: from a call that uses a budget up to the receiver, also when the proxy is killed between.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startDemoGateway, type DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { receiver } from '../support/alert-receiver.ts';
import { ManualClock } from '../support/clock.ts';
import { folder, serveCli } from '../support/cli.ts';
import { managed, newKey } from '../support/manage.ts';
import { beforeNextLook } from '../support/patience.ts';
import { ownPostgres } from '../support/postgres.ts';
import { chat, KEY, send, startRig } from '../support/rig.ts';

const config = (demo: DemoGateway, more: string): string => `
model_list:
  - model_name: demo
    litellm_params:
      model: litellm_proxy/demo
      api_base: "${demo.url}"
      input_cost_per_token: 0.001
      output_cost_per_token: 0.001
general_settings:
  master_key: ${KEY}
${more}`;

const SOFT = 'budgets: [{ scope: proxy, soft_budget: 0.000001, budget_duration: 1d }]\n';

interface Told {
  readonly id: string;
  readonly kind: string;
  readonly scope?: string;
  readonly key_alias?: string | null;
}
const told = ({ body }: { readonly body: string }): Told => JSON.parse(body) as Told;

t.test("the dialect's channels are told of a soft budget once, and metrics count it", async (t) => {
  const [slack, webhook] = [await receiver(t), await receiver(t)];
  const rig = await startRig(t, {
    config: (demo) => config(demo, `  alerting: [slack, webhook]\n  alert_types: [budget_alerts]\n${SOFT}`),
    env: { SLACK_WEBHOOK_URL: `${slack.url}/services/T0/B0/secret`, WEBHOOK_URL: webhook.url },
  });
  for (let n = 0; n < 3; n++) t.equal((await chat(rig, 'demo')).status, 200);
  await Promise.all([slack.got(() => true), webhook.got(() => true)]);
  t.match(webhook.seen.map(told), [
    { kind: 'soft_budget', event: 'soft_budget_crossed', event_group: 'proxy' },
  ]);
  t.match(slack.seen, [
    { path: '/services/T0/B0/secret', body: /^\{"text":"Soft budget reached: the proxy has spent / },
  ]);
  const metrics = await send(rig.url, 'GET', '/metrics');
  t.match(metrics.text, /^throughline_alerts_total\{kind="soft_budget",outcome="raised"\} 1$/m);
  t.equal(rig.log.filter((line) => line['event'] === 'soft_budget').length, 1);
  t.notMatch(JSON.stringify(rig.log), 'B0');
  await rig.stop();
  t.equal(webhook.seen.length, 1);
});

t.test('a receiver that never answers delays no call', async (t) => {
  const hook = await receiver(t);
  hook.answersAlways('never');
  const rig = await startRig(t, {
    config: (demo) => config(demo, `${SOFT}alerts: { webhooks: [{ name: slow, url: "${hook.url}" }] }\n`),
  });
  t.equal((await chat(rig, 'demo')).status, 200);
  await hook.got(() => true);
  t.equal((await chat(rig, 'demo')).status, 200);
  await hook.close();
  await rig.logged((line) => line['channel'] === 'slow');
});

t.test('a key that is about to expire is told once, also over a restart', async (t) => {
  const hook = await receiver(t);
  const dir = folder(t);
  const options = {
    folder: dir,
    config: (demo: DemoGateway) =>
      config(demo, `alerts: { key_expiry_days: 14, webhooks: [{ name: a, url: "${hook.url}" }] }\n`),
  };
  const first = await startRig(t, options);
  await newKey(first, { key_alias: 'soon', duration: '10d' });
  await newKey(first, { key_alias: 'later', duration: '15d' });
  await managed(first, 'GET /key/list');
  await first.stop();
  const second = await startRig(t, options);
  await hook.got(() => true);
  await second.stop();
  const third = await startRig(t, options);
  await third.stop();
  t.match(hook.seen.map(told), [{ kind: 'key_expiring', key_alias: 'soon' }]);
});

t.test('an hour that costs far more than on other days is told of', async (t) => {
  const hook = await receiver(t);
  const clock = new ManualClock(Date.UTC(2026, 10, 17, 10, 30));
  const rule = `{ min_cost_per_hour: 0.000001, factor: 4, scopes: [proxy] }`;
  const options = {
    folder: folder(t),
    clock,
    config: (demo: DemoGateway) =>
      config(demo, `alerts: { spend_anomaly: ${rule}, webhooks: [{ name: a, url: "${hook.url}" }] }\n`),
  };
  const first = await startRig(t, options);
  for (let day = 0; day < 3; day += 1) {
    t.equal((await chat(first, 'demo')).status, 200);
    clock.advance(86_400_000);
  }
  for (let n = 0; n < 5; n += 1) t.equal((await chat(first, 'demo')).status, 200);
  await first.stop();
  const second = await startRig(t, options); // looks at the start, then every five minutes
  const { body } = await hook.got(() => true);
  const { usual_usd, spent_usd } = JSON.parse(body) as Record<string, string>;
  t.match(JSON.parse(body), {
    kind: 'spend_anomaly',
    event_group: 'proxy',
    hour_start: '2026-11-20T10:00:00.000Z',
  });
  t.equal(Number(spent_usd), 5 * Number(usual_usd));
  t.match(
    (await send(second.url, 'GET', '/metrics')).text,
    /alerts_total\{kind="spend_anomaly",outcome="raised"\} 1/,
  );
});

t.test('an alert outlives kill -9 of the proxy and a receiver that was down', async (t) => {
  const demo = await startDemoGateway({});
  t.teardown(() => demo.close());
  const dir = folder(t);
  const away = await receiver(t);
  const file = join(dir, 'gateway.yaml');
  const kept = `{ name: a, url: "${away.url}", secret: sk-secret-of-this-test }`;
  const gone = `{ name: gone, url: "http://127.0.0.1:9" }`;
  writeFileSync(file, config(demo, `${SOFT}alerts: { webhooks: [${kept}, ${gone}] }\n`));
  away.answersAlways(503);
  const first = await serveCli(t, file, join(dir, 'data'));
  t.equal((await chat(first, 'demo')).status, 200);
  const refused = await away.got(() => true);
  first.kill('SIGKILL');
  await first.ended;
  away.answersAlways(200);
  const before = away.seen.length;
  const second = await startRig(t, {
    folder: dir,
    config: () => config(demo, `${SOFT}alerts: { webhooks: [${kept}] }\n`),
  });
  t.equal((await chat(second, 'demo')).status, 200);
  const taken = await away.got((received) => away.seen.indexOf(received) >= before);
  t.equal(taken.body, refused.body);
  t.match(taken.headers['x-throughline-signature'], /^sha256=[0-9a-f]{64}$/);
  await second.stop();
  t.equal(away.seen.length, before + 1);
});

t.test('several workers tell an event once', async (t) => {
  const demo = await startDemoGateway({});
  t.teardown(() => demo.close());
  const dir = folder(t);
  const hook = await receiver(t);
  const file = join(dir, 'gateway.yaml');
  writeFileSync(file, config(demo, `${SOFT}alerts: { webhooks: [{ name: a, url: "${hook.url}" }] }\n`));
  const proxy = await serveCli(t, file, join(dir, 'data'), ['--workers', '2']);
  // Each on a connection of its own: both workers get some.
  const calls = Array.from({ length: 24 }, async () => (await chat(proxy, 'demo')).status);
  t.same([...new Set(await Promise.all(calls))], [200]);
  await hook.got(() => true);
  proxy.kill('SIGTERM');
  t.match(await proxy.ended, { code: 0 });
  t.equal(hook.seen.length, 1);
});

const idOf = async ({ url }: { readonly url: string }): Promise<string> => {
  for (;;) {
    const { text } = await send(url, 'GET', '/alerts');
    const [first] = (JSON.parse(text) as { readonly alerts: readonly { readonly id: string }[] }).alerts;
    if (first !== undefined) return first.id;
    await beforeNextLook();
  }
};

/** By whom the first alert is acknowledged. */
const seenBy = async ({ url }: { readonly url: string }): Promise<unknown> => {
  const { text } = await send(url, 'GET', '/alerts');
  const { alerts } = JSON.parse(text) as { readonly alerts: readonly { readonly acknowledged: unknown }[] };
  return alerts[0]?.acknowledged;
};

t.test('an acknowledgement holds in every worker, and after kill -9', async (t) => {
  const demo = await startDemoGateway({});
  t.teardown(() => demo.close());
  const dir = folder(t);
  const file = join(dir, 'gateway.yaml');
  writeFileSync(file, config(demo, SOFT));
  const proxy = await serveCli(t, file, join(dir, 'data'), ['--workers', '2']);
  t.equal((await chat(proxy, 'demo')).status, 200);
  const path = `/alerts/${await idOf(proxy)}/acknowledge`;
  t.equal((await send(proxy.url, 'POST', path, { note: 'seen' })).status, 200);
  // On connections in turn: with two workers, both have been asked.
  for (let n = 0; n < 8; n += 1) t.match(await seenBy(proxy), { by: 'master key', note: 'seen' });
  proxy.kill('SIGKILL');
  await proxy.ended;
  const second = await startRig(t, { folder: dir, config: () => config(demo, SOFT) });
  t.equal((await chat(second, 'demo')).status, 200);
  t.match(await seenBy(second), { by: 'master key', note: 'seen' });
});

t.test('an acknowledgement at one server holds at the others of the database', async (t) => {
  const postgres = await ownPostgres(t);
  if (postgres === null) return t.comment('NEEDS POSTGRESQL: not tested here');
  const settings = `  database_url: "${postgres.url()}"\n${SOFT}`;
  const options = { config: (demo: DemoGateway) => config(demo, settings) };
  const [one, other] = [await startRig(t, options), await startRig(t, options)];
  t.equal((await chat(one, 'demo')).status, 200);
  const id = await idOf(other);
  t.equal((await send(other.url, 'POST', `/alerts/${id}/acknowledge`, {})).status, 200);
  t.match(await seenBy(one), { by: 'master key', note: null });
  t.equal((await chat(other, 'demo')).status, 200, 'it tells the same budget');
  await other.logged(({ event }) => event === 'soft_budget');
  t.match(await seenBy(other), { by: 'master key' });
  t.equal((await send(one.url, 'POST', `/alerts/${id}/reopen`, {})).status, 200);
  t.equal(await seenBy(other), null);
});
