// LiteLLM and proxies of its dialect, this one included. Its tags header replaces the tags of the body, so all are sent.
import type { GatewayMaker } from './gateway.ts';

export const litellm: GatewayMaker = ({ headerPrefix, sessionHeader }) => ({
  name: 'litellm',
  session: sessionHeader,
  user: `${headerPrefix}end-user-id`,
  userSynonyms: [`${headerPrefix}customer-id`],
  tags: { as: 'list', name: `${headerPrefix}tags` },
  metadata: { as: 'json', name: `${headerPrefix}spend-logs-metadata` },
  cost: [`${headerPrefix}response-cost`],
  callId: [`${headerPrefix}call-id`, 'x-request-id'],
  costInUsage: true,
});
