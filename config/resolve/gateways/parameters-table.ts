// The members of a body that steer each kind of gateway. A new kind is one line here beside its line in table.ts.
import { BIFROST } from './bifrost-parameters.ts';
import { COMMON } from './common-parameters.ts';
import { distinctiveLitellmParameters, litellmParameters } from './litellm-parameters.ts';
import { perBrand, unionOf, type SteeringTable } from './parameters.ts';
import { PORTKEY } from './portkey-parameters.ts';

const bifrost = unionOf([COMMON, BIFROST]);
const portkey = unionOf([COMMON, PORTKEY]);
const litellm = perBrand((brand) => unionOf([COMMON, litellmParameters(brand)]));
/** Most often an API that knows none of these, sometimes a gateway that nobody has named. */
const unknown = perBrand((brand) => unionOf([COMMON, BIFROST, distinctiveLitellmParameters(brand)]));

/** @param brand of the dialect */
export function steeringParameters(gateway: string, brand: string): SteeringTable {
  switch (gateway) {
    case 'litellm':
      return litellm(brand);
    case 'bifrost':
      return bifrost;
    case 'portkey':
      return portkey;
    default:
      return unknown(brand);
  }
}
