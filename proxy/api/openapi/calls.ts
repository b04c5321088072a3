// LLM calls and listings in the description of the API. Bodies of calls are the gateway's: they are passed on as they
// are, so the description leaves them open.
import { DEFAULT_WORDS } from '../../../config/dialect.ts';
import { BY_ID, ENDPOINTS } from '../../protocols/table.ts';
import { MODEL_IN_PATH } from '../route-row.ts';
import {
  ANY_OBJECT,
  BOOL,
  COUNT,
  filters,
  FLAG,
  json,
  listOf,
  object,
  orNull,
  paging,
  parameter,
  ref,
  TEXT,
  TEXTS,
  type Described,
} from './operation.ts';

/** In words; the names of the paths say the rest. */
const ABOUT: Readonly<Record<string, string>> = {
  'chat/completions': 'Chat completions of the OpenAI API.',
  completions: 'Completions of the OpenAI API.',
  embeddings: 'Embeddings of the OpenAI API.',
  responses: 'Responses of the OpenAI API.',
  'responses/input_tokens': 'Counts the tokens of a prompt, as the OpenAI API does.',
  'responses/compact': 'Compacts a conversation, as the OpenAI API does.',
  messages: 'Messages of the Anthropic API.',
  'messages/count_tokens': 'Counts the tokens of messages, as the Anthropic API does.',
  'models/{model}:generateContent': 'Generates content as the Gemini API does.',
  'models/{model}:streamGenerateContent': 'The same as a stream: events with `alt=sse`, else a JSON array.',
  'models/{model}:countTokens': 'Counts the tokens of a prompt, as the Gemini API does.',
  'images/generations': 'Makes images.',
  'images/edits': 'Changes images.',
  'images/variations': 'Variations of an image.',
  'audio/speech': 'Reads a text out.',
  'audio/transcriptions': 'Writes down what is spoken.',
  'audio/translations': 'Writes down what is spoken, in English.',
  moderations: 'Classifies a text.',
  rerank: 'Ranks documents.',
};
const ABOUT_BY_ID: Readonly<Record<string, string>> = {
  'GET ': 'A response that was made through this proxy.',
  'DELETE ': 'Deletes a stored response.',
  'POST /cancel': 'Cancels a response that runs in the background.',
  'GET /input_items': 'What a response was made of.',
};

/** An event stream where the call asks for one; audio for speech. */
const FORWARDED: Described['answers'] = { 'application/json': {}, 'text/event-stream': {}, '*/*': {} };

const OPEN_BODY = {
  type: 'object',
  properties: { model: { type: 'string', description: 'A name of `GET /v1/models`' } },
  additionalProperties: true,
};

const CODES = [
  'missing_model',
  'model_not_found',
  'key_model_access_denied',
  'budget_exceeded',
  'rate_limit_exceeded',
  'overloaded',
  'upstream_unreachable',
  'first_byte_timeout',
] as const;

const [USUAL = '', ...OTHERS] = MODEL_IN_PATH;
/** `/v1` and none list models as the OpenAI API does. */
const LISTING_BASES = OTHERS.filter((base) => base !== '' && base !== '/v1');
const namesModel = (path: string): boolean => path.includes('{model}');
function aliasesOf(path: string): Pick<Described, 'aliases'> {
  if (path === 'rerank') return { aliases: ['/v2/rerank'] };
  return namesModel(path) ? { aliases: OTHERS.map((base) => `${base}/${path}`) } : {};
}

const CALLS = ENDPOINTS.map(({ path, body }): Described => ({
  route: `POST ${namesModel(path) ? USUAL : '/v1'}/${path}`,
  tag: 'LLM calls',
  summary: ABOUT[path] ?? path,
  ...aliasesOf(path),
  body: OPEN_BODY,
  ...(body === 'form' ? { bodyTypes: ['application/json', 'multipart/form-data'] } : {}),
  answers: FORWARDED,
  codes: CODES,
  forwards: true,
}));

const REALTIME: Described = {
  route: 'GET /v1/realtime',
  tag: 'LLM calls',
  summary: 'A realtime session of the OpenAI API: a WebSocket, so that the request is an upgrade.',
  query: [parameter('model', 'A name of `GET /v1/models`')],
  success: '101',
  answers: {},
  codes: [...CODES, 'upgrade_required', 'bad_handshake', 'cross_origin_request'],
  forwards: true,
};

const STORED = BY_ID.map(({ method, suffix }): Described => ({
  route: `${method} /v1/responses/{id}${suffix}`,
  tag: 'LLM calls',
  summary: ABOUT_BY_ID[`${method} ${suffix}`] ?? suffix,
  answers: FORWARDED,
  codes: ['response_not_found', 'upstream_unreachable', 'first_byte_timeout'],
  forwards: true,
}));

const MODEL = object({ id: TEXT, object: TEXT });
const LISTINGS: readonly Described[] = [
  {
    route: 'GET /v1/models',
    tag: 'models',
    summary:
      'Names that the key may call; with the header `anthropic-version` as the Anthropic API lists them.',
    query: [
      parameter('include_model_access_groups', 'Also the names of access groups.', FLAG),
      parameter('only_model_access_groups', 'Those alone.', FLAG),
      parameter('include_metadata', 'Each name with its fallbacks.', FLAG),
      parameter('fallback_type', 'Which: general (default), context_window or content_policy.'),
      parameter('include_chaos', 'Also `chaos/<fault>/<model>`, for keys that may ask for faults.', FLAG),
    ],
    answers: json(object({ object: TEXT, data: listOf(MODEL) })),
  },
  {
    route: 'GET /v1/models/{model}',
    tag: 'models',
    summary: 'One of them.',
    answers: json(MODEL),
    codes: ['model_not_found'],
  },
  {
    route: `GET ${USUAL}/models`,
    tag: 'models',
    summary: 'The same names as the Gemini API lists them.',
    aliases: LISTING_BASES.map((base) => `${base}/models`),
    answers: json(object({ models: listOf(object({ name: TEXT, displayName: TEXT })) })),
  },
  {
    route: `GET ${USUAL}/models/{model}`,
    tag: 'models',
    summary: 'One of them.',
    aliases: LISTING_BASES.map((base) => `${base}/models/{model}`),
    answers: json(object({ name: TEXT, displayName: TEXT })),
    codes: ['model_not_found'],
  },
  {
    route: 'GET /v1/model/info',
    tag: 'models',
    summary: 'Each deployment with its limits, prices and features; no key.',
    query: [parameter(`${DEFAULT_WORDS.brand}_model_id`, 'This deployment alone.')],
    answers: json(object({ data: listOf(ref('ModelInfo')) })),
    codes: ['invalid_parameter'],
  },
  {
    route: 'GET /v2/model/info',
    tag: 'models',
    summary: 'The same page by page.',
    query: [
      ...paging('size', 1_000),
      ...filters('model', 'modelId', 'access_group'),
      parameter('search', 'Names that hold this text, in any case of letters.'),
      parameter('wildcard_only', 'Entries with a `*` alone.', FLAG),
      parameter('sortBy', '`model_name`; default: the order of the configuration.'),
      parameter('sortOrder', 'asc (default) or desc.'),
    ],
    answers: json(
      object({
        data: listOf(ref('ModelInfo')),
        total_count: COUNT,
        current_page: COUNT,
        total_pages: COUNT,
        size: COUNT,
      }),
    ),
    codes: ['invalid_parameter'],
  },
  {
    route: 'POST /utils/token_counter',
    tag: 'models',
    summary: 'Counts the tokens of a prompt, here and with an open vocabulary.',
    body: object({ model: TEXT }),
    answers: json(
      object({ total_tokens: COUNT, request_model: TEXT, model_used: TEXT, tokenizer_type: TEXT }),
    ),
    codes: ['missing_model', 'missing_parameter'],
  },
  {
    route: 'GET /routes',
    tag: 'this interface',
    summary: 'Every route with its methods.',
    answers: json(object({ routes: listOf(object({ path: TEXT, methods: TEXTS })) })),
  },
  {
    route: 'GET /model_group/info',
    tag: 'models',
    summary: 'Each name that the key may call, with what its deployments can.',
    query: [parameter('model_group', 'This name alone.')],
    answers: json(object({ data: listOf(object({ model_group: TEXT, providers: TEXTS, mode: TEXT })) })),
  },
];

const CHANGED = {
  allOf: [ref('ModelInfo'), object({ model_id: TEXT, persisted: BOOL, message: TEXT })],
};
const NOT_STORED = ['invalid_model_entry', 'store_unavailable'] as const;
const RELOAD_BODY = { type: 'object', properties: { dry_run: BOOL }, additionalProperties: false };
const CHANGES: readonly Described[] = [
  {
    route: 'POST /model/new',
    tag: 'administration',
    summary: 'Adds a model while the proxy runs.',
    body: ref('ModelEntry'),
    answers: json(CHANGED),
    codes: [...NOT_STORED, 'model_in_config'],
  },
  {
    route: 'POST /model/update',
    tag: 'administration',
    summary: 'Changes a model that was added so.',
    body: object({ model_info: object({ id: TEXT }) }),
    answers: json(CHANGED),
    codes: [...NOT_STORED, 'model_in_config', 'model_id_not_found'],
  },
  {
    route: 'PATCH /model/{id}/update',
    tag: 'administration',
    summary: 'The same with its id in the path.',
    body: ANY_OBJECT,
    answers: json(CHANGED),
    codes: [...NOT_STORED, 'model_in_config', 'model_id_not_found'],
  },
  {
    route: 'POST /model/delete',
    tag: 'administration',
    summary: 'Removes it.',
    body: object({ id: TEXT }),
    answers: json(object({ message: TEXT })),
    codes: [...NOT_STORED, 'model_in_config', 'model_id_not_found'],
  },
  {
    route: 'POST /config/reload',
    tag: 'administration',
    summary: 'Reads the files again, or says what that would change.',
    body: RELOAD_BODY,
    answers: json(
      object({
        result: { type: 'string', enum: ['applied', 'unchanged', 'refused', 'would_apply'] },
        dry_run: BOOL,
        issues: { type: 'array' },
        changes: { type: 'array' },
      }),
    ),
    codes: ['invalid_member'],
  },
];

const UNKNOWN_CONVERSATION = ['brake_off', 'conversation_not_found'] as const;
const BRAKE: readonly Described[] = [
  {
    route: 'GET /conversations/braked',
    tag: 'runaway brake',
    summary: 'Conversations that a rule has noticed or stopped.',
    answers: json(object({ conversations: listOf(ref('Brake')) })),
    codes: ['brake_off'],
  },
  {
    route: 'GET /conversations/{conversation}/brake',
    tag: 'runaway brake',
    summary: 'What the brake saw in a conversation.',
    answers: json(ref('Brake')),
    codes: UNKNOWN_CONVERSATION,
  },
  {
    route: 'POST /conversations/{conversation}/brake/resume',
    tag: 'runaway brake',
    summary: 'Lets a stopped conversation go on.',
    answers: json(ref('Brake')),
    codes: UNKNOWN_CONVERSATION,
  },
];

const ENDPOINT = object({ model: TEXT, model_name: TEXT, model_id: TEXT, api_base: orNull('string') });
const HEALTH: readonly Described[] = [
  {
    route: 'GET /health/liveness',
    tag: 'health',
    summary: 'The process runs.',
    aliases: ['/health/liveliness'],
    answers: json(TEXT),
  },
  {
    route: 'GET /health/readiness',
    tag: 'health',
    summary: 'Whether it should get requests.',
    answers: json(object({ status: TEXT, db: TEXT, config: ANY_OBJECT, journal: ANY_OBJECT })),
    others: { '503': 'It stops, or can write no record' },
  },
  {
    route: 'GET /health/readiness/details',
    tag: 'health',
    summary: 'The same for administrators.',
    answers: json(object({ status: TEXT, db: TEXT, config: ANY_OBJECT, journal: ANY_OBJECT })),
    others: { '503': 'It stops, or can write no record' },
  },
  {
    route: 'GET /health',
    tag: 'health',
    summary: 'Asks each gateway for its list of models, which costs nothing.',
    query: [parameter('model', 'Deployments of this name alone.')],
    answers: json(
      object({
        healthy_endpoints: listOf(ENDPOINT),
        unhealthy_endpoints: listOf(ENDPOINT),
        healthy_count: COUNT,
        unhealthy_count: COUNT,
      }),
    ),
  },
  {
    route: 'GET /metrics',
    tag: 'health',
    summary: 'Metrics for Prometheus.',
    answers: { 'text/plain': TEXT },
  },
  {
    route: 'GET /doctor',
    tag: 'health',
    summary: 'What the proxy sees of its configuration and its gateways.',
    answers: json(ref('DoctorReport')),
    codes: ['doctor_running'],
  },
  {
    route: 'POST /doctor',
    tag: 'health',
    summary: 'The same; with `send`, also one paid call of each entry.',
    body: { type: 'object', properties: { send: { description: '`true` makes the calls' } } },
    answers: json(ref('DoctorReport')),
    codes: ['doctor_running'],
  },
  {
    route: 'GET /doctor/stream',
    tag: 'health',
    summary: 'Five events in one second: do they arrive one by one? Or two, with a silence between them.',
    query: [
      parameter('silence', 'Seconds of silence: is the stream cut?', {
        type: 'number',
        exclusiveMinimum: 0,
        maximum: 600,
      }),
    ],
    answers: { 'text/event-stream': {} },
    codes: ['invalid_parameter'],
  },
  {
    route: 'GET /robots.txt',
    tag: 'this interface',
    summary: 'Nothing here is for crawlers.',
    answers: { 'text/plain': TEXT },
  },
  {
    route: 'GET /',
    tag: 'this interface',
    summary: 'What this is, and where to go.',
    answers: { ...json(object({ name: TEXT, documentation: TEXT, openapi: TEXT })), 'text/html': TEXT },
  },
  {
    route: 'GET /openapi.json',
    tag: 'this interface',
    summary: 'This document.',
    answers: json(object({ openapi: TEXT, info: ANY_OBJECT, paths: ANY_OBJECT })),
  },
  { route: 'GET /docs', tag: 'this interface', summary: 'It as a page.', answers: { 'text/html': TEXT } },
];

export const CALL_OPERATIONS: readonly Described[] = [
  ...CALLS,
  REALTIME,
  ...STORED,
  ...LISTINGS,
  ...CHANGES,
  ...BRAKE,
  ...HEALTH,
];
