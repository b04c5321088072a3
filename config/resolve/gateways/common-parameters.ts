// What steers a call whatever gateway is behind the proxy: addresses and credentials, which are configured and never the
// client's, and the routing parameters of hosted routers, which a gateway passes on as it does not know them itself.
import { namesIn, steeringTable } from './parameters.ts';

/** Addresses, credentials and providers. */
const UPSTREAM = `
  api_base base_url api_key api_version custom_llm_provider user_config model_list azure_ad_token
  extra_headers extra_query default_headers default_query organization
`;

/**
 * - OpenRouter (openrouter.ai/docs/api-reference, ChatGenerationParams, November 2025): `models` and `route` name other models,
 *   `provider` chooses and orders providers, `transforms` and `plugins` change prompts, `preset` is a stored configuration.
 */
const ROUTERS = 'models route provider transforms plugins preset';

/** Families: made-up answers, credentials and endpoints of clouds; TensorZero's namespace (gateway/openai-compatible). */
const FAMILIES = /^mock_|api_base|_base_url$|_api_key$|^aws_|^vertex_|^azure_|^tensorzero::/;

/** Parameters that the proxy itself reads, counts or records: what is sent must be what it has seen. */
const SEEN = `
  model messages input prompt stream stream_options n user safety_identifier service_tier previous_response_id
`;

const body = {
  steers: namesIn(`${UPSTREAM} ${ROUTERS}`),
  families: FAMILIES,
  passes: namesIn('tensorzero::tags tensorzero::episode_id'),
  within: new Map([
    ['extra_body', 'merged'],
    ['provideroptions', 'providers'],
    ['provider_options', 'providers'],
  ] as const),
};

/** Holds for every gateway. */
export const COMMON = steeringTable({
  body,
  merged: { ...body, steers: namesIn(`${UPSTREAM} ${ROUTERS} ${SEEN}`) },
  // Vercel's gateway: order, only, models and byok (vercel.com/docs/ai-gateway/provider-options).
  providers: { steers: namesIn('gateway') },
});
