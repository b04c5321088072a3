// Any other upstream: it gets the session header of the dialect and nothing else, because nobody knows what it would
// make of it. Cost and call id are read where a proxy of the dialect may stand behind it.
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
