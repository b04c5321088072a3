// Any other upstream gets only LiteLLM's session header, because the effect of other headers is unknown. Cost and call id
// are read from LiteLLM's headers, in case such a proxy is behind it.
import { BIFROST } from './bifrost-parameters.ts';
import { COMMON } from './common-parameters.ts';
import type { GatewayMaker } from './gateway.ts';
import { distinctiveLitellmParameters } from './litellm-parameters.ts';
import { perBrand, unionOf } from './steering.ts';

/** Whatever is behind: most often an API that knows none of these, sometimes a gateway that nobody has named. */
const steering = perBrand((brand) => unionOf([COMMON, BIFROST, distinctiveLitellmParameters(brand)]));

export const plain: GatewayMaker = ({ brand, headerPrefix, sessionHeader }) => ({
  name: 'plain',
  session: sessionHeader,
  user: null,
  tags: null,
  metadata: null,
  cost: [`${headerPrefix}response-cost`],
  callId: [`${headerPrefix}call-id`, 'x-request-id'],
  costInUsage: false,
  steering: steering(brand),
});
