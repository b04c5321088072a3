// The page for people in the description of the API: its files, its session, the calls that it makes.
import { ALERT_KINDS } from '../../../config/alert-settings.ts';
import { ALERT_STATES } from '../../access/alerts/raised-alert.ts';
import {
  ANY_OBJECT,
  BOOL,
  COUNT,
  json,
  listOf,
  object,
  orNull,
  parameter,
  some,
  TEXT,
  TEXTS,
  type Described,
} from './operation.ts';

const tag = 'console';
const codes = ['route_not_found'] as const;

const SESSION = {
  ...object({
    signed_in: BOOL,
    sign_in: object({ key: BOOL, oidc: { type: ['object', 'null'] } }),
    console: object({ version: TEXT }),
  }),
  properties: {
    signed_in: BOOL,
    sign_in: object({ key: BOOL, oidc: { type: ['object', 'null'] } }),
    console: object({ version: TEXT }),
    reason: { type: ['string', 'null'], enum: ['expired', 'idle', 'revoked', null] },
    who: object({ name: TEXT, kind: TEXT, user_id: orNull('string'), admin_of: TEXTS }),
    role: { type: 'string', enum: ['admin', 'viewer', 'user', 'user_viewer', 'key'] },
    may: ANY_OBJECT,
    expires_at: orNull('string'),
    idle_expires_at: orNull('string'),
    has: ANY_OBJECT,
    platform_users: TEXTS,
  },
};

const tried = (path: string): Described => ({
  route: `POST /ui/v1/${path}`,
  tag,
  summary: `\`/v1/${path}\` for the page, with its session in place of a key.`,
  body: ANY_OBJECT,
  answers: json(ANY_OBJECT),
  codes: ['model_not_found', 'session_expired', 'session_not_taken'],
  forwards: true,
});

const PERCENTILES = object({ p50: orNull('number'), p95: orNull('number') });
const FIGURES = {
  calls_per_minute: COUNT,
  calls: COUNT,
  faults: object({ client: COUNT, proxy: COUNT, upstream: COUNT }),
  first_byte_ms: PERCENTILES,
  duration_ms: PERCENTILES,
};
const STATE = { type: 'string', enum: ['ok', 'half_open', 'cooling_down', 'failing'] };

const ALERT = object({
  id: TEXT,
  kind: { type: 'string', enum: [...ALERT_KINDS] },
  level: { type: 'string', enum: ['warning', 'error'] },
  at: TEXT,
  subject: object({ kind: TEXT, id: TEXT, name: TEXT }),
  text: TEXT,
  state: { type: 'string', enum: [...ALERT_STATES] },
  deliveries: listOf(
    object({
      channel: TEXT,
      state: { type: 'string', enum: ['pending', 'delivered', 'failed'] },
      attempts: COUNT,
      reason: orNull('string'),
      changed_at: TEXT,
    }),
  ),
  acknowledged: {
    ...object({ at: TEXT, by: TEXT, user_id: orNull('string'), note: orNull('string') }),
    type: ['object', 'null'],
  },
});

export const CONSOLE_OPERATIONS: readonly Described[] = [
  {
    route: 'GET /chain',
    tag,
    summary:
      'The way of the calls as it is now: this proxy, each gateway, each deployment, the ledger, and what needs a person. From memory, made at most once a second.',
    answers: json(
      object({
        at: TEXT,
        window_s: COUNT,
        verdict: object({ level: TEXT, text: TEXT }),
        proxy: ANY_OBJECT,
        traffic: object(FIGURES),
        gateways: listOf(object({ gateway: TEXT, state: STATE, in_flight: COUNT, ...FIGURES })),
        deployments: listOf(object({ id: TEXT, model_name: TEXT, gateway: TEXT, state: STATE, ...FIGURES })),
        deployments_total: COUNT,
        ledger: ANY_OBJECT,
        reload: ANY_OBJECT,
        spend_today: { type: ['object', 'null'] },
        findings: listOf(object({ level: TEXT, text: TEXT, mend: TEXT, link: orNull('string') })),
        findings_total: COUNT,
        alerts: object({ raised: COUNT, open: COUNT, failed: COUNT, pending: COUNT }),
        replicas: listOf(
          object({
            name: TEXT,
            version: orNull('string'),
            started_at: orNull('string'),
            last_seen: TEXT,
            state: { type: 'string', enum: ['serving', 'silent'] },
            this: BOOL,
            shared_by: TEXTS,
          }),
        ),
        history: ANY_OBJECT,
      }),
    ),
    others: { '304': 'What `if-none-match` names' },
  },
  {
    route: 'GET /alerts',
    tag,
    summary:
      'The alerts of the last 90 days, what became of each at every receiver, and who has acknowledged it: the open ones first, then the acknowledged, each with the newest first. An alert is `failed` when one of its receivers will not get it.',
    query: [
      parameter('limit', 'Alerts of a page.', { type: 'integer', minimum: 1, maximum: 200 }),
      parameter('before', 'Alerts before the one that `next` of an answer names.'),
      parameter('state', 'What became of them.', { type: 'string', enum: [...ALERT_STATES] }),
      parameter('acknowledged', 'Those that are acknowledged, or the open ones. Left out: both.', {
        type: 'string',
        enum: ['true', 'false'],
      }),
    ],
    answers: json(
      object({
        alerts: listOf(ALERT),
        next: orNull('string'),
        channels: listOf(object({ name: TEXT, kinds: TEXTS })),
      }),
    ),
    codes: ['invalid_parameter', 'store_unavailable'],
    others: { '304': 'What `if-none-match` names' },
  },
  {
    route: 'POST /alerts/{id}/acknowledge',
    tag,
    summary:
      'Says that somebody has seen an alert. Holds for what else was told of the same cause, and for what is told of it again within 24 hours. One that is acknowledged already stays as it is.',
    body: some({ note: { type: ['string', 'null'], maxLength: 1000 } }),
    answers: json(ALERT),
    codes: ['invalid_parameter', 'alert_not_found', 'store_unavailable'],
  },
  {
    route: 'POST /alerts/{id}/reopen',
    tag,
    summary: 'Takes the acknowledgement of an alert back, for all that it holds for.',
    answers: json(ALERT),
    codes: ['alert_not_found', 'store_unavailable'],
  },
  {
    route: 'GET /config',
    tag,
    summary:
      'The configuration in force without secrets, where each setting stands, and what is doubtful about it.',
    answers: json(
      object({
        version: TEXT,
        files: TEXTS,
        reload: ANY_OBJECT,
        warnings: listOf(ANY_OBJECT),
        settings: listOf(object({ path: TEXT, value: {}, place: TEXT })),
        models: listOf(object({ id: TEXT, model_name: TEXT, source: TEXT, place: orNull('string') })),
        disabled: listOf(ANY_OBJECT),
      }),
    ),
  },
  {
    route: 'GET /ui',
    tag,
    summary: 'The page for people; from here to `ui/`, where it is.',
    aliases: ['/ui/'],
    answers: { 'text/html': TEXT },
    codes: [...codes, 'console_not_built'],
    others: { '308': 'It is at `ui/`' },
  },
  {
    route: 'GET /ui/{file}',
    tag,
    summary: 'A file of the page; the page itself for every other name without a slash.',
    answers: { '*/*': TEXT },
    codes: [...codes, 'console_not_built'],
  },
  {
    route: 'GET /ui/session',
    tag,
    summary: 'Who has signed in, and what they may do. Renews a session that is in use.',
    answers: json(SESSION),
    codes: [...codes, 'store_unavailable'],
  },
  {
    route: 'POST /ui/session',
    tag,
    summary: 'Signs in with a key; the session is in a cookie that no script reads.',
    body: { ...some({ key: TEXT }), required: ['key'] },
    answers: json(SESSION),
    codes: [
      ...codes,
      'invalid_parameter',
      'invalid_api_key',
      'key_blocked',
      'key_expired',
      'team_blocked',
      'team_removed',
      'sign_in_refused',
      'session_not_taken',
      'too_many_sign_ins',
      'store_unavailable',
    ],
  },
  {
    route: 'DELETE /ui/session',
    tag,
    summary: 'Signs out: ends this session for every copy of its cookie.',
    answers: {},
    codes: [...codes, 'session_not_taken', 'store_unavailable'],
    others: { '204': 'Signed out' },
  },
  {
    route: 'GET /ui/oidc/login',
    tag,
    summary: 'Begins to sign in through the OpenID Connect provider.',
    query: [parameter('to', 'A place of the page to come back to.')],
    answers: {},
    codes,
    others: { '302': 'To the provider, or back to the page with the reason' },
  },
  {
    route: 'GET /ui/oidc/callback',
    tag,
    summary: 'Where the provider sends the browser back to.',
    answers: {},
    codes,
    others: { '302': 'To the page' },
  },
  {
    route: 'POST /explain',
    tag,
    summary:
      'What would go upstream for a call, and which rule decides about each part; with `entry` as if that entry of a model_list were saved. Nothing is sent or kept.',
    body: {
      ...some({ endpoint: TEXT, body: ANY_OBJECT, headers: ANY_OBJECT, query: TEXT, entry: ANY_OBJECT }),
      required: ['body'],
    },
    answers: json(object({ error: { type: ['object', 'null'] } })),
    codes: ['invalid_parameter'],
  },
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method): Described => ({
    route: `${method} /ui/platform/{path}`,
    tag,
    summary: 'The interface of the agent platform, as the user that `x-platform-user` names.',
    aliases: ['/ui/platform/'],
    answers: json({}),
    codes: ['platform_not_served', 'invalid_parameter'],
    forwards: true,
  })),
  ...['chat/completions', 'completions', 'embeddings', 'responses', 'messages'].map(tried),
];
