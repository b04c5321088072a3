// Spend rows and sums in the description of the API.
import { REPORT_BY } from '../../spend/report/spend-report.ts';
import {
  ANY_OBJECT,
  BOOL,
  COUNT,
  filters,
  json,
  listOf,
  needed,
  NUMBER,
  object,
  orNull,
  parameter,
  ref,
  TEXT,
  type Described,
  type Parameter,
} from './operation.ts';

const tag = 'spend';
const codes = ['invalid_parameter', 'store_unavailable'] as const;
const DAY = { type: 'string', examples: ['2026-01-31'] };
const DATES: readonly Parameter[] = [
  parameter('start_date', 'YYYY-MM-DD, UTC.', DAY),
  parameter('end_date', 'The last day, included.', DAY),
];
const NEEDED_DATES = DATES.map(needed);
const pages = (size: string, most: number): readonly Parameter[] => [
  parameter('page', 'Which page; the first one is 1.', { type: 'integer', minimum: 1 }),
  parameter(size, 'Entries of a page.', { type: 'integer', minimum: 1, maximum: most }),
];
const MOST_SUMS = parameter('limit', 'Most sums.', { type: 'integer', minimum: 1, maximum: 100_000 });
const usd = (name: string): Parameter => parameter(name, 'US dollars.', { type: 'number', minimum: 0 });

const ROWS: readonly Described[] = [
  {
    route: 'GET /spend/logs',
    tag,
    summary: 'The newest 10,000 rows; with both dates sums per day, unless `summarize=false`.',
    query: [
      ...filters('api_key', 'request_id', 'user_id', 'session_id', 'end_user'),
      ...DATES,
      parameter('summarize', 'false: rows.', { type: 'string', examples: ['false'] }),
    ],
    answers: json(listOf({ anyOf: [ref('SpendRow'), object({ startTime: TEXT, spend: NUMBER })] })),
    codes,
  },
  {
    route: 'GET /spend/logs/ui',
    tag,
    summary: 'Rows in pages, the newest first.',
    aliases: ['/spend/logs/v2'],
    query: [
      ...NEEDED_DATES,
      ...pages('page_size', 1000),
      ...filters(
        'api_key',
        'request_id',
        'user_id',
        'team_id',
        'end_user',
        'session_id',
        'model',
        'model_group',
        'tag',
      ),
      parameter('status_filter', 'How the call ended.', { type: 'string', enum: ['success', 'failure'] }),
      usd('min_spend'),
      usd('max_spend'),
    ],
    answers: json(ref('SpendPage')),
    codes,
  },
  {
    route: 'GET /spend/logs/session/ui',
    tag,
    summary: 'The rows of a session, the oldest first.',
    query: [needed(parameter('session_id', 'Its id.')), ...pages('page_size', 1000)],
    answers: json(ref('SpendPage')),
    codes,
  },
  {
    route: 'GET /spend/logs/ui/{request_id}',
    tag,
    summary: 'One row.',
    answers: json(ref('SpendRow')),
    codes,
  },
];

const ROW_FILTERS = [
  ...filters(
    'request_id',
    'session_id',
    'api_key',
    'user_id',
    'team_id',
    'end_user',
    'model',
    'model_group',
    'tag',
    'call_type',
  ),
  parameter('status', 'How the call ended.', { type: 'string', enum: ['success', 'failure'] }),
];

const LATER: readonly Described[] = [
  {
    route: 'GET /spend/rows',
    tag,
    summary:
      'Rows, the newest first, each page from where the last one ended; of the last day unless a range is asked for. Users see their own.',
    query: [
      parameter('limit', 'Rows of a page.', { type: 'integer', minimum: 1, maximum: 200 }),
      parameter('before', 'Rows that began before the one that `next` of an answer names.'),
      parameter('after', 'Rows that began after the one that `newest` of an answer names.'),
      parameter('start', 'A day or an instant, UTC.', { type: 'string', examples: ['2026-01-31T10:00:00Z'] }),
      parameter('end', 'A day, which is included, or an instant, which is not.', DAY),
      ...ROW_FILTERS,
    ],
    answers: json(
      object({
        rows: listOf(ref('SpendRow')),
        next: orNull('string'),
        newest: orNull('string'),
        whose: TEXT,
      }),
    ),
    codes: [...codes, 'management_denied'],
    others: { '304': 'What `if-none-match` names' },
  },
  {
    route: 'GET /spend/rows/live',
    tag,
    summary:
      'Rows as they come, about a second after a call has ended: Server-Sent Events `start`, `rows` (`{rows}`), `missed` (more came than are sent: ask /spend/rows) and `end`. A `last-event-id` goes on from there. Users see their own.',
    query: ROW_FILTERS,
    answers: { 'text/event-stream': {} },
    codes: [...codes, 'management_denied', 'too_many_listeners'],
  },
  {
    route: 'GET /spend/sums',
    tag,
    summary:
      'Sums by up to two of day, model, key, ..., with their total; amounts are exact texts. Users see their own.',
    query: [
      parameter(
        'by',
        'None, one or two, with a comma: day, model, model_group, provider, api_key, team, user, end_user, tag, session.',
        {
          type: 'string',
          examples: ['day,model'],
        },
      ),
      ...DATES,
      ...filters(
        'model',
        'model_group',
        'provider',
        'api_key',
        'team_id',
        'user_id',
        'end_user',
        'tag',
        'session_id',
      ),
      parameter('limit', 'Most sums.', { type: 'integer', minimum: 1, maximum: 10_000 }),
    ],
    answers: json(
      object({
        by: listOf(TEXT),
        start_date: TEXT,
        end_date: TEXT,
        whose: TEXT,
        rows: listOf(ANY_OBJECT),
        more: BOOL,
        total: ANY_OBJECT,
      }),
    ),
    codes: [...codes, 'management_denied'],
  },
  {
    route: 'GET /spend/reconciliations',
    tag,
    summary:
      'What `throughline spend reconcile` has found, the newest first: sums by kind of difference, and the calls that differ most. Amounts are exact texts.',
    query: [
      parameter('limit', 'Results of a page.', { type: 'integer', minimum: 1, maximum: 200 }),
      parameter('before', 'Results before the one that `next` of an answer names.'),
    ],
    answers: json(
      object({
        reconciliations: listOf(
          object({
            id: TEXT,
            at: TEXT,
            who: TEXT,
            here: TEXT,
            there: TEXT,
            start_date: TEXT,
            end_date: TEXT,
            tolerance: TEXT,
            agrees: BOOL,
            total: ANY_OBJECT,
            kinds: ANY_OBJECT,
            without_cost: object({ here: COUNT, there: COUNT }),
            joined_by: ANY_OBJECT,
            differences: listOf(ANY_OBJECT),
            differences_total: COUNT,
            by_model: listOf(ANY_OBJECT),
            by_day: listOf(ANY_OBJECT),
          }),
        ),
        next: orNull('string'),
      }),
    ),
    codes,
    others: { '304': 'What `if-none-match` names' },
  },
];

const SUMS: readonly Described[] = [
  {
    route: 'GET /spend/tags',
    tag,
    summary: 'Sums by tag; a call with two tags counts for both.',
    query: [
      ...DATES,
      parameter('tags', 'Names, with commas between them; repeated, each is one name, commas and all.'),
    ],
    answers: json(listOf(object({ individual_request_tag: TEXT, log_count: COUNT, total_spend: NUMBER }))),
    codes,
  },
  {
    route: 'GET /spend/keys',
    tag,
    summary: 'Sums by key, the dearest first.',
    query: DATES,
    answers: json(listOf(object({ token: TEXT, spend: NUMBER, requests: COUNT, total_tokens: COUNT }))),
    codes,
  },
  {
    route: 'GET /spend/users',
    tag,
    summary: 'Sums by user, the dearest first.',
    query: [...DATES, ...filters('user_id')],
    answers: json(listOf(object({ user_id: TEXT, spend: NUMBER, requests: COUNT, total_tokens: COUNT }))),
    codes,
  },
  {
    route: 'GET /spend/report',
    tag,
    summary: 'What `throughline spend report` prints; amounts are texts, exact to the pico-dollar.',
    query: [
      needed(parameter('by', 'What the sums are by.', { type: 'string', enum: Object.keys(REPORT_BY) })),
      ...DATES,
      MOST_SUMS,
    ],
    answers: json(object({ by: TEXT, rows: listOf(ANY_OBJECT), more: BOOL, total: ANY_OBJECT })),
    codes,
  },
  {
    route: 'GET /spend/budgets',
    tag,
    summary: 'Every budget with what is spent of it and when it will be used up.',
    query: pages('size', 300),
    answers: json(
      object({ budgets: listOf(ANY_OBJECT), total_count: COUNT, current_page: COUNT, total_pages: COUNT }),
    ),
    codes,
  },
  {
    route: 'GET /global/spend/report',
    tag,
    summary: 'Per day by team or customer, or over the whole time by key.',
    query: [
      ...NEEDED_DATES,
      parameter('group_by', 'Default: team.', { type: 'string', enum: ['team', 'customer', 'api_key'] }),
      ...filters('team_id', 'customer_id', 'api_key', 'internal_user_id'),
    ],
    answers: json(listOf(ANY_OBJECT)),
    codes,
  },
  {
    route: 'GET /global/spend',
    tag,
    summary: 'What the last 30 days cost.',
    query: DATES,
    answers: json(object({ spend: NUMBER, max_budget: NUMBER })),
    codes,
  },
  {
    route: 'GET /global/spend/logs',
    tag,
    summary: 'The last 30 days, by day.',
    query: [...DATES, ...filters('api_key')],
    answers: json(listOf(object({ date: TEXT, spend: NUMBER }))),
    codes,
  },
  {
    route: 'GET /global/spend/keys',
    tag,
    summary: 'The last 30 days by key, the dearest first.',
    query: [...DATES, MOST_SUMS],
    answers: json(listOf(object({ api_key: TEXT, total_spend: NUMBER }))),
    codes,
  },
  {
    route: 'GET /global/spend/models',
    tag,
    summary: 'The last 30 days by model of the gateway, the dearest first.',
    query: [...DATES, MOST_SUMS],
    answers: json(listOf(object({ model: TEXT, total_spend: NUMBER }))),
    codes,
  },
  ...(['user', 'team', 'tag'] as const).map((who): Described => ({
    route: `GET /${who}/daily/activity`,
    tag,
    summary: `Sums per day, split also by ${who}, the newest day first.`,
    query: [
      ...NEEDED_DATES,
      parameter({ user: 'user_id', team: 'team_ids', tag: 'tags' }[who], 'These alone.'),
      ...filters('model', 'api_key'),
      ...pages('page_size', 1000),
    ],
    answers: json(ref('Activity')),
    codes: [...codes, 'management_denied'],
  })),
  {
    route: 'POST /spend/calculate',
    tag,
    summary: 'What a call costs, by `{model, messages}` or `{completion_response}`. Calls no gateway.',
    body: {
      type: 'object',
      properties: { model: TEXT, messages: { type: 'array' }, completion_response: ANY_OBJECT },
    },
    answers: json(
      object({
        cost: NUMBER,
        cost_source: orNull('string'),
        prompt_tokens: COUNT,
        completion_tokens: COUNT,
      }),
    ),
    codes: ['invalid_parameter'],
  },
];

export const SPEND_OPERATIONS: readonly Described[] = [...ROWS, ...LATER, ...SUMS];
