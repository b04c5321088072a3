// Which names of unknown keys say that something is protected. Most of them stand in files of LiteLLM that others published.
import t from 'tap';
import { protectsByName, settingOf } from '../../config/protecting-names.ts';

const PROTECTING: readonly (readonly [key: string, value: unknown])[] = [
  ['max_internal_user_budget', 10],
  ['internal_user_budget_duration', '30d'],
  ['rpm_limit', 5],
  ['rate_limits', {}],
  ['global_rate_limit_per_minute', 1000],
  ['max_parallel_requests', 10],
  ['max_tokens_per_minute', 1000],
  ['max_input_tokens', 1000],
  ['enable_content_moderation', true],
  ['require_mfa', true],
  ['require_mfa', 'os.environ/MFA'],
  ['password_policy', 'strong'],
  ['content_policy', 'strict'],
  ['admin_password', 'x'],
  ['database_ssl', true],
  // `allow` with a list says who alone may; `false` and `only` allow less.
  ['allow_ips', ['10.0.0.0/8']],
  ['allow_requests_from_any_ip', false],
  ['allow_guests', false],
  ['allow_verified_users_only', true],
  // What is disabled is no control, but what one would protect against.
  ['disable_password_login', true],
  ['disable_keys_without_budget', true],
  ['no_calls_without_auth', true],
  ['disable_users_over_budget', true],
  ['allow_list', true],
  ['allow_public_models_only', true],
  ['max_login_attempts', 5],
  ['enforceIPAllowlist', true],
  ['enableTLSCheck', true],
  ['maxRPMLimit', 5],
  ...[
    'authentication',
    'authorized_groups',
    'oidc_issuer',
    'jwks_url',
    'two_factor',
    '2fa',
    'totp',
    'captcha',
    'ratelimit',
    'throttling',
    'team_rpm',
    'requests_per_day',
    'tokens_per_minute',
    'key_ttl',
    'session_timeout',
    'lockout_after',
    'prompt_injection_detection',
    'jailbreak_detection',
    'dlp_rules',
    'waf_rules',
    'malware_scan',
    'profanity_check',
    'content_safety',
    'anonymize_prompts',
    'data_residency',
    'zero_data_retention',
    'no_log_prompts',
    'tenant_isolation',
    'trusted_proxies',
    'trust_store',
    'egress_rules',
    'black_list',
    'access_control',
    'access_groups',
    'approvals',
    'force_https',
    'signing_key',
  ].map((key) => [key, 'x'] as const),
];

const OTHER: readonly (readonly [key: string, value: unknown])[] = [
  ['retry_policy', {}],
  ['max_tokens', 32_000],
  ['max_retries', 3],
  ['enable_loadbalancing_on_context_window_limits', true],
  ['redis_password', 'x'],
  ['disable_auth', true],
  ['disable_auth', false],
  ['skip_budget_checks', true],
  ['disable_ssl_verification', true],
  ['allow_requests_from_any_ip', true],
  ['allow_requests_on_db_unavailable', true],
  ['enable_oauth', false],
  ['require_mfa', null],
  ['sandbox_tools', []],
  ['maximum_effort', 1],
  ['disable_oidc', true],
  ['allow_all_models', true],
  ['aws_access_key_id', 'x'],
  ['input_cost_per_token', 1],
  ['cache_ttl', 60],
  ['https_proxy', 'x'],
  ['health_check_concurrency', 5],
  ['tpm', 5],
  ['timeout_seconds', 60],
  ['max_retry_attempts', 3],
];

t.test('a key protects by words that mean it', async (t) => {
  for (const [key, value] of PROTECTING)
    t.ok(protectsByName(key, settingOf(value)), `${key}: ${String(value)}`);
});

t.test('what tunes, what loosens and what is off protects nothing', async (t) => {
  for (const [key, value] of OTHER)
    t.notOk(protectsByName(key, settingOf(value)), `${key}: ${String(value)}`);
});
