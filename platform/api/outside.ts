// The platform's operations that are not served, and why: a table. Each answers 404 with that sentence, so that who calls
// one learns that it is no mistake of theirs. docs/platform-operations.md shows the same table.

interface Outside {
  /** Ends the sentence "... is not served by Throughline: ...". */
  readonly why: string;
  /** Method and path, as the platform's description has them. */
  readonly operations: readonly string[];
}

export const OUTSIDE: readonly Outside[] = [
  {
    why: 'no git provider is connected here; agents use git with the secrets of their conversation.',
    operations: [
      'POST /api/v1/secrets/git-providers',
      'DELETE /api/v1/secrets/git-providers',
      'GET /api/v1/users/git-organizations',
      'GET /api/v1/git/installations/search',
      'GET /api/v1/git/repositories/search',
      'GET /api/v1/git/branches/search',
      'GET /api/v1/git/suggested-tasks/search',
      'GET /api/organizations/{org_id}/git-claims',
      'POST /api/organizations/{org_id}/git-claims',
      'DELETE /api/organizations/{org_id}/git-claims/{claim_id}',
      'POST /integration/github/events',
      'POST /integration/gitlab/events',
      'GET /integration/gitlab/resources',
      'POST /integration/gitlab/reinstall-webhook',
      'POST /integration/bitbucket/events',
      'POST /api/add-git-providers',
      'POST /api/unset-provider-tokens',
      'GET /api/user/installations',
      'GET /api/user/repositories',
      'GET /api/user/info',
      'GET /api/user/search/repositories',
      'GET /api/user/suggested-tasks',
      'GET /api/user/repository/branches',
      'GET /api/user/repository/{repository_name}/microagents',
      'GET /api/user/repository/{repository_name}/microagents/content',
    ],
  },
  {
    why: 'nothing is sold here; what calls cost is in the spend records, and keys have budgets.',
    operations: [
      'GET /api/billing/credits',
      'GET /api/billing/subscription-access',
      'POST /api/billing/has-payment-method',
      'POST /api/billing/create-customer-setup-session',
      'POST /api/billing/create-checkout-session',
      'GET /api/billing/success',
      'GET /api/billing/cancel',
    ],
  },
  {
    why: 'there is no connection to Slack.',
    operations: [
      'GET /slack/install',
      'GET /slack/install-callback',
      'GET /slack/keycloak-callback',
      'POST /slack/on-event',
      'POST /slack/on-options-load',
      'POST /slack/on-form-interaction',
    ],
  },
  {
    why: 'there is no connection to Jira.',
    operations: [
      'POST /integration/jira/events',
      'POST /integration/jira/workspaces',
      'GET /integration/jira/workspaces/link',
      'POST /integration/jira/workspaces/link',
      'GET /integration/jira/callback',
      'POST /integration/jira/workspaces/unlink',
      'GET /integration/jira/workspaces/validate/{workspace_name}',
    ],
  },
  {
    why: 'nobody logs in here; a session key of the configuration says who calls.',
    operations: [
      'GET /saas',
      'POST /api/authenticate',
      'POST /api/accept_tos',
      'GET /api/onboarding_status',
      'POST /api/complete_onboarding',
      'POST /api/logout',
      'GET /api/refresh-tokens',
      'GET /oauth/keycloak/callback',
      'GET /oauth/keycloak/offline/callback',
      'GET /oauth/github/callback',
      'POST /oauth/device/authorize',
      'POST /oauth/device/token',
      'POST /oauth/device/verify-authenticated',
      'POST /api/email',
      'PUT /api/email/resend',
      'GET /api/email/verified',
    ],
  },
  {
    why: 'the operator states users and their keys in the configuration, or makes keys with /key/generate of the proxy.',
    operations: [
      'GET /api/keys',
      'POST /api/keys',
      'DELETE /api/keys/{key_id}',
      'GET /api/keys/llm/byor/permitted',
      'GET /api/keys/llm/byor',
      'POST /api/keys/llm/byor/refresh',
      'POST /api/keys/llm/managed/refresh',
      'GET /api/service/health',
      'POST /api/service/users/{user_id}/orgs/{org_id}/api-keys',
      'DELETE /api/service/users/{user_id}/orgs/{org_id}/api-keys/{key_name}',
      'GET /api/users/app',
      'POST /api/users/app',
    ],
  },
  {
    why: 'each user has one organization of their own, which nobody changes or shares.',
    operations: [
      'POST /api/organizations',
      'GET /api/organizations/{org_id}/settings',
      'PATCH /api/organizations/{org_id}/settings',
      'GET /api/organizations/llm',
      'POST /api/organizations/llm',
      'GET /api/organizations/app',
      'POST /api/organizations/app',
      'DELETE /api/organizations/{org_id}',
      'PATCH /api/organizations/{org_id}',
      'DELETE /api/organizations/{org_id}/members/{user_id}',
      'PATCH /api/organizations/{org_id}/members/{user_id}',
      'POST /api/organizations/{org_id}/switch',
      'POST /api/organizations/{org_id}/members/invite',
      'GET /api/organizations/{org_id}/members/invite',
      'DELETE /api/organizations/{org_id}/members/invite/{invitation_id}',
      'GET /api/organizations/members/invite/accept',
      'POST /api/organizations/members/invite/accept',
    ],
  },
  {
    why: 'what conversations, users and tags cost is in the reports of the proxy (/spend, /global/spend/report).',
    operations: [
      'GET /api/organizations/{org_id}/members/financial',
      'GET /api/organizations/{org_id}/budgets',
      'PATCH /api/organizations/{org_id}/budgets',
      'PUT /api/organizations/{org_id}/budgets/overrides/{user_id}',
      'DELETE /api/organizations/{org_id}/budgets/overrides/{user_id}',
      'GET /api/organizations/{org_id}/conversations',
      'GET /api/organizations/{org_id}/conversations/stats',
      'GET /api/organizations/{org_id}/conversations/usage-stats',
      'GET /api/organizations/{org_id}/conversations/user-usage',
      'GET /api/organizations/{org_id}/conversations/export',
      'GET /api/organizations/{org_id}/conversations/{conversation_id}',
      'POST /api/organizations/{org_id}/conversations/{conversation_id}/stop',
    ],
  },
  {
    why: 'the operator states the models in the configuration, or adds them with /model/new of the proxy.',
    operations: [
      'GET /api/admin/super-admins',
      'POST /api/admin/super-admins',
      'DELETE /api/admin/super-admins/{user_id}',
      'GET /api/admin/verified-models',
      'POST /api/admin/verified-models',
      'PUT /api/admin/verified-models/{provider}/{model_name}',
      'DELETE /api/admin/verified-models/{provider}/{model_name}',
    ],
  },
  {
    why: 'the proxy holds the keys of its gateways.',
    operations: [
      'POST /api/organizations/{org_id}/provider-connections',
      'PATCH /api/organizations/{org_id}/provider-connections/{connection_id}',
      'DELETE /api/organizations/{org_id}/provider-connections/{connection_id}',
    ],
  },
  {
    why: 'automations are a service of their own on the platform.',
    operations: [
      'GET /api/automation/v1',
      'POST /api/automation/v1',
      'GET /api/automation/v1/{automation_id}',
      'PATCH /api/automation/v1/{automation_id}',
      'DELETE /api/automation/v1/{automation_id}',
      'POST /api/automation/v1/{automation_id}/dispatch',
      'GET /api/automation/v1/{automation_id}/runs',
      'GET /api/automation/v1/{automation_id}/tarball',
    ],
  },
  {
    why: 'what belongs to one user is shown to nobody else.',
    operations: [
      'GET /api/shared-conversations',
      'GET /api/shared-events/search',
      'GET /api/shared-events/count',
      'GET /api/shared-events',
      'GET /api/shared-events/{conversation_id}/{event_id}',
    ],
  },
  {
    why: 'nothing is measured of how people use a page.',
    operations: ['POST /api/analytics/events'],
  },
  {
    why: 'skills come from the folders of the sandbox and from the agent itself.',
    operations: ['POST /api/v1/skills/marketplace-skills'],
  },
  {
    why: 'the health of this server is at /health/liveness and /health/readiness, its own facts at /health.',
    operations: ['GET /alive', 'GET /server_info', 'GET /ready'],
  },
  {
    why: 'messages go to the agent server of the sandbox (conversation_url), once it runs.',
    operations: ['POST /api/v1/conversations/{conversation_id}/pending-messages'],
  },
  {
    why: 'agents of the kind acp bring an LLM account of their own, and their calls would not be attributed.',
    operations: ['POST /api/v1/app-conversations/{conversation_id}/switch_acp_model'],
  },
  {
    why: 'start with POST /api/v1/app-conversations and follow the start task.',
    operations: ['POST /api/v1/app-conversations/stream-start'],
  },
  {
    why: 'the older conversations were announced to end in April 2026; use /api/v1/app-conversations.',
    operations: [
      'GET /api/conversations/{conversation_id}/list-files',
      'GET /api/conversations/{conversation_id}/select-file',
      'GET /api/conversations/{conversation_id}/zip-directory',
      'GET /api/conversations/{conversation_id}/git/changes',
      'GET /api/conversations/{conversation_id}/git/diff',
      'POST /api/conversations/{conversation_id}/upload-files',
      'POST /api/conversations/{conversation_id}/submit-feedback',
      'GET /api/conversations/{conversation_id}/config',
      'GET /api/conversations/{conversation_id}/events',
      'POST /api/conversations/{conversation_id}/events',
      'GET /api/conversations/{conversation_id}/microagents',
      'POST /api/conversations',
      'GET /api/conversations',
      'GET /api/conversations/{conversation_id}',
      'DELETE /api/conversations/{conversation_id}',
      'PATCH /api/conversations/{conversation_id}',
      'GET /api/conversations/{conversation_id}/remember-prompt',
      'POST /api/conversations/{conversation_id}/start',
      'POST /api/conversations/{conversation_id}/stop',
      'GET /api/conversations/{conversation_id}/trajectory',
    ],
  },
];

/** Where such paths are that are not below /api; see `Mount.paths`. */
export const OUTSIDE_PATHS = [
  '/oauth/',
  '/integration/',
  '/slack/',
  '/saas',
  '/alive',
  '/server_info',
  '/ready',
];

/** The sentence of one operation. */
export const notServed = (operation: string, why: string): string =>
  `${operation} is not served by Throughline: ${why}`;
