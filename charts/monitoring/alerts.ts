// The alerts: what is evaluated, how long it must hold, how loud it is, and what it says. One table; the rule file, the
// inhibitions and the index of the runbooks are made of it. Thresholds stand here and nowhere else.

export type Severity = 'critical' | 'warning' | 'info';
export type BoardName = 'chain' | 'spend' | 'reliability' | 'capacity';

export interface Alert {
  /** Without the prefix. */
  readonly name: string;
  readonly severity: Severity;
  readonly expr: string;
  /** How long the expression must hold; absent = at once. */
  readonly for?: string;
  readonly summary: string;
  readonly description: string;
  readonly board: BoardName;
}

/** Prefix of every alert. */
export const PREFIX = 'Throughline';

/** Labels that tell one installation from another; a label that nobody sets is empty and joins all the same. */
const BY = 'namespace, job';
const REQUESTS = 'throughline_requests_total';

const GONE = `(up == 0 and on (${BY}, instance) last_over_time(throughline_build_info[1d]))`;

const sumOf = (metric: string, window: string, by = BY): string =>
  `sum by (${by}) (increase(${metric}[${window}]))`;

/** In danger or gone: page. */
const RECORDS: readonly Alert[] = [
  {
    name: 'JournalUnwritable',
    severity: 'critical',
    expr: 'throughline_journal_writable == 0',
    for: '1m',
    summary: 'No spend record can be written.',
    description:
      'The journal of {{ $labels.instance }} cannot be written. Under the default policy calls are refused with 503 until it can.',
    board: 'reliability',
  },
  {
    name: 'RowsAtRisk',
    severity: 'critical',
    expr: 'throughline_spend_rows_at_risk > 0',
    for: '1m',
    summary: 'Spend records are in memory only.',
    description:
      '{{ $value }} records of {{ $labels.instance }} are in memory only. They are lost if the process ends before the journal can be written.',
    board: 'reliability',
  },
  {
    name: 'RowsLost',
    severity: 'critical',
    // A new process may have lost rows before its first scrape.
    expr:
      'increase(throughline_spend_rows_lost_total[1h]) > 0\n' +
      'or (throughline_spend_rows_lost_total > 0 unless throughline_spend_rows_lost_total offset 1h)',
    summary: 'Spend records are lost.',
    description: '{{ $labels.instance }} has given up {{ $value | humanize }} records within the last hour.',
    board: 'reliability',
  },
  {
    name: 'StoreAway',
    severity: 'warning',
    expr: 'throughline_store_reachable == 0',
    for: '5m',
    summary: 'The store takes no rows.',
    description:
      'The store of {{ $labels.instance }} does not answer. Calls are served and journalled; rows and reports come later.',
    board: 'reliability',
  },
  {
    name: 'KeysNotLoaded',
    severity: 'critical',
    expr: 'throughline_keys_loaded == 0',
    for: '1m',
    summary: 'Stored keys, teams and users could not be loaded.',
    description:
      '{{ $labels.instance }} has not read them since its start: calls with keys that are not in its configuration get 503. Do not restart servers that have them in memory.',
    board: 'reliability',
  },
  {
    name: 'BacklogGrowing',
    severity: 'warning',
    expr:
      'delta(throughline_journal_backlog_bytes[30m]) > 0\n' +
      'and predict_linear(throughline_data_free_bytes[1h], 24 * 3600) < 0',
    for: '10m',
    summary: 'The journal grows, and its disk is full within a day.',
    description: 'At the present rate the disk of {{ $labels.instance }} is full in less than 24 hours.',
    board: 'capacity',
  },
  {
    name: 'DiskFilling',
    severity: 'critical',
    expr: 'predict_linear(throughline_data_free_bytes[1h], 4 * 3600) < 0',
    for: '10m',
    summary: 'The disk of the data directory is full within four hours.',
    description:
      'At the present rate the disk of {{ $labels.instance }} is full in less than 4 hours. Then no record can be written.',
    board: 'capacity',
  },
];

/** Calls that fail or are slow: burn rates of a budget of 30 days (SRE workbook, chapter 5). */
const BURN = 'job:throughline_error_budget_burn:rate';
const CALLS: readonly Alert[] = [
  {
    name: 'ErrorBudgetFast',
    severity: 'critical',
    expr:
      `(${BURN}1h{slo!="first_byte"} > 14.4 and ${BURN}5m{slo!="first_byte"} > 14.4\n` +
      `  and on (${BY}) ${sumOf(REQUESTS, '1h')} > 100)\n` +
      `or (${BURN}6h{slo!="first_byte"} > 6 and ${BURN}30m{slo!="first_byte"} > 6\n` +
      `  and on (${BY}) ${sumOf(REQUESTS, '6h')} > 100)`,
    for: '2m',
    summary: 'Calls fail so often that the error budget of 30 days is gone within days.',
    description:
      'The budget of the objective "{{ $labels.slo }}" burns {{ $value | humanize }} times too fast. chain = faults of the proxy and of gateways; proxy = our own.',
    board: 'reliability',
  },
  {
    name: 'ErrorBudgetSlow',
    severity: 'warning',
    expr:
      `${BURN}3d{slo!="first_byte"} > 1 and ${BURN}6h{slo!="first_byte"} > 1\n` +
      `and on (${BY}) ${sumOf(REQUESTS, '3d')} > 100`,
    for: '1h',
    summary: 'Calls fail more often than the objective allows.',
    description:
      'The budget of the objective "{{ $labels.slo }}" burns {{ $value | humanize }} times too fast over three days.',
    board: 'reliability',
  },
  {
    name: 'FirstByteSlow',
    severity: 'warning',
    expr:
      `${BURN}1h{slo="first_byte"} > 6 and ${BURN}5m{slo="first_byte"} > 6\n` +
      `and on (${BY}) ${sumOf(REQUESTS, '1h')} > 100`,
    for: '5m',
    summary: 'Many calls wait more than 10 s for their first byte.',
    description: 'More than 30 % of the calls of the last hour waited more than 10 s for their first byte.',
    board: 'chain',
  },
];

/** A gateway is ill. */
const GATEWAYS: readonly Alert[] = [
  {
    name: 'DeploymentDown',
    severity: 'warning',
    expr: `max by (${BY}, model, model_id) (throughline_deployment_state) > 0`,
    for: '10m',
    summary: 'A deployment does not serve.',
    description:
      'The deployment {{ $labels.model_id }} of {{ $labels.model }} has not served for 10 minutes (1 = half open, 2 = cooling down, 3 = its check fails).',
    board: 'reliability',
  },
  {
    name: 'GatewayKeyRefused',
    severity: 'warning',
    expr: `${sumOf('throughline_faults_total{reason=~"upstream_40[123]"}', '10m', `${BY}, gateway, reason`)} > 5`,
    for: '5m',
    summary: 'A gateway does not accept our key.',
    description:
      '{{ $labels.gateway }} refused {{ $value | humanize }} calls within 10 minutes ({{ $labels.reason }}).',
    board: 'chain',
  },
  {
    name: 'RetriesDenied',
    severity: 'warning',
    expr: `${sumOf('throughline_retries_denied_total', '10m', `${BY}, model`)} > 0`,
    for: '10m',
    summary: 'More calls fail than retries can make good.',
    description:
      'The retry budget of {{ $labels.model }} is used up: {{ $value | humanize }} attempts denied in 10 minutes.',
    board: 'reliability',
  },
  {
    name: 'FallbacksRising',
    severity: 'warning',
    expr:
      `${sumOf('throughline_fallbacks_total', '30m', `${BY}, model`)}\n` +
      `/ (${sumOf('throughline_fallbacks_total', '30m', `${BY}, model`)}\n` +
      `  + (${sumOf(REQUESTS, '30m', `${BY}, model`)}\n` +
      `    or 0 * ${sumOf('throughline_fallbacks_total', '30m', `${BY}, model`)}) > 50) > 0.1`,
    for: '10m',
    summary: 'A model is served by its fallback.',
    description:
      '{{ $value | humanizePercentage }} of the calls of {{ $labels.model }} went to another model.',
    board: 'reliability',
  },
];

/** We are short of CPU or memory, or a process died. */
const MACHINE: readonly Alert[] = [
  {
    name: 'Overloaded',
    severity: 'warning',
    expr: `${sumOf('throughline_overloaded_total', '5m', `${BY}, why`)} > 0`,
    for: '5m',
    summary: 'Calls are turned away because a limit is reached.',
    description: '{{ $value | humanize }} calls were refused with 503 within 5 minutes ({{ $labels.why }}).',
    board: 'capacity',
  },
  {
    name: 'LoopLagHigh',
    severity: 'warning',
    expr: 'throughline_event_loop_lag_seconds > 0.2',
    for: '5m',
    summary: 'The event loop is late: the process is short of CPU.',
    description: 'The event loop of {{ $labels.instance }} was {{ $value | humanizeDuration }} late.',
    board: 'capacity',
  },
  {
    name: 'WorkersMissing',
    severity: 'warning',
    expr:
      'throughline_workers < throughline_workers_configured\n' +
      'or increase(throughline_workers_lost_total[15m]) > 3',
    for: '1m',
    summary: 'Workers are missing, or end again and again.',
    description:
      '{{ $labels.instance }} has fewer workers than configured, or lost several within 15 minutes.',
    board: 'capacity',
  },
  {
    name: 'CountersDegraded',
    severity: 'warning',
    expr: 'throughline_counters_degraded == 1',
    for: '5m',
    summary: 'Budgets and limits are not shared between servers.',
    description: 'The shared counters do not answer {{ $labels.instance }}, which counts alone.',
    board: 'reliability',
  },
  {
    name: 'ScrapeMissing',
    severity: 'critical',
    // Targets that answered within a day and do not now; or none at all.
    expr: `${GONE}\nor (absent(throughline_build_info) unless on () ${GONE})`,
    for: '5m',
    summary: 'No metrics come from the proxy: all other alerts are blind.',
    description: 'Prometheus cannot scrape {{ with $labels.instance }}{{ . }}{{ else }}any proxy{{ end }}.',
    board: 'capacity',
  },
];

/** The configuration, and who is told of what. */
const OPERATION: readonly Alert[] = [
  {
    name: 'ConfigRefused',
    severity: 'warning',
    expr: 'throughline_config_last_reload_successful == 0',
    for: '5m',
    summary: 'The configuration on disk is not the one that serves.',
    description: 'The last change of the configuration of {{ $labels.instance }} was refused.',
    board: 'capacity',
  },
  {
    name: 'ConfigDiffers',
    severity: 'warning',
    expr: `count by (${BY}) (count by (${BY}, version) (throughline_config_info)) > 1`,
    for: '15m',
    summary: 'Replicas serve different configurations.',
    description: '{{ $value }} versions of the configuration have been served for 15 minutes.',
    board: 'capacity',
  },
  {
    name: 'AlertsUndelivered',
    severity: 'critical',
    expr: `${sumOf('throughline_alerts_total{outcome=~"refused|expired|dropped"}', '1h', `${BY}, kind, outcome`)} > 0`,
    summary: 'Somebody was not told of an alert of the proxy.',
    description:
      '{{ $value | humanize }} alerts of the kind {{ $labels.kind }} were given up ({{ $labels.outcome }}).',
    board: 'reliability',
  },
  {
    name: 'InvalidKeys',
    severity: 'info',
    expr: `${sumOf('throughline_rejected_total{code="invalid_api_key"}', '10m')} > 100`,
    summary: 'A burst of calls with wrong keys.',
    description: '{{ $value | humanize }} requests with a wrong key within 10 minutes.',
    board: 'chain',
  },
];

/** Sums are doubtful; a day is looked at. */
const share = (metric: string, least: number, by = `${BY}, model`): string =>
  `${sumOf(metric, '1d', by)}\n/ (${sumOf(REQUESTS, '1d', by)} > 100) > ${least}`;
const MONEY: readonly Alert[] = [
  {
    name: 'Unpriced',
    severity: 'info',
    expr: share('throughline_unpriced_total', 0),
    summary: 'Calls have no known cost.',
    description: '{{ $value | humanizePercentage }} of the calls of {{ $labels.model }} have no price.',
    board: 'spend',
  },
  {
    name: 'CostDiffers',
    severity: 'info',
    expr: share('throughline_cost_differs_total', 0.01),
    summary: 'Two sources state different costs.',
    description:
      'For {{ $value | humanizePercentage }} of the calls of {{ $labels.model }} another source states a cost that is more than 1 % off.',
    board: 'spend',
  },
  {
    name: 'UsageEstimated',
    severity: 'info',
    expr: share('throughline_usage_estimated_total', 0.05),
    summary: 'Tokens are estimated, not stated.',
    description:
      'The tokens of {{ $value | humanizePercentage }} of the calls of {{ $labels.model }} were counted here.',
    board: 'spend',
  },
];

export const ALERTS: readonly Alert[] = [
  ...RECORDS,
  ...CALLS,
  ...GATEWAYS,
  ...MACHINE,
  ...OPERATION,
  ...MONEY,
];

interface Inhibition {
  readonly source: string;
  readonly targets: readonly string[];
  /** Labels beside `namespace` and `job` that must be equal. */
  readonly equal: readonly string[];
  readonly because: string;
}

export const INHIBITIONS: readonly Inhibition[] = [
  {
    source: 'RowsLost',
    targets: ['RowsAtRisk'],
    equal: ['instance'],
    because: 'what is lost was at risk before',
  },
  {
    source: 'DiskFilling',
    targets: ['BacklogGrowing'],
    equal: ['instance'],
    because: 'four hours are less than a day',
  },
  {
    source: 'StoreAway',
    targets: ['BacklogGrowing'],
    equal: ['instance'],
    because: 'the backlog grows because the store is away; DiskFilling still pages',
  },
  {
    source: 'ErrorBudgetFast',
    targets: ['ErrorBudgetSlow'],
    equal: ['slo'],
    because: 'the same budget',
  },
  {
    source: 'DeploymentDown',
    targets: ['FallbacksRising', 'RetriesDenied'],
    equal: ['model'],
    because: 'both follow from it',
  },
  {
    source: 'WorkersMissing',
    targets: ['Overloaded', 'LoopLagHigh'],
    equal: [],
    because: 'fewer workers carry the same load',
  },
  {
    source: 'ScrapeMissing',
    targets: ['ErrorBudgetFast', 'ErrorBudgetSlow', 'FirstByteSlow', 'ConfigDiffers'],
    equal: [],
    because: 'rates over half of the replicas say nothing of the whole',
  },
];
