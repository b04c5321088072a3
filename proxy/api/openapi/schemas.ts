// Schemas that several operations share. Rows state the members that clients rely on; they may have more.
import {
  ANY_OBJECT,
  BOOL,
  COUNT,
  listOf,
  NUMBER,
  object,
  orNull,
  some,
  TEXT,
  TEXTS,
  type JsonSchema,
} from './operation.ts';

const ERROR = object({
  error: object({ message: TEXT, type: TEXT, param: orNull('string'), code: orNull('string') }),
});

/** How calls about keys, users, teams and budgets refuse. */
const MANAGEMENT_ERROR: JsonSchema = {
  anyOf: [
    object({ error: object({ message: TEXT, type: TEXT, code: TEXT, reason: TEXT }) }),
    object({ detail: object({ error: TEXT }) }),
    object({ detail: listOf(object({ type: TEXT, loc: { type: 'array' }, msg: TEXT })) }),
    ERROR, // what is refused before a route is looked for: a credential in the query, a wrong frame
  ],
};

/** How LLM calls refuse, in the words of their API: OpenAI's, Anthropic's, Google's. */
const CALL_ERROR: JsonSchema = {
  ...object({ error: object({ message: TEXT }) }),
  description: 'As the API of the call has errors. Those of a gateway are passed on as they are.',
};

const ORIGIN = {
  created_at: TEXT,
  created_by: orNull('string'),
  updated_at: TEXT,
  updated_by: orNull('string'),
};
const TERMS = {
  max_budget: orNull('number'),
  soft_budget: orNull('number'),
  budget_duration: orNull('string'),
  budget_reset_at: orNull('string'),
};

const KEY_MEMBERS = {
  key_name: TEXT,
  key_alias: orNull('string'),
  key_type: TEXT,
  spend: NUMBER,
  expires: orNull('string'),
  models: TEXTS,
  aliases: ANY_OBJECT,
  user_id: orNull('string'),
  team_id: orNull('string'),
  organization_id: orNull('string'),
  metadata: ANY_OBJECT,
  blocked: BOOL,
  allowed_routes: TEXTS,
  budget_id: orNull('string'),
  ...TERMS,
  ...ORIGIN,
};

export const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Error: ERROR,
  ManagementError: MANAGEMENT_ERROR,
  CallError: CALL_ERROR,
  Key: object({ token: { ...TEXT, description: 'SHA-256 of the key, hex' }, ...KEY_MEMBERS }),
  KeyWithoutToken: object(KEY_MEMBERS),
  User: object({
    user_id: TEXT,
    user_alias: orNull('string'),
    user_email: orNull('string'),
    user_role: orNull('string'),
    models: TEXTS,
    metadata: ANY_OBJECT,
    budget_id: orNull('string'),
    spend: NUMBER,
    ...TERMS,
  }),
  Team: object({
    team_id: TEXT,
    team_alias: orNull('string'),
    organization_id: orNull('string'),
    members_with_roles: listOf(object({ user_id: TEXT, user_email: orNull('string'), role: TEXT })),
    metadata: ANY_OBJECT,
    models: TEXTS,
    blocked: BOOL,
    spend: NUMBER,
  }),
  TeamMember: some({ team_id: TEXT, user_id: TEXT, user_email: orNull('string'), role: TEXT }),
  Customer: object({ user_id: TEXT, alias: orNull('string'), blocked: BOOL, spend: NUMBER }),
  Budget: object({ budget_id: TEXT, ...TERMS }),
  Organization: object({
    organization_id: TEXT,
    organization_alias: orNull('string'),
    models: TEXTS,
    spend: NUMBER,
  }),
  AccessGroup: object({ access_group: TEXT, model_names: TEXTS, deployment_count: COUNT }),
  AccessGroupChange: object({
    access_group: TEXT,
    model_names: TEXTS,
    model_ids: TEXTS,
    models_updated: COUNT,
  }),
  SpendRow: object({ request_id: TEXT, call_type: TEXT, api_key: TEXT, spend: orNull('number') }),
  SpendPage: object({
    data: listOf({ $ref: '#/components/schemas/SpendRow' }),
    total: COUNT,
    page: COUNT,
    page_size: COUNT,
    total_pages: COUNT,
  }),
  Activity: object({
    results: listOf(object({ date: TEXT, metrics: ANY_OBJECT, breakdown: ANY_OBJECT })),
    metadata: object({ page: COUNT, total_pages: COUNT, has_more: BOOL, total_spend: NUMBER }),
  }),
  ModelEntry: {
    ...object({ model_name: TEXT, litellm_params: object({ model: TEXT }) }),
    description:
      'An entry of `model_list`, as schemas/gateway.json has it; it may not refer to the environment.',
  },
  ModelInfo: object({ model_name: TEXT, litellm_params: ANY_OBJECT, model_info: ANY_OBJECT }),
  Brake: object({
    conversation: TEXT,
    state: TEXT,
    mode: TEXT,
    explanation: TEXTS,
    calls: COUNT,
    refused: COUNT,
    spend: NUMBER,
    parts: listOf(ANY_OBJECT),
  }),
  DoctorReport: object({ schema: TEXT, verdict: TEXT }),
};
