// Bifrost ignores LiteLLM's headers. Dimensions (`x-bf-dim-*`) appear in its logs and telemetry, log labels (`x-bf-lh-*`)
// only in its logs. It states the cost in the usage object (core/schemas, BifrostCost).
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
