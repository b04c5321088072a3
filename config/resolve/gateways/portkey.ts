// Portkey groups the calls of a conversation by a trace id and takes everything else in one JSON object; its reports
// use the member `_user` (portkey.ai/docs/product/observability/metadata). It states no cost.
import type { GatewayMaker, Steering } from './gateway.ts';

export const portkey: GatewayMaker = () => ({
  name: 'portkey',
  session: 'x-portkey-trace-id',
  user: null,
  sessionMembers: null,
  tags: { as: 'json', name: 'x-portkey-metadata' },
  metadata: { as: 'json', name: 'x-portkey-metadata', userMember: '_user' },
  cost: [],
  callId: ['x-request-id'], // its trace id is the session that it was sent
  costInUsage: false,
});

/**
 * Headers hold the whole configuration of a call, address and provider key included: `x-portkey-custom-host` sends the
 * key of the provider to whom it names (src/handlers/handlerUtils.ts, constructConfigFromRequestHeaders).
 */
export const portkeySteering: Steering = {
  kind: 'Portkey',
  steers: ['x-portkey-*'],
  describes: [
    'x-portkey-trace-id',
    'x-portkey-span-id',
    'x-portkey-span-name',
    'x-portkey-parent-span-id',
    'x-portkey-metadata',
  ],
};
