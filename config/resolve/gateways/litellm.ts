// LiteLLM and proxies of its dialect, this one included. Its tags header replaces the tags of the body, so all are sent.
import type { Dialect } from '../../dialect.ts';
import type { GatewayMaker, SessionMembers, Steering } from './gateway.ts';

export const litellm: GatewayMaker = (dialect) => ({
  name: 'litellm',
  session: dialect.sessionHeader,
  user: `${dialect.headerPrefix}end-user-id`,
  userSynonyms: [`${dialect.headerPrefix}customer-id`],
  sessionMembers: litellmSessionMembers(dialect),
  tags: { as: 'list', name: `${dialect.headerPrefix}tags` },
  metadata: { as: 'json', name: `${dialect.headerPrefix}spend-logs-metadata` },
  cost: [`${dialect.headerPrefix}response-cost`],
  callId: [`${dialect.headerPrefix}call-id`, 'x-request-id'],
  costInUsage: true,
  listsFacts: true,
});

/** Where LiteLLM reads a session in a body (proxy/litellm_pre_call_utils.py, litellm_core_utils/litellm_logging.py). */
export function litellmSessionMembers({ brand }: Dialect): SessionMembers {
  return {
    names: [`${brand}_session_id`, `${brand}_trace_id`],
    objects: ['metadata', `${brand}_metadata`],
    objectNames: ['session_id', 'trace_id'],
  };
}

/** Of the brand that the configuration names; `x-litellm-*` too, because LiteLLM itself may stand behind. */
export function litellmSteering({ headerPrefix }: Dialect): Steering {
  const prefixes = [...new Set([headerPrefix, 'x-litellm-'])];
  return {
    kind: 'LiteLLM',
    steers: [
      ...prefixes.map((prefix) => `${prefix}*`), // clocks, retries, callbacks, redaction, guardrails, agents
      'litellm-*',
      'x-pass-*', // handed on without the prefix, `x-pass-authorization` too
      'x-mcp-*',
      'x-a2a-*',
      'langfuse-*',
    ],
    describes: prefixes.flatMap((prefix) => DESCRIBES.map((suffix) => `${prefix}${suffix}`)),
  };
}

const DESCRIBES = ['session-id', 'trace-id', 'tags', 'spend-logs-metadata', 'customer-id', 'end-user-id'];
