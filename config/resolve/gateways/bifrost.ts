// Bifrost ignores LiteLLM's headers. Dimensions (`x-bf-dim-*`) appear in its logs and telemetry, log labels (`x-bf-lh-*`)
// only in its logs. It states the cost in the usage object (core/schemas, BifrostCost).
import type { GatewayMaker, Steering } from './gateway.ts';

export const bifrost: GatewayMaker = () => ({
  name: 'bifrost',
  session: 'x-bf-session-id',
  user: 'x-bf-lh-user',
  sessionMembers: null,
  tags: { as: 'each', name: 'x-bf-dim-' },
  metadata: { as: 'each', name: 'x-bf-dim-' },
  cost: [],
  callId: ['x-request-id'],
  costInUsage: true,
});

/**
 * `x-bf-vk` and `x-bf-api-key` choose the key, `x-bf-eh-*` are headers to the provider, and `x-bf-prom-NAME` sets the
 * context value NAME, whatever it is (transports/bifrost-http/lib/ctx.go).
 */
export const bifrostSteering: Steering = {
  kind: 'Bifrost',
  steers: ['x-bf-*'],
  describes: ['x-bf-session-id', 'x-bf-dim-*', 'x-bf-lh-*'],
};
