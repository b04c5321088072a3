// The metrics of several workers as one, and what remains of those that ended.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { addBudgetMetrics } from '../../../proxy/observability/budget-metrics.ts';
import { addCapsuleMetrics } from '../../../proxy/observability/capsule-metrics.ts';
import { addCounterMetrics } from '../../../proxy/observability/counter-metrics.ts';
import { addDiskMetrics } from '../../../proxy/observability/disk-metrics.ts';
import { addKeysMetrics } from '../../../proxy/observability/keys-metrics.ts';
import type { LedgerFigures } from '../../../proxy/observability/ledger-metrics.ts';
import { Metrics } from '../../../proxy/observability/metrics.ts';
import { addPlatformMetrics } from '../../../proxy/observability/platform-metrics.ts';
import { addTraceMetrics } from '../../../proxy/observability/trace-metrics.ts';
import { WorkerFigures } from '../../../proxy/observability/worker-figures.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';

const FINE: LedgerFigures = {
  writable: true,
  rowsAtRisk: 1,
  rowsLost: 0,
  storeReachable: true,
  reserveBytes: 262_144,
  open: 2,
  pendingShip: 10,
  written: 5,
  shipped: 5,
  recovered: 0,
  damaged: 0,
  removed: 0,
};

const NONE = { team: [], gateway: [] };

function worker(figures: LedgerFigures, requests: number): Metrics {
  const metrics = new Metrics(
    () => figures,
    () => 3,
    '1',
  );
  metrics.serving('aaa');
  metrics.lastReload('applied');
  const model = metrics.forModel('m');
  for (let n = 0; n < requests; n += 1) model.observe(settleOf(beginOf('r')), 1, null);
  return metrics;
}

function valuesOf(text: string): (line: string) => number {
  const lines = new Map(
    text.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
  return (line) => lines.get(line) ?? NaN;
}

const REQUESTS =
  'throughline_requests_total{model="m",call_type="acompletion",status="success",end_reason="complete"}';
const COUNT = 'throughline_request_duration_seconds_count{model="m"}';

t.test('counts and loads are sums, states are those of the worst', async (t) => {
  const whole = new WorkerFigures(() => ({ configured: 3, serving: 2, lost: 7 }));
  const stuck = worker({ ...FINE, writable: false }, 5);
  stuck.lastReload('refused');
  const one = await worker(FINE, 4).figures(NONE);
  const value = valuesOf(
    await whole.scrape(
      new Map([
        [1, one],
        [2, await stuck.figures(NONE)],
      ]),
    ),
  );
  t.equal(value(REQUESTS), 9);
  t.equal(value(COUNT), 9);
  t.equal(value('throughline_request_duration_seconds_bucket{le="+Inf",model="m"}'), 9);
  t.equal(value('throughline_in_flight'), 6);
  t.equal(value('throughline_journal_backlog_bytes'), 20);
  t.equal(value('throughline_spend_rows_written_total'), 10);
  t.equal(value('throughline_journal_writable'), 0, 'one that cannot write');
  t.equal(value('throughline_store_reachable'), 1);
  t.equal(value('throughline_config_last_reload_successful'), 0);
  t.equal(value('throughline_config_info{version="aaa"}'), 1);
  t.equal(value('throughline_workers'), 2);
  t.equal(value('throughline_workers_configured'), 3);
  t.equal(value('throughline_workers_lost_total'), 7);
  const memory = value('throughline_resident_memory_bytes');
  t.ok(memory > 2.5 * (process.memoryUsage.rss() / 1.5), `the supervisor's own is in it: ${memory}`);
});

t.test('no count goes back when a worker ends, is replaced, or does not answer', async (t) => {
  const whole = new WorkerFigures(() => ({ configured: 3, serving: 2, lost: 0 }));
  const first = await worker(FINE, 4).figures(NONE);
  const second = await worker(FINE, 5).figures(NONE);
  const seen: number[] = [];
  const scrape = async (answers: Parameters<WorkerFigures['scrape']>[0]): Promise<number> => {
    const value = valuesOf(await whole.scrape(answers));
    t.equal(value(COUNT), value(REQUESTS), 'histograms follow');
    seen.push(value(REQUESTS));
    return value('throughline_in_flight');
  };
  t.equal(
    await scrape(
      new Map([
        [1, first],
        [2, second],
      ]),
    ),
    6,
  );
  t.equal(
    await scrape(
      new Map([
        [1, first],
        [2, null],
      ]),
    ),
    3,
    'a silent worker has no load that could be told',
  );
  whole.ended(2);
  t.equal(await scrape(new Map([[1, first]])), 3, 'nor has a dead one');
  await scrape(
    new Map([
      [1, first],
      [3, await worker(FINE, 1).figures(NONE)],
    ]),
  );
  whole.ended(3);
  whole.ended(1);
  whole.ended(4); // it was never scraped
  await scrape(new Map());
  t.same(seen, [9, 9, 9, 10, 10]);
});

t.test('a team has a name in all workers or in none, and is whole in their sum', async (t) => {
  const whole = new WorkerFigures(() => ({ configured: 2, serving: 2, lost: 0 }));
  const teams = new Set(['A', 'B', 'C', 'D']);
  const started = (): Metrics => {
    const metrics = worker(FINE, 0);
    metrics.labelValues.use(2, { teams: [], gateways: [], deployments: [] });
    metrics.labelValues.watchTeams((id) => teams.has(id));
    return metrics;
  };
  let running = new Map([
    [1, started()],
    [2, started()],
  ]);
  const call = (number: number, ids: string): void => {
    for (const teamId of ids)
      running.get(number)?.teams.observe(settleOf(beginOf('r', { teamId }), { spendPico: 1e12 }));
  };
  const spent = async (): Promise<Record<string, number>> => {
    const { named, gone } = whole.name([...running.values()].map((one) => one.labelWishes()));
    const figures = await Promise.all(
      [...running].map(async ([number, one]) => [number, await one.figures(named)] as const),
    );
    const text = await whole.scrape(new Map(figures), gone);
    return Object.fromEntries(
      [...text.matchAll(/^throughline_team_spend_usd_total\{team="(.*)"\} (.*)$/gm)].map(
        ([, team = '', value]) => [team, Number(value)],
      ),
    );
  };
  call(1, 'ABCD');
  call(2, 'DCBAA');
  t.same(await spent(), { A: 3, B: 2, other: 4 });
  whole.ended(1);
  running = new Map([
    [2, running.get(2) ?? started()],
    [3, started()],
  ]);
  call(3, 'CDA');
  call(2, 'DCBA');
  t.same(await spent(), { A: 5, B: 3, other: 8 }, 'one that is replaced names the same ones');
  teams.delete('A');
  t.same(await spent(), { B: 3, other: 8 }, 'what a worker that ended has counted of it goes, too');
  call(2, 'CD');
  call(3, 'AD');
  t.same(await spent(), { B: 3, C: 1, other: 11 }, 'the next one is named from now on');
});

const configured = (metrics: Metrics, ...deployments: string[]): void =>
  metrics.labelValues.use(9, { teams: [], gateways: [], deployments });
const calledTwo = (): Metrics => {
  const metrics = worker(FINE, 0);
  metrics.useDialect('litellm');
  configured(metrics, 'old', 'kept');
  for (const modelId of ['old', 'kept'])
    metrics.forModel('m').observe(settleOf(beginOf('r', { modelId })), 1, null);
  return metrics;
};

const deploymentsShown = async (
  whole: WorkerFigures,
  workers: readonly (readonly [number, Metrics])[],
): Promise<string[]> => {
  const { named, gone } = whole.name(workers.map(([, one]) => one.labelWishes()));
  const figures = await Promise.all(
    workers.map(async ([number, one]) => [number, await one.figures(named)] as const),
  );
  const text = await whole.scrape(new Map(figures), gone);
  const lines = text.matchAll(/^litellm_deployment_total_requests_total\{.*model_id="(.*?)".* (\d+)$/gm);
  return [...lines].map(([, id = '', calls = '']) => `${id} ${calls}`);
};

t.test(
  'a deployment that is configured no more loses its series, also what ended workers have counted',
  async (t) => {
    const whole = new WorkerFigures(() => ({ configured: 2, serving: 2, lost: 0 }));
    const [one, two] = [calledTwo(), calledTwo()];
    const both = [[1, one] as const, [2, two] as const];
    t.same(await deploymentsShown(whole, both), ['old 2', 'kept 2']);
    whole.ended(1);
    configured(two, 'kept', 'new');
    two.forModel('m').observe(settleOf(beginOf('r', { modelId: 'old' })), 1, null); // it was under way
    two.forModel('m').observe(settleOf(beginOf('r', { modelId: 'new' })), 1, null);
    t.same((await deploymentsShown(whole, [[2, two]])).toSorted(), ['kept 2', 'new 1']);
  },
);

t.test('a deployment is shown with the counts of all workers or not at all', async (t) => {
  const whole = new WorkerFigures(() => ({ configured: 2, serving: 2, lost: 0 }));
  const [one, two] = [calledTwo(), calledTwo()];
  const both = [[1, one] as const, [2, two] as const];
  t.same(await deploymentsShown(whole, both), ['old 2', 'kept 2']);
  configured(one, 'kept');
  one.labelWishes(); // its answer comes too late
  t.same(await deploymentsShown(whole, both), ['kept 2'], 'the other one hears of it next');
  configured(two, 'kept');
  t.same(await deploymentsShown(whole, both), ['kept 2']);
  const third = calledTwo();
  const all = [...both, [3, third] as const];
  t.same(await deploymentsShown(whole, all), ['kept 3', 'old 1']);
  whole.ended(3);
  for (const metrics of [one, two]) {
    configured(metrics, 'kept', 'old');
    metrics.forModel('m').observe(settleOf(beginOf('r', { modelId: 'old' })), 1, null);
  }
  t.same((await deploymentsShown(whole, both)).toSorted(), ['kept 3', 'old 3']);
  configured(one, 'kept');
  configured(one, 'kept', 'old');
  t.same(
    (await deploymentsShown(whole, both)).toSorted(),
    ['kept 3', 'old 3'],
    'there again by the next scrape',
  );
  const { named, gone } = whole.name(both.map(([, metrics]) => metrics.labelWishes()));
  configured(one, 'kept');
  const figures = await Promise.all(
    both.map(async ([number, metrics]) => [number, await metrics.figures(named)] as const),
  );
  t.match(
    await whole.scrape(new Map(figures), gone),
    /total_requests_total\{.*model_id="old".*\} 3\n/,
    'one that goes during a scrape is whole in it',
  );
  t.same(await deploymentsShown(whole, both), ['kept 3']);
});

t.test('a team that one worker does not know yet keeps its name', async (t) => {
  const whole = new WorkerFigures(() => ({ configured: 2, serving: 2, lost: 0 }));
  const workers = [worker(FINE, 0), worker(FINE, 0)] as const;
  workers[0].labelValues.watchTeams(() => false);
  workers[1].labelValues.watchTeams(() => true);
  for (const one of workers) one.labelValues.use(2, { teams: [], gateways: [], deployments: [] });
  workers[1].teams.observe(settleOf(beginOf('r', { teamId: 'new' })));
  const shown = async (): Promise<boolean> => {
    const { named, gone } = whole.name(workers.map((one) => one.labelWishes()));
    const figures = await Promise.all(workers.map((one) => one.figures(named)));
    return (await whole.scrape(new Map(figures.entries()), gone)).includes('{team="new"');
  };
  t.ok(await shown());
  t.ok(await shown());
});

const SOURCES = resolve(import.meta.dirname, '../../../proxy/observability');
/** Of the supervisor alone. */
const OF_SUPERVISOR = ['throughline_workers', 'throughline_workers_configured'];
/** What each worker has for itself; all else is a state, or a figure that all of them see. */
const ADDED_UP = [
  'throughline_alerts_waiting',
  'throughline_brake_conversations',
  'throughline_counters_untold',
  'throughline_idempotency_bytes',
  'throughline_idempotency_calls',
  'throughline_in_flight',
  'throughline_journal_backlog_bytes',
  'throughline_journal_reserve_bytes',
  'throughline_queued',
  'throughline_realtime_sessions',
  'throughline_resident_memory_bytes',
  'throughline_spend_rows_at_risk',
  'throughline_spend_rows_open',
  'throughline_trace_spans_waiting',
];

/** A worker of a proxy that has all parts, and something of everything. */
function wholeWorker(): Metrics {
  const metrics = worker(FINE, 1);
  metrics.teams.watch(() => 'red');
  metrics.teams.observe(settleOf(beginOf('r', { teamId: 'a' })));
  metrics.brake.watch(() => ({ known: 4, stopped: 2 }));
  metrics.realtime.opened();
  metrics.alerts.watch(() => 1);
  metrics.watchDeployments(() => [{ model: 'm', modelId: 'a', state: 2 }]);
  metrics.watchDiscovery(() => [{ apiBase: 'http://127.0.0.1:9', models: 3, failures: 0 }]);
  metrics.watchLoad({
    admission: { waiting: 1 },
    loopLag: { worstMs: 3 },
    idempotency: { size: 1, bytes: 9 },
    log: { droppedLines: () => 0 },
  });
  const budget = { scope: 'key', id: 'a', budget: 'a', spentUsd: 1, reservedUsd: 1, maxUsd: 9, resetMs: 1 };
  const usedUpMs = { day: 1, fastest: 1, slowest: 1 };
  metrics.add(addBudgetMetrics, () => ({
    budgets: () => Promise.resolve([{ ...budget, usedUpMs }]),
    refusals: new Map(),
  }));
  metrics.add(addCapsuleMetrics, () => ({ rules: 1, written: 1, dropped: {}, bytes: 7 }));
  metrics.add(addDiskMetrics, SOURCES);
  metrics.add(addKeysMetrics, () => true);
  metrics.add(addTraceMetrics, () => ({ exported: 1, dropped: 0, waiting: 1 }));
  metrics.add(addPlatformMetrics, () => ({
    answers: new Map(),
    sandboxes: new Map([['RUNNING', 2]]),
    keys: 2,
    servers: 2,
  }));
  metrics.add(addCounterMetrics, () => ({
    away: 'it does not answer',
    servers: 4,
    pending: 1,
    keysUntold: 1,
    keysElsewhere: 0,
    keysAlone: 0,
  }));
  return metrics;
}

t.test('of several workers no gauge is added up that is a state, or that all of them see', async (t) => {
  const whole = wholeWorker();
  whole.labelWishes();
  const figures = await whole.figures({ team: ['a'], gateway: ['127.0.0.1:9'] });
  const gauges = figures.filter(({ type }) => String(type) === 'gauge');
  const text = await new WorkerFigures(() => ({ configured: 3, serving: 3, lost: 0 })).scrape(
    new Map([
      [1, figures],
      [2, figures],
      [3, figures],
    ]),
  );
  const value = valuesOf(text);
  const wrong: string[] = [];
  for (const { name, values } of gauges) {
    t.ok(values.length > 0, `${name} has a value`);
    for (const { value: one, labels } of values) {
      const said = Object.entries(labels).map(([label, of]) => `${label}="${String(of)}"`);
      const merged = value(said.length === 0 ? name : `${name}{${said.join(',')}}`);
      const isOwn = name === 'throughline_resident_memory_bytes'; // the supervisor's is in it
      if (!isOwn && merged !== (ADDED_UP.includes(name) ? 3 * one : one)) wrong.push(`${name} ${merged}`);
    }
  }
  t.same(wrong, []);
  const declared = readdirSync(SOURCES).flatMap((file) => {
    const source = readFileSync(join(SOURCES, file), 'utf8');
    return source.match(/(?<=')throughline_[a-z_]+(?=')/g) ?? [];
  });
  const known = new Set([...figures.map(({ name }) => name), ...OF_SUPERVISOR]);
  t.same(
    declared.filter((name) => !known.has(name) && !name.endsWith('_total')),
    [],
    'no other gauge is anywhere',
  );
});
