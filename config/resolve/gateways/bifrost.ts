// Bifrost: LiteLLM's headers mean nothing to it. Dimensions (`x-bf-dim-*`) reach its logs and its telemetry, log labels
// (`x-bf-lh-*`) its logs alone; cost comes in the usage object (core/schemas, BifrostCost).
import type { GatewayMaker } from './gateway.ts';

export const bifrost: GatewayMaker = () => ({
  name: 'bifrost',
  session: 'x-bf-session-id',
  user: 'x-bf-lh-user',
  tags: { as: 'each', name: 'x-bf-dim-' },
  metadata: { as: 'each', name: 'x-bf-dim-' },
  cost: [],
  callId: ['x-request-id'],
  costInUsage: true,
});
