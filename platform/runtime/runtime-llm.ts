// The `llm` member that an agent server gets: the profile as it is stored, with this proxy as its provider.
import type { Conversation } from '../conversations/conversation.ts';
import type { LlmChoice } from '../conversations/llm-choice.ts';

/**
 * Members of a profile that would lead the agent past this proxy: another provider's account, or a connection that is stored
 * at the runtime. Its headers are added here, to each call.
 */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'extra_headers',
  'auth_type',
  'subscription_vendor',
  'provider_connection_id',
  'api_version',
  'ollama_base_url',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'aws_region_name',
  'aws_profile_name',
  'aws_role_name',
  'aws_session_name',
  'aws_bedrock_runtime_endpoint',
]);

/** @param baseUrl of the conversation, with `/v1` */
export function runtimeLlm(
  conversation: Conversation,
  { config, agentModel }: Pick<LlmChoice, 'config' | 'agentModel'>,
  baseUrl: string,
): Record<string, unknown> {
  const kept = Object.entries(config).filter(([name]) => !LEFT_OUT.has(name));
  return {
    ...Object.fromEntries(kept),
    ...(agentModel === null ? {} : { model: agentModel.model }),
    base_url: agentModel?.hasV1 === false ? baseUrl.replace(/\/v1$/, '') : baseUrl,
    api_key: conversation.key.reveal(),
  };
}
