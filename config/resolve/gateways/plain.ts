// Any other upstream gets only LiteLLM's session header, because the effect of other headers is unknown. Cost and call id
// are read from LiteLLM's headers, in case such a proxy is behind it.
import type { GatewayMaker } from './gateway.ts';
import { litellmSessionMembers } from './litellm.ts';

export const plain: GatewayMaker = (dialect) => ({
  name: 'plain',
  session: dialect.sessionHeader,
  user: null,
  sessionMembers: litellmSessionMembers(dialect),
  tags: null,
  metadata: null,
  cost: [`${dialect.headerPrefix}response-cost`],
  callId: [`${dialect.headerPrefix}call-id`, 'x-request-id'],
  costInUsage: false,
});
