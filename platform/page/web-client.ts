// What a web page asks once, when it opens: what this server is and what of the platform it has. Nothing here depends on
// the user.
import { pageRequestOf } from '../api/pages.ts';
import type { Handler } from '../api/router.ts';
import { instant } from '../ids.ts';

/** The agent classes that the settings name (`agent_settings.agent`). */
const AGENTS = ['CodeActAgent'];
/** As the settings of conversations name them (`security_analyzer`). */
const ANALYZERS = ['llm', 'none'];
const NO_AUTOMATIONS =
  'Automations are not served by Throughline: they are a service of their own on the platform.';
/** What of a page has nothing behind it here is hidden. */
const FLAGS = {
  enable_billing: false,
  hide_llm_settings: false,
  enable_jira: false,
  enable_jira_dc: false,
  enable_linear: false,
  hide_users_page: true,
  hide_billing_page: true,
  hide_integrations_page: true,
  hide_personal_workspaces: false,
  allow_user_llm_configuration: true,
  enable_acp: false,
  deployment_mode: 'self_hosted',
  enable_onboarding: false,
  enable_automations: false,
  enable_agent_canvas_banner: false,
} as const;

/** The handlers, by operation id. @param startedMs epoch milliseconds */
export function webClient(startedMs: number): Record<string, Handler> {
  return {
    getWebClientConfig: () => ({
      body: {
        app_mode: 'oss',
        posthog_client_key: null,
        feature_flags: FLAGS,
        providers_configured: [],
        maintenance_start_time: null,
        auth_url: null,
        recaptcha_site_key: null,
        faulty_models: [],
        error_message: null,
        updated_at: instant(startedMs),
        github_app_slug: null,
        gitlab_enabled: false,
        provider_default_hosts: {},
        slack_enabled: false,
        email_enabled: false,
        email_change_enabled: false,
        acp_providers: [],
        jira_dc_oauth_host: null,
        jira_dc_service_account_managed: false,
        jira_dc_service_account_email: null,
        jira_dc_service_account_config_error: null,
        kind: 'WebClientConfig',
      },
    }),
    listAgentOptions: () => ({ body: AGENTS }),
    listAnalyzerOptions: () => ({ body: ANALYZERS }),
    getConfigOptions: () => ({
      body: {
        APP_MODE: 'oss',
        APP_SLUG: null,
        GITHUB_CLIENT_ID: '',
        POSTHOG_CLIENT_KEY: '',
        FEATURE_FLAGS: {
          ENABLE_BILLING: false,
          HIDE_LLM_SETTINGS: false,
          ENABLE_JIRA: false,
          ENABLE_JIRA_DC: false,
          ENABLE_LINEAR: false,
        },
      },
    }),
    // Skills are found by the agent inside its sandbox; this server has none to add.
    searchSkills: ({ query }) => {
      pageRequestOf(query);
      return { body: { items: [], next_page_id: null } };
    },
    getAutomationHealth: () => ({ body: { status: 'error', message: NO_AUTOMATIONS } }),
    getAutomationSdkVersion: () => ({ body: { sdk_version: null } }),
  };
}
