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
];

t.test('a key protects by words that mean it', async (t) => {
  for (const [key, value] of PROTECTING)
    t.ok(protectsByName(key, settingOf(value)), `${key}: ${String(value)}`);
});

t.test('what tunes, what loosens and what is off protects nothing', async (t) => {
  for (const [key, value] of OTHER)
    t.notOk(protectsByName(key, settingOf(value)), `${key}: ${String(value)}`);
});
