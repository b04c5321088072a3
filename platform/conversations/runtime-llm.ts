// The `llm` member that an agent server gets: the profile as it is stored, with this proxy as its provider.
import type { Conversation } from './conversation.ts';
import type { LlmChoice } from './llm-choice.ts';

/** @param baseUrl of the conversation, with `/v1` */
export function runtimeLlm(
  conversation: Conversation,
  llm: LlmChoice,
  baseUrl: string,
): Record<string, unknown> {
  const { extra_headers: _carriedByTheProxy, ...config } = llm.config;
  return {
    ...config,
    ...(llm.model === null ? {} : { model: llm.model }),
    base_url: baseUrl,
    api_key: conversation.key.reveal(),
  };
}
