// Capacity: how close each instance is to its limits, and what it runs.
import { OF_MODEL, WHERE, type Board } from '../board.ts';
import { quantile, rateOf } from './expressions.ts';

const CPU = `throughline_cpu_seconds_total{${WHERE}}`;

export const CAPACITY: Board = {
  name: 'capacity',
  title: 'Throughline / Capacity',
  description: 'How close is each instance to its limits, and when is the next one needed?',
  variables: ['model'],
  panels: [
    {
      title: 'Instances',
      description: 'Instances that are scraped and answer.',
      kind: 'stat',
      unit: 'short',
      queries: [
        { expr: `count(count by (instance) (throughline_build_info{${WHERE}}))`, legend: 'instances' },
      ],
    },
    {
      title: 'Configurations served',
      description: 'More than 1 for long: replicas disagree.',
      kind: 'stat',
      unit: 'short',
      thresholds: [2, 3],
      queries: [
        { expr: `count(count by (version) (throughline_config_info{${WHERE}}))`, legend: 'versions' },
      ],
    },
    {
      title: 'Last reload',
      description: 'Whether the files on disk are served, of the worst instance.',
      kind: 'stat',
      unit: 'bool_yes_no',
      thresholds: [0.5, 1],
      isFalling: true,
      queries: [{ expr: `min(throughline_config_last_reload_successful{${WHERE}})`, legend: 'served' }],
    },
    {
      title: 'CPU per call',
      description: 'CPU time of all threads by call, in milliseconds: what one more call costs.',
      kind: 'stat',
      unit: 'ms',
      queries: [
        {
          expr: `1000 * ${rateOf(CPU)} / (${rateOf(`throughline_requests_total{${WHERE}}`)} > 0)`,
          legend: 'per call',
        },
      ],
    },
    {
      title: 'Free disk, least',
      description: 'Free space on the disk of a data directory, of the instance that has least.',
      kind: 'stat',
      unit: 'bytes',
      queries: [{ expr: `min(throughline_data_free_bytes{${WHERE}})`, legend: 'free' }],
    },
    {
      title: 'Event loop lag, worst',
      description: 'Longest delay within 15 s. Above 0.2 s for minutes: more workers, replicas or CPU.',
      kind: 'stat',
      unit: 's',
      thresholds: [0.2, 0.5],
      queries: [{ expr: `max(throughline_event_loop_lag_seconds{${WHERE}})`, legend: 'lag' }],
    },
    {
      title: 'CPU cores in use',
      description:
        'User and system time of all threads and workers. One process uses one core and part of a second one.',
      kind: 'timeseries',
      unit: 'short',
      queries: [{ expr: rateOf(CPU, 'instance'), legend: '{{instance}}' }],
    },
    {
      title: 'Memory',
      description: 'Resident set size of all workers and the supervisor.',
      kind: 'timeseries',
      unit: 'bytes',
      queries: [
        { expr: `sum by (instance) (throughline_resident_memory_bytes{${WHERE}})`, legend: '{{instance}}' },
      ],
    },
    {
      title: 'Event loop lag',
      description:
        'Longest delay of the event loop within 15 s, of the worst worker. The alert begins at 0.2 s.',
      kind: 'timeseries',
      unit: 's',
      thresholds: [0.2, 0.5],
      queries: [
        { expr: `max by (instance) (throughline_event_loop_lag_seconds{${WHERE}})`, legend: '{{instance}}' },
      ],
    },
    {
      title: 'Our own share of the time, p99',
      description: 'Time in the proxy itself by model.',
      kind: 'timeseries',
      unit: 's',
      thresholds: [0.05, 0.25],
      queries: [
        { expr: quantile(0.99, 'throughline_overhead_seconds', OF_MODEL, 'model'), legend: '{{model}}' },
      ],
    },
    {
      title: 'Calls in flight and in the queue',
      description: 'By instance. The queue fills when max_parallel_requests is reached.',
      kind: 'timeseries',
      unit: 'short',
      queries: [
        { expr: `sum by (instance) (throughline_in_flight{${WHERE}})`, legend: '{{instance}} in flight' },
        { expr: `sum by (instance) (throughline_queued{${WHERE}})`, legend: '{{instance}} queued' },
      ],
    },
    {
      title: 'Calls queued and turned away',
      description: 'Per second. why: queue_full, queue_timeout, event_loop_lag.',
      kind: 'timeseries',
      unit: 'reqps',
      queries: [
        {
          expr: rateOf(`throughline_queued_total{${OF_MODEL}}`, 'model'),
          legend: '{{model}} queued',
          mayBeEmpty: 'no limit was reached',
        },
        {
          expr: rateOf(`throughline_overloaded_total{${OF_MODEL}}`, 'model, why'),
          legend: '{{model}} {{why}}',
          mayBeEmpty: 'no limit was reached',
        },
      ],
    },
    {
      title: 'Connections refused',
      description: 'Connections closed as they came, because max_connections were open.',
      kind: 'timeseries',
      unit: 'ops',
      queries: [
        {
          expr: rateOf(`throughline_connections_refused_total{${WHERE}}`, 'instance'),
          legend: '{{instance}}',
        },
      ],
    },
    {
      title: 'Workers',
      description:
        'Workers that serve, beside those that there should be, and those that ended unasked since the start.',
      kind: 'timeseries',
      unit: 'short',
      queries: [
        {
          expr: `sum by (instance) (throughline_workers{${WHERE}})`,
          legend: '{{instance}} serving',
          mayBeEmpty: 'one process',
        },
        {
          expr: `sum by (instance) (throughline_workers_configured{${WHERE}})`,
          legend: '{{instance}} configured',
          mayBeEmpty: 'one process',
        },
        {
          expr: `sum by (instance) (throughline_workers_lost_total{${WHERE}})`,
          legend: '{{instance}} lost',
          mayBeEmpty: 'one process',
        },
      ],
    },
    {
      title: 'Journal that is not in the store',
      description: 'Bytes written to the journal that the store has not taken yet.',
      kind: 'timeseries',
      unit: 'bytes',
      queries: [
        { expr: `sum by (instance) (throughline_journal_backlog_bytes{${WHERE}})`, legend: '{{instance}}' },
      ],
    },
    {
      title: 'Free disk',
      description: 'Of the data directory, and what it will be in 24 hours at the rate of the last hour.',
      kind: 'timeseries',
      unit: 'bytes',
      queries: [
        { expr: `min by (instance) (throughline_data_free_bytes{${WHERE}})`, legend: '{{instance}}' },
        {
          expr: `min by (instance) (predict_linear(throughline_data_free_bytes{${WHERE}}[1h], 24 * 3600))`,
          legend: '{{instance}} in 24 h',
        },
      ],
    },
    {
      title: 'Idempotency cache',
      description: 'Memory of the calls known by an Idempotency-Key.',
      kind: 'timeseries',
      unit: 'bytes',
      queries: [
        { expr: `sum by (instance) (throughline_idempotency_bytes{${WHERE}})`, legend: '{{instance}}' },
      ],
    },
    {
      title: 'Log lines dropped',
      description: 'Per second: stdout could not be written.',
      kind: 'timeseries',
      unit: 'ops',
      queries: [
        { expr: rateOf(`throughline_log_lines_dropped_total{${WHERE}}`, 'instance'), legend: '{{instance}}' },
      ],
    },
    {
      title: 'What runs',
      description: 'Version of the proxy and of Node by instance, and the version of its configuration.',
      kind: 'table',
      unit: 'none',
      width: 24,
      queries: [
        { expr: `max by (instance, version, node) (throughline_build_info{${WHERE}})`, legend: 'program' },
        { expr: `max by (instance, version) (throughline_config_info{${WHERE}})`, legend: 'configuration' },
      ],
    },
  ],
};
