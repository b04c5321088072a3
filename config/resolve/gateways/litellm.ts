// LiteLLM and proxies of its dialect, this one included. Its tags header replaces the tags of the body, so all are sent.
import { COMMON } from './common-parameters.ts';
import type { GatewayMaker } from './gateway.ts';
import { litellmParameters } from './litellm-parameters.ts';
import { perBrand, unionOf } from './steering.ts';

const steering = perBrand((brand) => unionOf([COMMON, litellmParameters(brand)]));

export const litellm: GatewayMaker = ({ brand, headerPrefix, sessionHeader }) => ({
  name: 'litellm',
  session: sessionHeader,
  user: `${headerPrefix}end-user-id`,
  userSynonyms: [`${headerPrefix}customer-id`],
  tags: { as: 'list', name: `${headerPrefix}tags` },
  metadata: { as: 'json', name: `${headerPrefix}spend-logs-metadata` },
  cost: [`${headerPrefix}response-cost`],
  callId: [`${headerPrefix}call-id`, 'x-request-id'],
  costInUsage: true,
  steering: steering(brand),
});
