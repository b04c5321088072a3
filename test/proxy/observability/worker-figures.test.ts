// The metrics of several workers as one, and what remains of those that ended.
import t from 'tap';
import type { LedgerFigures } from '../../../proxy/observability/ledger-metrics.ts';
import { Metrics } from '../../../proxy/observability/metrics.ts';
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
  const one = await worker(FINE, 4).figures();
  const value = valuesOf(
    await whole.scrape(
      new Map([
        [1, one],
        [2, await stuck.figures()],
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
  const first = await worker(FINE, 4).figures();
  const second = await worker(FINE, 5).figures();
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
      [3, await worker(FINE, 1).figures()],
    ]),
  );
  whole.ended(3);
  whole.ended(1);
  whole.ended(4); // it was never scraped
  await scrape(new Map());
  t.same(seen, [9, 9, 9, 10, 10]);
});
