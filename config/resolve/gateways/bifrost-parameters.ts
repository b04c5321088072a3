// What steers Bifrost: of the members of a body it takes `fallbacks` for itself (maximhq/bifrost, transports/bifrost-http,
// handlers/inference.go, `...ParamsKnownFields`); keys, tenants and caches are chosen by headers. Its JSON reader ignores case.
import { namesIn, steeringTable } from './parameters.ts';

export const BIFROST = steeringTable({
  body: { steers: namesIn('fallbacks extra_params'), families: /^x_bf_|^bifrost_/ },
});
