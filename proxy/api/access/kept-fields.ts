// Members of LiteLLM's bodies that are kept and returned, and do nothing here. They have the types of its own models (1.110.2,
// litellm/proxy/_types.py): clients of fixed types break off at a list of keys in which one member of one key has another.
import { UNCHECKED, UNENFORCED_OF_CUSTOMERS, UNENFORCED_OF_KEYS, UNENFORCED_OF_TEAMS } from './unenforced.ts';
import {
  anything,
  bool,
  described,
  dict,
  duration,
  id,
  listOf,
  mapOf,
  objectOf,
  oneOf,
  text,
  texts,
} from './fields.ts';

const list = listOf(anything);

const PERMISSIONS = objectOf({
  object_permission_id: text,
  mcp_servers: texts,
  mcp_access_groups: texts,
  mcp_tool_permissions: mapOf(texts),
  mcp_toolsets: texts,
  blocked_tools: texts,
  vector_stores: texts,
  agents: texts,
  agent_access_groups: texts,
  models: texts,
  search_tools: texts,
  mcp_tool_search_enabled: bool,
  skills: texts,
});

/** As it was sent, with what other versions have in it. */
const object_permission = described(PERMISSIONS.schema, (value, at, mistakes) =>
  PERMISSIONS(value, at, mistakes) === null ? null : dict(value, at, mistakes),
);

const indexes = listOf(
  objectOf({ index_name: text, index_permissions: listOf(oneOf(['read', 'write'])) }, [
    'index_name',
    'index_permissions',
  ]),
);

const LIMIT_TYPES = ['guaranteed_throughput', 'best_effort_throughput'] as const;
const limitType = oneOf(LIMIT_TYPES);
const limitTypeOfKeys = oneOf([...LIMIT_TYPES, 'dynamic']);

export const KEPT_OF_KEYS = {
  ...UNENFORCED_OF_KEYS,
  config: dict,
  permissions: dict,
  allowed_cache_controls: texts,
  allowed_passthrough_routes: list,
  allowed_vector_store_indexes: indexes,
  disable_global_guardrails: bool,
  prompts: texts,
  object_permission,
  access_group_ids: texts,
  budget_fallbacks: mapOf(texts),
  agent_id: id,
  project_id: id,
  rpm_limit_type: limitTypeOfKeys,
  tpm_limit_type: limitTypeOfKeys,
  throttle_on_budget_exceeded: bool,
  rotation_interval: duration,
} as const;

export const KEPT_OF_USERS = {
  ...UNCHECKED,
  sso_user_id: id,
  allowed_cache_controls: texts,
  prompts: texts,
  object_permission,
} as const;

/** All but the first do nothing here. */
export const KEPT_OF_TEAMS = {
  team_member_permissions: texts,
  ...UNENFORCED_OF_TEAMS,
  prompts: texts,
  object_permission,
  tpm_limit_type: limitType,
  rpm_limit_type: limitType,
  allowed_passthrough_routes: list,
  secret_manager_settings: dict,
} as const;

export const KEPT_OF_CUSTOMERS = { ...UNENFORCED_OF_CUSTOMERS, default_model: id } as const;
