import t from 'tap';
import type { LedgerFigures } from '../../../proxy/observability/ledger-metrics.ts';
import { Metrics } from '../../../proxy/observability/metrics.ts';
import { NO_TOKENS } from '../../../proxy/protocols/usage.ts';
import type { SpendRecord } from '../../../proxy/spend/record/record.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';

const FIGURES: LedgerFigures = {
  writable: true,
  rowsAtRisk: 1,
  rowsLost: 8,
  storeReachable: true,
  reserveBytes: 262_144,
  open: 2,
  pendingShip: 3,
  written: 4,
  shipped: 5,
  recovered: 6,
  damaged: 7,
  removed: 9,
};

const record = (more: Partial<SpendRecord>): SpendRecord => settleOf(beginOf('id'), more);

const SLOW = { side: 'upstream', reason: 'first_byte_timeout', why: '', level: 40 } as const;

/** `name{labels} value` lines, without the comments. */
async function linesOf(metrics: Metrics): Promise<string[]> {
  return (await metrics.scrape()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

t.test('figures of the ledger are read at each scrape', async (t) => {
  let figures = FIGURES;
  const metrics = new Metrics(
    () => figures,
    () => 9,
    '1.2.3',
  );
  const some = async (): Promise<string[]> =>
    (await linesOf(metrics)).filter((line) =>
      /^throughline_(spend|journal|store|in_flight|build)/.test(line),
    );
  t.same(await some(), [
    'throughline_in_flight 9',
    'throughline_journal_writable 1',
    'throughline_journal_reserve_bytes 262144',
    'throughline_spend_rows_at_risk 1',
    'throughline_spend_rows_lost_total 8',
    'throughline_store_reachable 1',
    'throughline_spend_rows_open 2',
    'throughline_journal_backlog_bytes 3',
    'throughline_spend_rows_written_total 4',
    'throughline_spend_rows_shipped_total 5',
    'throughline_spend_rows_recovered_total 6',
    'throughline_journal_damaged_lines_total 7',
    'throughline_spend_rows_removed_total 9',
    `throughline_build_info{version="1.2.3",node="${process.versions.node}"} 1`,
  ]);
  figures = { ...FIGURES, writable: false, rowsAtRisk: 100, storeReachable: false, written: 44 };
  const now = await some();
  t.ok(now.includes('throughline_journal_writable 0'));
  t.ok(now.includes('throughline_spend_rows_at_risk 100'));
  t.ok(now.includes('throughline_store_reachable 0'));
  t.ok(now.includes('throughline_spend_rows_written_total 44'), 'not added up at each scrape');
});

t.test(
  'a record moves the counters of its model by what it holds, in seconds, tokens and dollars',
  async (t) => {
    const metrics = new Metrics(
      () => FIGURES,
      () => 0,
      '1',
    );
    const route = metrics.forModel('smart', 'https://user:pw@gateway.example:8443/v1?x=1');
    const tokens = { ...NO_TOKENS, prompt: 10, completion: 5, total: 15, cacheRead: 4 };
    const times = { startMs: 1_000, firstByteMs: 1_500, endMs: 3_000 };
    const priced = {
      ...times,
      status: 'success',
      endReason: 'complete',
      tokens,
      spendPico: 1_250_000_000,
    } as const;
    route.observe(record(priced), 2, null);
    route.observe(record({ ...priced, spendPico: null, usageSource: 'estimate' }), -1, null);
    const nothing = { firstByteMs: null, tokens: NO_TOKENS, spendPico: null };
    route.observe(record({ ...times, ...nothing, status: 'failure', endReason: 'timeout' }), -1, SLOW);
    const lines = await linesOf(metrics);
    const has = (line: string): boolean => t.ok(lines.includes(line), line);
    has(
      'throughline_requests_total{model="smart",call_type="acompletion",status="success",end_reason="complete"} 2',
    );
    has(
      'throughline_requests_total{model="smart",call_type="acompletion",status="failure",end_reason="timeout"} 1',
    );
    has('throughline_request_duration_seconds_sum{model="smart"} 6');
    has('throughline_request_duration_seconds_count{model="smart"} 3');
    has('throughline_first_byte_seconds_sum{model="smart"} 1');
    has('throughline_first_byte_seconds_count{model="smart"} 2');
    has('throughline_overhead_seconds_sum{model="smart"} 0.002');
    has('throughline_overhead_seconds_count{model="smart"} 1');
    has('throughline_tokens_total{model="smart",kind="cache_read"} 8');
    has('throughline_spend_usd_total{model="smart"} 0.00125');
    has('throughline_unpriced_total{model="smart"} 1');
    has('throughline_usage_estimated_total{model="smart"} 1');
    has('throughline_cost_differs_total{model="smart",source="catalogue"} 1');
    has('throughline_gateway_requests_total{gateway="gateway.example:8443",status="success"} 2');
    has('throughline_gateway_requests_total{gateway="gateway.example:8443",status="failure"} 1');
    has('throughline_gateway_first_byte_seconds_count{gateway="gateway.example:8443"} 2');
    has(
      'throughline_faults_total{model="smart",gateway="gateway.example:8443",side="upstream",reason="first_byte_timeout"} 1',
    );
    has('throughline_cost_difference_usd_total{model="smart",source="catalogue"} 0.00025');
  },
);

t.test('the same model twice writes to the same lines; its name is escaped', async (t) => {
  const metrics = new Metrics(
    () => FIGURES,
    () => 0,
    '1',
  );
  for (let n = 0; n < 2; n++) metrics.forModel('a "b"\\\n').observe(record({}), -1, null);
  const found = (await linesOf(metrics)).filter((line) => line.startsWith('throughline_requests_total'));
  t.equal(found.length, 1);
  t.match(found[0], /^throughline_requests_total\{model="a \\"b\\"\\\\\\n",.*\} 2$/);
});

t.test('refusals and reloads are counted, and one version is the served one', async (t) => {
  const metrics = new Metrics(
    () => FIGURES,
    () => 0,
    '1',
  );
  metrics.rejected('invalid_api_key');
  metrics.rejected('invalid_api_key');
  metrics.serving('aaa');
  metrics.reloaded('applied');
  metrics.reloaded('refused');
  let lines = await linesOf(metrics);
  t.ok(lines.includes('throughline_rejected_total{code="invalid_api_key"} 2'));
  t.ok(lines.includes('throughline_config_last_reload_successful 0'));
  metrics.serving('bbb');
  metrics.reloaded('applied');
  lines = await linesOf(metrics);
  t.ok(lines.includes('throughline_config_reloads_total{result="applied"} 2'));
  t.ok(lines.includes('throughline_config_last_reload_successful 1'));
  t.same(
    lines.filter((line) => line.startsWith('throughline_config_info')),
    ['throughline_config_info{version="bbb"} 1'],
  );
});

const fresh = (): Metrics =>
  new Metrics(
    () => FIGURES,
    () => 0,
    '1',
  );
const seriesOf = async (metrics: Metrics, name: string): Promise<string[]> =>
  (await linesOf(metrics)).filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

t.test('the time per output token is that of whole streams of several tokens', async (t) => {
  const metrics = fresh();
  const { observe } = metrics.forModel('m');
  const tokens = { ...NO_TOKENS, completion: 11 };
  const stream = { stream: true, startMs: 0, firstByteMs: 1_000, endMs: 1_500, tokens };
  const all = [
    {},
    { stream: false },
    { status: 'failure' },
    { firstByteMs: null },
    { tokens: { ...NO_TOKENS, completion: 1 } },
    { tokens: NO_TOKENS },
  ] as const;
  for (const one of all) observe(record({ ...stream, status: 'success', ...one }), -1, null);
  const name = 'throughline_time_per_output_token_seconds';
  t.same(await seriesOf(metrics, `${name}_count`), [`${name}_count{model="m"} 1`]);
  t.same(
    await seriesOf(metrics, `${name}_sum`),
    [`${name}_sum{model="m"} 0.05`],
    '500 ms for ten more tokens',
  );
});

t.test('teams and gateways beyond the limit are counted as one', async (t) => {
  const metrics = fresh();
  const addresses = [0, 1, 2, 3, 4, 5].map((n) => `http://gateway-${n}`);
  metrics.labelValues.use(2, { teams: [], gateways: addresses, deployments: [] });
  metrics.teams.watch((id) => (id === 'a' ? 'Team A' : null));
  for (const [n, teamId] of ['a', 'b', 'c', 'd', null, 'a'].entries())
    metrics.forModel('m', `http://gateway-${n}`).observe(record({ teamId }), -1, null);
  t.same((await seriesOf(metrics, 'throughline_team_requests_total')).toSorted(), [
    'throughline_team_requests_total{team="",status="success"} 1',
    'throughline_team_requests_total{team="a",status="success"} 2',
    'throughline_team_requests_total{team="b",status="success"} 1',
    'throughline_team_requests_total{team="other",status="success"} 2',
  ]);
  t.same((await seriesOf(metrics, 'throughline_team_info')).toSorted(), [
    'throughline_team_info{team="",alias="no team"} 1',
    'throughline_team_info{team="a",alias="Team A"} 1',
    'throughline_team_info{team="b",alias="b"} 1',
    'throughline_team_info{team="other",alias="other teams"} 1',
  ]);
  t.same(
    (await seriesOf(metrics, 'throughline_gateway_requests_total')).filter((line) =>
      line.includes('success'),
    ),
    [
      'throughline_gateway_requests_total{gateway="gateway-0",status="success"} 1',
      'throughline_gateway_requests_total{gateway="gateway-1",status="success"} 1',
      'throughline_gateway_requests_total{gateway="other",status="success"} 4',
    ],
  );
  metrics.labelValues.use(1, { teams: [], gateways: addresses, deployments: [] });
  metrics.forModel('m', 'http://gateway-0').observe(record({ teamId: 'b' }), -1, null);
  t.match(await seriesOf(metrics, 'throughline_team_requests_total'), [
    /./,
    'throughline_team_requests_total{team="b",status="success"} 2',
  ]);
});

t.test('a deleted team and a gateway that is configured no more make room for others', async (t) => {
  const metrics = fresh();
  const teams = new Set(['a', 'b']);
  metrics.labelValues.watchTeams((id) => teams.has(id));
  const call = (teamId: string, gateway: string): void =>
    metrics.forModel('m', `http://${gateway}`).observe(record({ teamId, spendPico: 1e12 }), -1, null);
  const spend = async (): Promise<string[]> =>
    (await seriesOf(metrics, 'throughline_team_spend_usd_total')).map((line) => line.slice(33)).toSorted();
  const gateways = async (): Promise<string[]> =>
    (await seriesOf(metrics, 'throughline_gateway_requests_total'))
      .filter((line) => line.includes('success'))
      .map((line) => line.replace(/.*gateway="(.*)",.*\}/, '$1'));
  metrics.labelValues.use(1, { teams: ['stated'], gateways: ['http://one', 'http://two'], deployments: [] });
  call('a', 'one');
  call('b', 'two');
  t.same(
    await spend(),
    ['team="a"} 1', 'team="other"} 1'].map((line) => line),
  );
  t.same(await gateways(), ['one 1', 'other 1']);
  call('b', 'two');
  teams.delete('a');
  metrics.labelValues.use(1, { teams: ['stated'], gateways: ['http://two'], deployments: [] });
  t.same(await spend(), ['team="other"} 2']);
  t.same(await gateways(), ['two 1', 'other 1'], 'what was counted as other stays there');
  call('a', 'one');
  call('b', 'two');
  call('stated', 'two');
  t.same(await spend(), ['team="b"} 1', 'team="other"} 4'], 'a call of a deleted team takes no name');
  t.same(await gateways(), ['two 3', 'other 2']);
  const info = await seriesOf(metrics, 'throughline_team_info');
  t.same(info, [], 'nobody watches aliases here');
});
