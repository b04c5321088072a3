// Portkey groups the calls of a conversation by a trace id and takes everything else in one JSON object; its reports
// use the member `_user` (portkey.ai/docs/product/observability/metadata). It states no cost.
import type { GatewayMaker } from './gateway.ts';

export const portkey: GatewayMaker = () => ({
  name: 'portkey',
  session: 'x-portkey-trace-id',
  user: null,
  tags: { as: 'json', name: 'x-portkey-metadata' },
  metadata: { as: 'json', name: 'x-portkey-metadata', userMember: '_user' },
  cost: [],
  callId: ['x-request-id', 'x-portkey-trace-id'],
  costInUsage: false,
});
