// When budgets will be used up, as metrics and reports say it: of a real proxy whose clock the test moves.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { runWithin } from '../support/cli.ts';
import { ManualClock } from '../support/clock.ts';
import { ownValkey } from '../support/valkey.ts';
import { list, managed, newKey } from '../support/manage.ts';
import { chat, KEY, send, startRig, type Rig } from '../support/rig.ts';

const NOW = Date.UTC(2026, 10, 18, 12);
const DAY = 86_400_000;

const config =
  (budgets: string, settings = '') =>
  ({ url }: { readonly url: string }): string => `
model_list:
  - model_name: demo
    litellm_params: { model: openai/acme/demo, api_base: "${url}/compat/v1", api_key: k, input_cost_per_token: 0, output_cost_per_token: 0.001 }
general_settings:
  master_key: ${KEY}
${settings}
budgets: ${budgets}
`;

/** What a metric says, by its labels. */
async function metric(rig: Rig, name: string): Promise<ReadonlyMap<string, number>> {
  const { text } = await send(rig.url, 'GET', '/metrics');
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf('} ');
      return [line.slice(name.length + 1, end), Number(line.slice(end + 2))];
    }),
  );
}

const CAPS = 'throughline_budget_max_usd';
const USED_UP = 'throughline_budget_used_up_timestamp_seconds';

t.test('metrics say when budgets of the configuration are used up', async (t) => {
  const clock = new ManualClock(NOW);
  const rules =
    '[{ scope: proxy, max_budget: 10 }, { scope: model, id: demo, max_budget: 10, budget_duration: 1d }]';
  const rig = await startRig(t, { clock, config: config(rules) });
  t.same(await metric(rig, USED_UP), new Map(), 'nothing was spent of late');
  t.equal((await chat(rig, 'demo', { max_tokens: 20 })).status, 200);
  clock.advance(6 * 60_000); // rates are read again
  const spent =
    (await metric(rig, 'throughline_budget_spent_usd')).get('scope="proxy",id="",budget="ever"') ?? 0;
  const secondsAt = (perMs: number): number => clock.now() / 1000 + (10 - spent) / perMs / 1000;
  const said = await metric(rig, USED_UP);
  for (const [rate, ms] of [
    ['day', DAY],
    ['fastest', DAY / 4],
    ['slowest', 7 * DAY],
  ] as const) {
    const at = said.get(`scope="proxy",id="",budget="ever",rate="${rate}"`) ?? NaN;
    t.ok(Math.abs(at - secondsAt(spent / ms)) < 1, `${rate}: ${at}`);
  }
  t.notOk(
    [...said.keys()].some((labels) => labels.includes('demo')),
    'not before it begins anew',
  );
  const resets = await metric(rig, 'throughline_budget_reset_timestamp_seconds');
  t.same([...resets], [['scope="model",id="demo",budget="1d"', Date.UTC(2026, 10, 19) / 1000]]);
});

t.test('of other budgets those are in the metrics that are used up furthest', async (t) => {
  const clock = new ManualClock(NOW);
  const settings = '  budget_metrics_limit: 2\n';
  const rig = await startRig(t, { clock, config: config('[]', settings) });
  const capOf = { low: 1_000, mid: 30, high: 20 };
  for (const [key_alias, max_budget] of Object.entries(capOf)) {
    const key = await newKey(rig, { key_alias, max_budget });
    t.equal((await chat(rig, 'demo', { max_tokens: 20 }, { authorization: `Bearer ${key}` })).status, 200);
  }
  await newKey(rig, { key_alias: 'unused', max_budget: 0 });
  const caps = await metric(rig, 'throughline_budget_max_usd');
  t.same([...caps.values()].sort(), [20, 30]);
  t.equal((await metric(rig, USED_UP)).size, 6);
  await rig.reconfigure(config('[]', '  budget_metrics_limit: 0\n')(rig.demo));
  t.equal((await metric(rig, 'throughline_budget_max_usd')).size, 0);
});

t.test('no metric of a budget holds the id of a session or an end user that a client has sent', async (t) => {
  const clock = new ManualClock(NOW);
  const each = 'litellm_settings: { max_budget_per_session: 5, max_end_user_budget: 5 }';
  const rig = await startRig(t, { clock, config: config(`[]\n${each}`) });
  const key = await newKey(rig, { max_budget: 9, metadata: { max_budget_per_session: 4 } });
  const own = { authorization: `Bearer ${key}`, 'x-litellm-session-id': 'session-1' };
  t.equal((await chat(rig, 'demo', { max_tokens: 20, user: 'somebody' }, own)).status, 200);
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.notMatch(text, /session-1|somebody/);
  t.same([...(await metric(rig, CAPS)).values()], [9]);
});

/** What metrics say of budgets over a restart. @param more of the configuration @param between done while no proxy runs */
async function overRestart(t: Test, more: string, between = (): Promise<void> => Promise.resolve()) {
  const clock = new ManualClock(NOW);
  const rules = '[{ scope: model, id: demo, max_budget: 10, budget_duration: 1mo }]';
  const text = config(`${rules}\n${more}`, '  budget_metrics_limit: 4\n');
  const rig = await startRig(t, { clock, config: text });
  await managed(rig, 'POST /team/new', { team_id: 'core', max_budget: 3 });
  await managed(rig, 'POST /team/new', { team_id: 'idle', max_budget: 4 });
  const keys = [
    { max_budget: 0.1, team_id: 'core' },
    { max_budget: 0.2, budget_duration: '1d' },
    { max_budget: 0.3, budget_duration: '14d' },
    { max_budget: 9 },
  ];
  for (const terms of keys) {
    const own = { authorization: `Bearer ${await newKey(rig, terms)}` };
    t.equal((await chat(rig, 'demo', { max_tokens: 20 }, own)).status, 200);
  }
  await newKey(rig, { max_budget: 5 });
  const names = [CAPS, 'throughline_budget_spent_usd', USED_UP];
  const told = async (of: Rig): Promise<unknown> =>
    await Promise.all(names.map(async (name) => [...(await metric(of, name))].sort()));
  const before = await told(rig);
  t.same(new Set((await metric(rig, CAPS)).values()), new Set([10, 3, 0.1, 0.2, 0.3]));
  await rig.stop();
  await between();
  const again = await startRig(t, { clock, config: text, folder: rig.folder });
  t.same(await told(again), before);
}

t.test('after a restart metrics show the budgets with spend before a call comes', async (t) => {
  await overRestart(t, '');
});

for (const isEmptied of [false, true])
  t.test(
    `the same where servers count in Valkey${isEmptied ? ', which has forgotten all' : ''}`,
    async (t) => {
      const valkey = await ownValkey(t);
      if (valkey === null) return;
      const router = `router_settings: { redis_host: 127.0.0.1, redis_port: ${valkey.port} }`;
      await overRestart(t, router, async () => {
        if (!isEmptied) return;
        await valkey.kill();
        await valkey.start();
      });
    },
  );

t.test('metrics show budgets as they are now, and none that is not there any more', async (t) => {
  const rules = '[{ scope: proxy, max_budget: 10 }, { scope: model, id: demo, max_budget: 10 }]';
  const rig = await startRig(t, { clock: new ManualClock(NOW), config: config(rules) });
  const caps = async (): Promise<number[]> => [...(await metric(rig, CAPS)).values()].sort((a, b) => a - b);
  const [deleted, renewed, changed] = [
    await newKey(rig, { max_budget: 0.1 }),
    await newKey(rig, { max_budget: 0.2 }),
    await newKey(rig, { max_budget: 0.3, budget_duration: '1d' }),
  ];
  for (const key of [deleted, renewed, changed])
    t.equal((await chat(rig, 'demo', { max_tokens: 20 }, { authorization: `Bearer ${key}` })).status, 200);
  t.same(await caps(), [0.1, 0.2, 0.3, 10, 10]);
  await managed(rig, 'POST /key/delete', { keys: [deleted] });
  await managed(rig, 'POST /key/regenerate', { key: renewed });
  await managed(rig, 'POST /key/update', { key: changed, max_budget: 0.4 });
  t.same(await caps(), [0.4, 10, 10], 'without a call between');
  await managed(rig, 'POST /key/update', { key: changed, budget_duration: '1mo' });
  t.same(await caps(), [10, 10]);
  await rig.reconfigure(config('[{ scope: proxy, max_budget: 20, budget_duration: 1d }]')(rig.demo));
  t.same(await caps(), []);
  t.equal((await chat(rig, 'demo', { max_tokens: 20 })).status, 200);
  t.same([...(await metric(rig, CAPS))], [['scope="proxy",id="",budget="1d"', 20]]);
});

t.test('a report of all budgets, those first that are used up first', async (t) => {
  const clock = new ManualClock(NOW);
  const rig = await startRig(t, {
    clock,
    config: config('[{ scope: proxy, max_budget: 1000000, soft_budget: 5, budget_duration: 1mo }]'),
  });
  await managed(rig, 'POST /team/new', { team_id: 'core', team_alias: 'Core', max_budget: 2 });
  const key = await newKey(rig, {
    key_alias: 'ci',
    team_id: 'core',
    max_budget: 0.1,
    budget_duration: '1mo',
  });
  t.equal((await chat(rig, 'demo', { max_tokens: 20 }, { authorization: `Bearer ${key}` })).status, 200);
  const { budgets, ...page } = await managed(rig, 'GET /spend/budgets?size=2');
  t.same(page, { total_count: 3, current_page: 1, total_pages: 2 });
  t.equal(list(budgets).length, 2);
  const rest = await managed(rig, 'GET /spend/budgets?size=2&page=2');
  t.match(list(rest['budgets']), [{ scope: 'key', alias: 'ci', budget: '1mo', max_budget: 0.1 }]);
  t.equal((await send(rig.url, 'GET', '/spend/budgets?size=301')).status, 400);
  t.equal(
    (await send(rig.url, 'GET', '/spend/budgets', undefined, { authorization: `Bearer ${key}` })).status,
    403,
  );
  writeFileSync(join(rig.folder, 'key'), KEY);
  const { out } = await runWithin(['spend', 'budgets', '--url', rig.url, '--key-file', 'key'], {
    cwd: rig.folder,
  });
  const { ledger, budgets: counting } = rig.gateway.reloader.active.services;
  const verify = [
    'spend',
    'verify',
    '--data-dir',
    join(rig.folder, 'data'),
    '--url',
    rig.url,
    '--key-file',
    'key',
  ];
  t.match(await runWithin(verify, { cwd: rig.folder }), { code: 0, out: /running proxy: 3, compared/ });
  const { rows } = await ledger.reader.query({}, { page: 1, pageSize: 1, order: 'newest' });
  for (const row of rows) await ledger.settle({ ...row, requestId: 'beside-the-counters', spendPico: 7 });
  await ledger.flush();
  const { code, out: found } = await runWithin(verify, { cwd: rig.folder });
  t.equal(code, 1, 'rows that no counter has seen could be spent again');
  t.match(found, /WRONG: the counter of budget ever of team Core is 0\.000000000007 USD below the rows/);
  t.equal(found.match(/WRONG/g)?.length, 3, found);
  for (const row of rows)
    counting.settle({ ...row, requestId: 'beside the rows', spendPico: 50_000_000_000 });
  const { code: over, out: above } = await runWithin(verify, { cwd: rig.folder });
  t.equal(over, 1, 'what no row says refuses calls too soon');
  t.match(above, /WRONG: the counter of budget 1mo of key ci is 0\.049999999993 USD above the rows/);
  t.notMatch(above, /of proxy/, 'a little of a large budget');
  const lines = out.split('\n').slice(2, -1);
  t.match(lines[0], /^key +ci +1mo +0\.\d+ +0\.10+ +9 % +2026-12-01 00:00 +2026-11-28 /);
  t.match(lines[1], /^team +Core +ever .* never +2027-\d\d-\d\d \d\d:\d\d +2027-.* - 20\d\d-/);
  t.match(lines[2], /^proxy +1mo +0\.\d+ +1,?000,?000\.00 +0 % +2026-12-01 00:00 +no$/);
});

t.test('a budget that lasts for ever has no day on which it ends', async (t) => {
  const rig = await startRig(t, { clock: new ManualClock(NOW), config: config('[]') });
  const key = await newKey(rig, { max_budget: 1_000_000_000 });
  const own = { authorization: `Bearer ${key}` };
  t.equal((await chat(rig, 'demo', { max_tokens: 20 }, own)).status, 200);
  const { info } = await managed(rig, `GET /key/info?key=${key}`);
  t.match(info, { budget_limits_usage: { ever: { forecast: { used_up_at: null, latest: null } } } });
  t.equal((await metric(rig, USED_UP)).size, 0);
});
