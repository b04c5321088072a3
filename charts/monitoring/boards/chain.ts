// The chain: callers, this proxy, the gateways behind it.
import { OF_MODEL, WHERE, type Board } from '../board.ts';
import { quantile, rateOf, shareOf } from './expressions.ts';

const REQUESTS = `throughline_requests_total{${OF_MODEL}}`;
const BAD = `throughline_faults_total{${OF_MODEL},side=~"proxy|upstream"}`;

export const CHAIN: Board = {
  name: 'chain',
  title: 'Throughline / Chain',
  description:
    'Does every call get through, how fast, and where does it fail: at the caller, here, or at a gateway?',
  variables: ['model'],
  panels: [
    {
      title: 'Calls',
      description: 'Calls per second that passed authentication and have ended.',
      kind: 'stat',
      unit: 'reqps',
      queries: [{ expr: rateOf(REQUESTS), legend: 'calls' }],
    },
    {
      title: 'Failed, not by callers',
      description: 'Share of calls that failed by a fault of the proxy or of a gateway.',
      kind: 'stat',
      unit: 'percentunit',
      thresholds: [0.01, 0.05],
      queries: [{ expr: shareOf(rateOf(BAD), rateOf(REQUESTS)), legend: 'failed' }],
    },
    {
      title: 'First byte, p95',
      description:
        'From the head of the request to the first byte of the response, for 95 of 100 calls. Buckets end at 5, 10 and 30 s.',
      kind: 'stat',
      unit: 's',
      thresholds: [5, 10],
      queries: [{ expr: quantile(0.95, 'throughline_first_byte_seconds', OF_MODEL), legend: 'p95' }],
    },
    {
      title: 'In flight',
      description: 'Calls being served, those in the queue not included.',
      kind: 'stat',
      unit: 'short',
      queries: [{ expr: `sum(throughline_in_flight{${WHERE}})`, legend: 'in flight' }],
    },
    {
      title: 'Records at risk',
      description: 'Spend records that are in memory only. Anything but 0 for a minute is an emergency.',
      kind: 'stat',
      unit: 'short',
      thresholds: [1, 1],
      queries: [{ expr: `sum(throughline_spend_rows_at_risk{${WHERE}})`, legend: 'at risk' }],
    },
    {
      title: 'Deployments that do not serve',
      description: 'Half open, cooling down, or found ill by a background check.',
      kind: 'stat',
      unit: 'short',
      thresholds: [1, 3],
      queries: [
        {
          expr: `count(max by (model, model_id) (throughline_deployment_state{${OF_MODEL}}) > 0) or vector(0)`,
          legend: 'not serving',
        },
      ],
    },
    {
      title: 'Calls by model',
      description: 'Calls per second by model_name of the configuration; empty = the call found no model.',
      kind: 'timeseries',
      unit: 'reqps',
      stacked: true,
      queries: [{ expr: rateOf(REQUESTS, 'model'), legend: '{{model}}' }],
    },
    {
      title: 'Calls by end',
      description:
        'How calls ended; the table of ends is in the documentation. complete and replayed are the good ones.',
      kind: 'timeseries',
      unit: 'reqps',
      stacked: true,
      queries: [{ expr: rateOf(REQUESTS, 'end_reason'), legend: '{{end_reason}}' }],
    },
    {
      title: 'Faults by side',
      description:
        'Failed calls by whose fault it was. client is for callers to mend, upstream for the gateway, proxy for us.',
      kind: 'timeseries',
      unit: 'reqps',
      stacked: true,
      queries: [
        {
          expr: rateOf(`throughline_faults_total{${OF_MODEL}}`, 'side'),
          legend: '{{side}}',
          mayBeEmpty: 'no fault',
        },
      ],
    },
    {
      title: 'Faults of gateways and of the proxy by reason',
      description: 'The reason is the member "error" of the log lines of these calls.',
      kind: 'timeseries',
      unit: 'reqps',
      stacked: true,
      queries: [
        { expr: rateOf(BAD, 'gateway, reason'), legend: '{{gateway}} {{reason}}', mayBeEmpty: 'no fault' },
      ],
    },
    {
      title: 'Calls by gateway',
      description: 'Calls per second by the gateway to which they went last; empty = refused here.',
      kind: 'timeseries',
      unit: 'reqps',
      stacked: true,
      queries: [
        { expr: rateOf(`throughline_gateway_requests_total{${WHERE}}`, 'gateway'), legend: '{{gateway}}' },
      ],
    },
    {
      title: 'Failed share by gateway',
      description: 'Share of the calls to a gateway that failed, whosever fault it was.',
      kind: 'timeseries',
      unit: 'percentunit',
      max: 1,
      queries: [
        {
          expr:
            `${rateOf(`throughline_gateway_requests_total{${WHERE},status="failure"}`, 'gateway')}\n` +
            `/ (${rateOf(`throughline_gateway_requests_total{${WHERE}}`, 'gateway')} > 0)`,
          legend: '{{gateway}}',
        },
      ],
    },
    {
      title: 'First byte by model, p95',
      description: 'By model, because a sum hides the slow one. The alert counts calls above 10 s.',
      kind: 'timeseries',
      unit: 's',
      thresholds: [10, 30],
      queries: [
        { expr: quantile(0.95, 'throughline_first_byte_seconds', OF_MODEL, 'model'), legend: '{{model}}' },
      ],
    },
    {
      title: 'First byte by gateway, p50 and p95',
      description: 'The same models at two gateways: which one is slow.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        {
          expr: quantile(0.5, 'throughline_gateway_first_byte_seconds', WHERE, 'gateway'),
          legend: '{{gateway}} p50',
        },
        {
          expr: quantile(0.95, 'throughline_gateway_first_byte_seconds', WHERE, 'gateway'),
          legend: '{{gateway}} p95',
        },
      ],
    },
    {
      title: 'Time per output token by model, p50 and p95',
      description:
        'Of streams: time from first to last byte, by output token after the first. What people see as typing speed.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        {
          expr: quantile(0.5, 'throughline_time_per_output_token_seconds', OF_MODEL, 'model'),
          legend: '{{model}} p50',
        },
        {
          expr: quantile(0.95, 'throughline_time_per_output_token_seconds', OF_MODEL, 'model'),
          legend: '{{model}} p95',
        },
      ],
    },
    {
      title: 'Whole call, p50 and p95',
      description: 'From the head of the request to the last byte of the response.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        { expr: quantile(0.5, 'throughline_request_duration_seconds', OF_MODEL), legend: 'p50' },
        { expr: quantile(0.95, 'throughline_request_duration_seconds', OF_MODEL), legend: 'p95' },
      ],
    },
    {
      title: 'Our own share of the time, p50 and p99',
      description: 'Time in the proxy itself, without gateway and client. p99 above 50 ms: short of CPU.',
      kind: 'timeseries',
      unit: 's',
      thresholds: [0.05, 0.25],
      queries: [
        { expr: quantile(0.5, 'throughline_overhead_seconds', OF_MODEL), legend: 'p50' },
        { expr: quantile(0.99, 'throughline_overhead_seconds', OF_MODEL), legend: 'p99' },
      ],
    },
    {
      title: 'Refused without a record, by code',
      description:
        'Requests refused before or at authentication, or on paths that are none: wrong keys, scanners.',
      kind: 'timeseries',
      unit: 'reqps',
      stacked: true,
      queries: [{ expr: rateOf(`throughline_rejected_total{${WHERE}}`, 'code'), legend: '{{code}}' }],
    },
  ],
};
