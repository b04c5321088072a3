// What steers Portkey: the members of its Config object and of its provider options (Portkey-AI/gateway 1.14,
// src/types/requestBody.ts: `Config`, `Options`), which it takes from a header, and older versions from the body.
import { namesIn, steeringTable } from './parameters.ts';

const NAMES = `
  config virtual_key virtual_keys custom_host override_params overrideParams default_params retry cache cache_status
  cache_force_refresh strategy targets weight on_status_codes input_guardrails output_guardrails
  default_input_guardrails default_output_guardrails before_request_hooks after_request_hooks
  default_before_request_hooks default_after_request_hooks forward_headers request_timeout strict_open_ai_compliance
  integration_id deployment_id resource_name workers_ai_account_id dashboard_slug trace_id url_to_fetch openai_project
  openai_organization anthropic_beta anthropic_version_header mistral_fim_completion snowflake_account stability_client_id
  oracle_region fireworks_account_id filename amz_sagemaker
`;

export const PORTKEY = steeringTable({
  body: { steers: namesIn(NAMES), families: /^portkey_|^x_portkey_|_guardrails$|_hooks$/ },
});
