// Reliability: error budgets, what the proxy does about failures, and the ledger that must lose nothing.
import { OF_MODEL, WHERE, type Board } from '../board.ts';
import { increaseOf, rateOf } from './expressions.ts';

const byModel = (metric: string, label: string): string =>
  rateOf(`${metric}{${OF_MODEL}}`, `model, ${label}`);

export const RELIABILITY: Board = {
  name: 'reliability',
  title: 'Throughline / Reliability',
  description:
    'Is the error budget safe, what do retries and fallbacks make good, and is every call recorded?',
  variables: ['model'],
  panels: [
    {
      title: 'Journal',
      description: 'Whether spend records reach the journal, of the worst instance.',
      kind: 'stat',
      unit: 'bool_yes_no',
      thresholds: [0.5, 1],
      isFalling: true,
      queries: [{ expr: `min(throughline_journal_writable{${WHERE}})`, legend: 'writable' }],
    },
    {
      title: 'Store',
      description:
        'Whether the store accepts rows, of the worst instance. Away: calls go on, rows come later.',
      kind: 'stat',
      unit: 'bool_yes_no',
      thresholds: [0.5, 1],
      isFalling: true,
      queries: [{ expr: `min(throughline_store_reachable{${WHERE}})`, legend: 'reachable' }],
    },
    {
      title: 'Rows lost in this range',
      description: 'Records given up because memory ran out during an outage. Must be 0.',
      kind: 'stat',
      unit: 'short',
      thresholds: [1, 1],
      queries: [
        { expr: increaseOf(`throughline_spend_rows_lost_total{${WHERE}}`, '$__range'), legend: 'lost' },
      ],
    },
    {
      title: 'Rows at risk',
      description: 'Records that are in memory only.',
      kind: 'stat',
      unit: 'short',
      thresholds: [1, 1],
      queries: [{ expr: `sum(throughline_spend_rows_at_risk{${WHERE}})`, legend: 'at risk' }],
    },
    {
      title: 'Alerts of these rules',
      description: 'Alerts that fire now.',
      kind: 'stat',
      unit: 'short',
      thresholds: [1, 3],
      queries: [
        {
          expr: 'count(ALERTS{alertname=~"Throughline.+",alertstate="firing"}) or vector(0)',
          legend: 'firing',
        },
      ],
    },
    {
      title: 'Alerts that wait',
      description: 'Alerts of the proxy that a receiver has not taken yet.',
      kind: 'stat',
      unit: 'short',
      thresholds: [1, 100],
      queries: [{ expr: `sum(throughline_alerts_waiting{${WHERE}})`, legend: 'waiting' }],
    },
    {
      title: 'Burn rate over 1 h',
      description:
        'How many times too fast the error budget of 30 days burns: 1 = it lasts 30 days, 14.4 = two days. Needs the recording rules.',
      kind: 'timeseries',
      unit: 'short',
      thresholds: [1, 14.4],
      queries: [
        { expr: `max by (slo) (job:throughline_error_budget_burn:rate1h{${WHERE}})`, legend: '{{slo}}' },
      ],
    },
    {
      title: 'Burn rate over 3 days',
      description:
        'The same over three days: above 1 the objective will be missed. Needs the recording rules.',
      kind: 'timeseries',
      unit: 'short',
      thresholds: [1, 6],
      queries: [
        { expr: `max by (slo) (job:throughline_error_budget_burn:rate3d{${WHERE}})`, legend: '{{slo}}' },
      ],
    },
    {
      title: 'Retries by kind of failure',
      description: 'Attempts within a model after a failed one, per second.',
      kind: 'timeseries',
      unit: 'ops',
      stacked: true,
      queries: [
        {
          expr: byModel('throughline_retries_total', 'failure'),
          legend: '{{model}} {{failure}}',
          mayBeEmpty: 'no retry',
        },
      ],
    },
    {
      title: 'Fallbacks to other models',
      description: 'Calls that go to another model, per second.',
      kind: 'timeseries',
      unit: 'ops',
      stacked: true,
      queries: [
        {
          expr: byModel('throughline_fallbacks_total', 'to'),
          legend: '{{model}} to {{to}}',
          mayBeEmpty: 'no fallback',
        },
      ],
    },
    {
      title: 'Retries denied',
      description: 'Attempts that the retry budget did not allow: more fails than retries can make good.',
      kind: 'timeseries',
      unit: 'ops',
      queries: [
        {
          expr: rateOf(`throughline_retries_denied_total{${OF_MODEL}}`, 'model'),
          legend: '{{model}}',
          mayBeEmpty: 'nothing denied',
        },
      ],
    },
    {
      title: 'Hedged, continued and detached streams',
      description:
        'Second attempts beside slow ones, streams that another deployment went on with, responses read for their usage after their clients left.',
      kind: 'timeseries',
      unit: 'ops',
      queries: [
        {
          expr: rateOf(`throughline_hedges_total{${OF_MODEL}}`, 'end'),
          legend: 'hedge {{end}}',
          mayBeEmpty: 'none',
        },
        {
          expr: rateOf(`throughline_continued_streams_total{${OF_MODEL}}`, 'end'),
          legend: 'continued {{end}}',
          mayBeEmpty: 'none',
        },
        {
          expr: rateOf(`throughline_detached_streams_total{${OF_MODEL}}`, 'end'),
          legend: 'detached {{end}}',
          mayBeEmpty: 'none',
        },
      ],
    },
    {
      title: 'Deployments that do not serve',
      description: '1 = half open, a trial call decides; 2 = cooling down; 3 = its background check fails.',
      kind: 'timeseries',
      unit: 'short',
      max: 3,
      queries: [
        {
          expr: `max by (model, model_id) (throughline_deployment_state{${OF_MODEL}})`,
          legend: '{{model}} {{model_id}}',
          mayBeEmpty: 'all serve',
        },
      ],
    },
    {
      title: 'Deployments that began to cool down',
      description: 'In each step; often again = the gateway flaps.',
      kind: 'timeseries',
      unit: 'short',
      queries: [
        {
          expr: increaseOf(`throughline_cooldowns_total{${OF_MODEL}}`, '$__rate_interval', 'model'),
          legend: '{{model}}',
          mayBeEmpty: 'all serve',
        },
      ],
    },
    {
      title: 'Records: written, and shipped to the store',
      description: 'Per second. The two lines lie on each other; a gap is the backlog.',
      kind: 'timeseries',
      unit: 'ops',
      queries: [
        { expr: rateOf(`throughline_spend_rows_written_total{${WHERE}}`), legend: 'written' },
        { expr: rateOf(`throughline_spend_rows_shipped_total{${WHERE}}`), legend: 'shipped' },
      ],
    },
    {
      title: 'Records that are not settled',
      description:
        'open: calls under way. recovered: found interrupted at a start. damaged: journal lines that were set aside.',
      kind: 'timeseries',
      unit: 'short',
      queries: [
        { expr: `sum(throughline_spend_rows_open{${WHERE}})`, legend: 'open' },
        {
          expr: `sum(throughline_spend_rows_recovered_total{${WHERE}})`,
          legend: 'recovered since the start',
        },
        { expr: `sum(throughline_journal_damaged_lines_total{${WHERE}})`, legend: 'damaged since the start' },
      ],
    },
    {
      title: 'Shared counters',
      description:
        '1 = an instance counts budgets and limits alone, because Valkey or Redis does not answer.',
      kind: 'timeseries',
      unit: 'short',
      max: 1,
      queries: [
        {
          expr: `max by (instance) (throughline_counters_degraded{${WHERE}})`,
          legend: '{{instance}}',
          mayBeEmpty: 'no shared counters are configured',
        },
      ],
    },
    {
      title: 'Alerts of the proxy by outcome',
      description: 'What became of them in each step: refused, expired and dropped ones reached nobody.',
      kind: 'timeseries',
      unit: 'short',
      queries: [
        {
          expr: increaseOf(`throughline_alerts_total{${WHERE}}`, '$__rate_interval', 'kind, outcome'),
          legend: '{{kind}} {{outcome}}',
          mayBeEmpty: 'nothing to tell',
        },
      ],
    },
  ],
};
