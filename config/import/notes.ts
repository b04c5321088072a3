// Fields that mean something a little different here than in LiteLLM, and what the difference is. Paths without positions
// in lists.

import { OTEL_CALLBACK, withoutEffect } from '../resolve/protecting-callbacks.ts';

const NOTES: Readonly<Record<string, string>> = Object.freeze({
  'model_list[].litellm_params.extra_body':
    'goes over whatever a client states; in LiteLLM over what OpenAI defines alone, and a client that states extra_body replaces it',
  'model_list[].litellm_params.rpm': 'a share within its group here; it limits nothing',
  'model_list[].litellm_params.tpm': 'a share within its group here; it limits nothing',
  'model_list[].model_info.team_id':
    'keeps keys of other teams and of none out, as in LiteLLM; calls of the master key are recorded for the team here',
  'model_list[].model_info.team_public_model_name':
    'shown, and no name to call by here: state it in `model_aliases` of the team',
  'router_settings.routing_strategy':
    'simple-shuffle, least-busy and latency-based-routing are here; other names are served as simple-shuffle',
  'router_settings.retry_policy.BadRequestErrorRetries': 'a 400 is never asked again here',
  'router_settings.retry_policy.AuthenticationErrorRetries': 'a 401 is never asked again here',
  'router_settings.retry_policy.ContentPolicyViolationErrorRetries': 'a 400 is never asked again here',
  'router_settings.num_retries': 'only 408, 409, 429, 5xx and lost connections are asked again',
  'litellm_settings.num_retries': 'only 408, 409, 429, 5xx and lost connections are asked again',
  'router_settings.allowed_fails': 'counted per minute; the last deployment of a group never cools down',
  'litellm_settings.allowed_fails': 'counted per minute; the last deployment of a group never cools down',
  'litellm_settings.cache_params': 'servers count limits and budgets together there; answers are not cached',
  'general_settings.database_url':
    'tables go into a schema of their own, throughline; what LiteLLM has stored there is not read',
  'general_settings.store_model_in_db':
    "models of /model/new survive here, too; those in LiteLLM's database are not taken over",
  'general_settings.forward_client_headers_to_llm_api':
    'the same headers, but for credentials of the client and x-forwarded-*, which never leave here',
  'litellm_settings.model_group_settings.forward_client_headers_to_llm_api':
    'the same headers, but for credentials of the client and x-forwarded-*, which never leave here',
});

/** The same of `litellm_settings.callbacks`, by the names in it. */
export function noteOnCallbacks(names: readonly string[]): string | null {
  const idle = withoutEffect(names);
  const traced = names.includes(OTEL_CALLBACK)
    ? [`${OTEL_CALLBACK} traces calls, as it does in LiteLLM`]
    : [];
  const without = idle.length === 0 ? [] : [`without effect here: ${idle.join(', ')}`];
  const notes = [...traced, ...without];
  return notes.length === 0 ? null : notes.join('; ');
}

/** What differs; null = nothing does. @param path without positions: `model_list[].litellm_params.rpm` */
export function noteOn(path: string): string | null {
  return Object.hasOwn(NOTES, path) ? (NOTES[path] ?? null) : null;
}
