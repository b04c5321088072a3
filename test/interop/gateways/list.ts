// The gateways of the compatibility page, in the order of its columns.
import { bifrost } from './bifrost.ts';
import { litellm } from './litellm.ts';
import { litellmRs } from './litellm-rs.ts';
import { portkey } from './portkey.ts';
import type { GatewayRecipe } from './recipe.ts';

export const GATEWAYS: readonly GatewayRecipe[] = [litellm, portkey, litellmRs, bifrost];
