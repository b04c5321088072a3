// Spend: where the money goes, and whether its sums can be believed.
import { OF_MODEL, OF_TEAM, WHERE, type Board } from '../board.ts';
import { increaseOf, named, rateOf, shareOf } from './expressions.ts';

const SPEND = `throughline_spend_usd_total{${OF_MODEL}}`;
const TEAM_SPEND = `throughline_team_spend_usd_total{${OF_TEAM}}`;
const TOKENS = `throughline_tokens_total{${OF_MODEL}}`;
const prompts = `throughline_tokens_total{${OF_MODEL},kind="prompt"}`;
const REQUESTS = `throughline_requests_total{${OF_MODEL}}`;

export const SPEND_BOARD: Board = {
  name: 'spend',
  title: 'Throughline / Spend',
  description:
    'Where does the money go, and does the sum hold? Exact sums are in the ledger (throughline spend report).',
  variables: ['model', 'team'],
  panels: [
    {
      title: 'Spent in this range',
      description:
        'US dollars of calls with a known cost. Counters lose what a killed process did not tell; the ledger does not.',
      kind: 'stat',
      unit: 'currencyUSD',
      queries: [{ expr: increaseOf(SPEND, '$__range'), legend: 'spent' }],
    },
    {
      title: 'Per hour, now',
      description: 'US dollars per hour at the present rate.',
      kind: 'stat',
      unit: 'currencyUSD',
      queries: [{ expr: `${rateOf(SPEND)} * 3600`, legend: 'per hour' }],
    },
    {
      title: 'Calls without a price',
      description: 'Successful calls in this range whose cost is not known: they are missing in every sum.',
      kind: 'stat',
      unit: 'short',
      thresholds: [1, 100],
      queries: [
        {
          expr: `${increaseOf(`throughline_unpriced_total{${OF_MODEL}}`, '$__range')} or vector(0)`,
          legend: 'unpriced',
        },
      ],
    },
    {
      title: 'Costs that differ',
      description: 'Calls in this range for which two sources state costs that are more than 1 % apart.',
      kind: 'stat',
      unit: 'short',
      thresholds: [1, 100],
      queries: [
        {
          expr: `${increaseOf(`throughline_cost_differs_total{${OF_MODEL}}`, '$__range')} or vector(0)`,
          legend: 'differ',
        },
      ],
    },
    {
      title: 'Read from caches',
      description: 'Share of prompt tokens that providers read from their caches.',
      kind: 'stat',
      unit: 'percentunit',
      queries: [
        {
          expr: shareOf(rateOf(`throughline_tokens_total{${OF_MODEL},kind="cache_read"}`), rateOf(prompts)),
          legend: 'cached',
        },
      ],
    },
    {
      title: 'Refused by a budget',
      description: 'Calls in this range that a budget had no room for.',
      kind: 'stat',
      unit: 'short',
      thresholds: [1, 100],
      queries: [
        {
          expr: `${increaseOf(`throughline_budget_refused_total{${WHERE}}`, '$__range')} or vector(0)`,
          legend: 'refused',
        },
      ],
    },
    {
      title: 'US dollars per hour by model',
      description: 'At the present rate.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      stacked: true,
      queries: [{ expr: `${rateOf(SPEND, 'model')} * 3600`, legend: '{{model}}' }],
    },
    {
      title: 'US dollars per hour by team',
      description:
        'The team of the key, else of the deployment. Teams beyond max_metric_label_values are counted as "other teams".',
      kind: 'timeseries',
      unit: 'currencyUSD',
      stacked: true,
      queries: [{ expr: `${named(rateOf(TEAM_SPEND, 'team'), WHERE)} * 3600`, legend: '{{alias}}' }],
    },
    {
      title: 'Tokens by kind',
      description:
        'Tokens per second as upstreams counted them; estimates where they did not. prompt holds those read from caches.',
      kind: 'timeseries',
      unit: 'short',
      queries: [{ expr: rateOf(TOKENS, 'kind'), legend: '{{kind}}' }],
    },
    {
      title: 'Tokens by team',
      description: 'Prompt and completion tokens per second.',
      kind: 'timeseries',
      unit: 'short',
      stacked: true,
      queries: [
        {
          expr: named(rateOf(`throughline_team_tokens_total{${OF_TEAM}}`, 'team'), WHERE),
          legend: '{{alias}}',
        },
      ],
    },
    {
      title: 'US dollars per million tokens by model',
      description:
        'Cost by prompt and completion tokens: a jump is another price, or another model behind the name.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      queries: [
        {
          expr: `1e6 * ${rateOf(SPEND, 'model')}\n/ (${rateOf(`throughline_tokens_total{${OF_MODEL},kind=~"prompt|completion"}`, 'model')} > 0)`,
          legend: '{{model}}',
        },
      ],
    },
    {
      title: 'Doubtful sums',
      description:
        'Share of calls without a price, with estimated tokens, and with costs that differ between sources.',
      kind: 'timeseries',
      unit: 'percentunit',
      queries: [
        {
          expr: shareOf(rateOf(`throughline_unpriced_total{${OF_MODEL}}`), rateOf(REQUESTS)),
          legend: 'unpriced',
        },
        {
          expr: shareOf(rateOf(`throughline_usage_estimated_total{${OF_MODEL}}`), rateOf(REQUESTS)),
          legend: 'estimated',
        },
        {
          expr: shareOf(rateOf(`throughline_cost_differs_total{${OF_MODEL}}`), rateOf(REQUESTS)),
          legend: 'differs',
        },
      ],
    },
    {
      title: 'Distance between cost sources',
      description: 'US dollars per hour between the recorded cost and the cost by this source.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      queries: [
        {
          expr: `${rateOf(`throughline_cost_difference_usd_total{${OF_MODEL}}`, 'model, source')} * 3600`,
          legend: '{{model}} {{source}}',
          mayBeEmpty: 'one source only',
        },
      ],
    },
    {
      title: 'Calls by team',
      description: 'Calls per second, failed ones apart.',
      kind: 'timeseries',
      unit: 'reqps',
      stacked: true,
      queries: [
        {
          expr: named(rateOf(`throughline_team_requests_total{${OF_TEAM}}`, 'team, status'), WHERE),
          legend: '{{alias}} {{status}}',
        },
      ],
    },
    {
      title: 'Budgets of the configuration: used share',
      description:
        'Spent and reserved in the present window, by its cap. Budgets of virtual keys are in their API.',
      kind: 'timeseries',
      unit: 'percentunit',
      thresholds: [0.8, 1],
      queries: [
        {
          expr:
            `max by (scope, id, budget) (throughline_budget_spent_usd{${WHERE}} + throughline_budget_reserved_usd{${WHERE}})\n` +
            `/ (max by (scope, id, budget) (throughline_budget_max_usd{${WHERE}}) > 0)`,
          legend: '{{scope}} {{id}} {{budget}}',
          mayBeEmpty: 'no budget in the configuration',
        },
      ],
    },
    {
      title: 'Runaway conversations',
      description:
        'Requests at which a rule of the runaway brake was reached, and conversations that it holds.',
      kind: 'timeseries',
      unit: 'short',
      queries: [
        {
          expr: increaseOf(`throughline_brake_actions_total{${WHERE}}`, '$__rate_interval', 'rule, level'),
          legend: '{{rule}} {{level}}',
          mayBeEmpty: 'the brake is off, or nothing ran away',
        },
        { expr: `sum(throughline_brake_stopped_conversations{${WHERE}})`, legend: 'stopped now' },
      ],
    },
    {
      title: 'Teams in this range',
      description: 'US dollars and calls by team.',
      kind: 'table',
      unit: 'short',
      width: 24,
      queries: [
        { expr: named(increaseOf(TEAM_SPEND, '$__range', 'team'), WHERE), legend: 'US dollars' },
        {
          expr: named(increaseOf(`throughline_team_requests_total{${OF_TEAM}}`, '$__range', 'team'), WHERE),
          legend: 'calls',
        },
      ],
    },
  ],
};
