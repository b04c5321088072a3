// Any other upstream gets only LiteLLM's session header, because the effect of other headers is unknown. Cost and call id
// are read from LiteLLM's headers, in case such a proxy is behind it.
import type { GatewayMaker } from './gateway.ts';

export const plain: GatewayMaker = ({ headerPrefix, sessionHeader }) => ({
  name: 'plain',
  session: sessionHeader,
  user: null,
  tags: null,
  metadata: null,
  cost: [`${headerPrefix}response-cost`],
  callId: [`${headerPrefix}call-id`, 'x-request-id'],
  costInUsage: false,
});
