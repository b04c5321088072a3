// Which names of keys say that something is protected: that it is limited, checked, or refused. Nothing here knows the key,
// so its words decide, and what it is set to. Pure.
import { wordsOf } from './key-words.ts';

/** What a key is set to, as far as it matters here; `off` = false or nothing. */
export type Setting = 'on' | 'off' | 'other';

/** Of a scalar; every list and mapping is `other`. */
export function settingOf(value: unknown): Setting {
  if (value === true) return 'on';
  return value === false || value === null || value === undefined ? 'off' : 'other';
}

/** Controls: whoever writes `disable_auth` or `skip_budget_checks` asks for less of them. */
const CONTROL =
  'auth|authn|authz|authentication|authorization|oauth2?|oidc|saml|ldap|jwt|jwks|sso|mfa|2fa|totp|webauthn|captcha|recaptcha|rbac|acls?|guardrails?|guard|shield|firewall|moderations?|filters?|tls|ssl|mtls|verify|verification|validation|validator|enforcement|protection|security|masking|redaction|encryption|cors|csrf|audit|budgets?|quotas?|limits?|limiter|ratelimits?|throttle|throttling|dlp|waf|csp|hsts|antivirus|censorship|isolation';
/** Other words in the names of keys that limit, check or refuse something. */
const WORD =
  'iam|role|roles|authenticate|authenticated|authorize|authorized|privileges|entitlements|grants|lockout|throttled|injection|jailbreaks?|toxicity|profanity|abuse|spam|malware|virus|safety|anonymi[sz]e|anonymi[sz]ed|anonymi[sz]ation|residency|retention|trusted|truststore|egress|approvals?|readonly|immutable|signing|permission|permissions|polic(?:y|ies)|guards|moderate|blocked|block|blocklist|ban|banned|deny|denied|denylist|disallow|disallowed|forbid|forbidden|reject|refuse|restrict|restricted|restrictions|only|allow|allowed|allowlist|allowlisted|whitelist|blacklist|protect|protected|secure|validate|validates|enforce|enforced|enforces|require|required|requires|private|privacy|pii|mask|masked|redact|redacted|sanitize|encrypt|encrypted|salt|sign|signed|signature|hmac|secrets?|passwords?|ips?|cidrs?|spend|max|caps?|ceiling|cutoff|threshold|expire|expires|expiry|compliance|consent';
/** Words that mean it together alone: `access` stands in the names of credentials, and `per` in those of prices. */
const PHRASE =
  '(?:black|white|allow|deny|block)_lists?|two_factor|trust_store|access_(?:control|groups?|list|rules)|(?:requests|tokens|calls)_per|(?:default|max|global|team|key|user)_[rt]pm|force_https|(?:key|token|session)_(?:ttl|timeout|lifetime)|login_attempts|no_log(?:s|ging)?';
const PROTECTS = new RegExp(`_(?:${CONTROL}|${WORD}|${PHRASE})_`);

/** Phrases with such a word that set how something works: how often a call is tried, the longest answer, a client's login. */
const TUNES = [
  /_(?:retry|retries|routing|eviction|fallbacks?|cooldown|restart|pull)_polic(?:y|ies)(?=_)/,
  /^(?:_default)?_max(?:_output|_completion|_new)?_tokens_$/,
  /_max(?:_(?!login|auth|sign|password)[a-z]+)?_(?:retry|retries|attempts|workers|threads|fallbacks|backoff|batch_size)(?=_)/,
  /_context_window_limits?(?=_)/,
  /_(?:redis|valkey|sentinel|database|db|postgres|smtp)_password(?=_)/,
  /_(?:similarity|alerting|staleness)_threshold(?=_)/,
  /_cache_(?:expire|expires|expiry)(?=_)/,
];

const LOOSENS = new RegExp(
  `^_(?:disable|skip|bypass|ignore|no|without)_(?:[a-z0-9]+_)*(?:${CONTROL}|checks?)_$`,
);
/** Turns it round: `disable_keys_without_budget` asks for a budget. */
const UNLESS = /^_[a-z]+_(?:[a-z0-9]+_)*(?:without|over|above|beyond|exceeding|lacking)_/;
/** Whom `allow_..._from_any_ip` lets in. */
const ANYBODY = /_(?:any|anyone|anybody|all|every|everyone|everybody|public|anonymous|unauthenticated)_/;

/** Whether a key asks, by its name, for protection. */
export function protectsByName(key: string, setting: Setting): boolean {
  const name = `_${wordsOf(key).join('_')}_`;
  if (LOOSENS.test(name) && !UNLESS.test(name)) return false;
  // `allow_x: true` lets more in, and `allow_x: false` less; with a list it says who alone may.
  const allowed = name.startsWith('_allow_') ? name.slice('_allow'.length) : null;
  if (allowed !== null && setting === 'on' && letsIn(name, allowed)) return false;
  if (allowed === null && setting === 'off') return false;
  return PROTECTS.test(TUNES.reduce((rest, phrase) => rest.replace(phrase, '_'), name));
}

/** `allow_list: true` lets nobody else in, and neither does `allow_public_models_only`. */
function letsIn(name: string, allowed: string): boolean {
  if (/_(?:only|lists?|listed)_/.test(allowed)) return false;
  return ANYBODY.test(name) || !PROTECTS.test(allowed);
}
