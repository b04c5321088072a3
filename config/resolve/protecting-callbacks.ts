// Callbacks of the LiteLLM dialect that check, limit or change calls. None runs here, so a file that counts on one is
// refused; callbacks that only report are warned about where they are read.
import type { Diagnostics } from '../diagnostics.ts';
import { shownName } from '../shown.ts';
import type { Path } from '../tree.ts';

/** `litellm/proxy/hooks` and `litellm_enterprise/enterprise_hooks`, by the names that `callbacks` takes. */
const PROTECTING: ReadonlySet<string> = new Set([
  'aporia_prompt_injection',
  'azure_content_safety',
  'banned_keywords',
  'cache_control_check',
  'detect_prompt_injection',
  'dynamic_rate_limiter',
  'dynamic_rate_limiter_v3',
  'google_text_moderation',
  'guardrails_ai',
  'hide_secrets',
  'lakera_prompt_injection',
  'llamaguard_moderations',
  'llmguard_moderations',
  'openai_moderations',
  'presidio',
]);

/** What these do is always on here: budgets, limits, and what `metadata` of a key say of each conversation. */
const ALWAYS_ON: ReadonlySet<string> = new Set([
  'max_budget_limiter',
  'max_budget_per_session_limiter',
  'max_iterations_limiter',
  'parallel_request_limiter',
  'parallel_request_limiter_v3',
]);

/** LiteLLM's switch for `blocked_user_list`, which needs none here. */
const BLOCKS_USERS = 'blocked_user_check';

/** Traces calls. */
export const OTEL_CALLBACK = 'otel';

/** The callbacks of a list that do nothing here, and that nothing here does anyway. */
export const withoutEffect = (names: readonly string[]): readonly string[] =>
  names.filter((name) => name !== OTEL_CALLBACK && name !== BLOCKS_USERS && !ALWAYS_ON.has(name));

/** An own module may refuse or change calls, and nobody can tell from its name: `custom_callbacks.handler`. */
const OWN_MODULE = /^[\w/-]+\.[\w.]+$/;

export function refuseProtecting(names: readonly string[], path: Path, diagnostics: Diagnostics): void {
  for (const name of names) {
    if (PROTECTING.has(name))
      diagnostics.error(
        path,
        `${name} would protect nothing: this proxy does not enforce it`,
        'let the gateway behind this proxy do it, and remove it here',
        'key',
      );
    else if (OWN_MODULE.test(name))
      diagnostics.error(
        path,
        `${shownName(name)} is a Python module, which does not run here; it may check calls`,
        'remove it; if it only reports, use spend rows, metrics or traces',
        'key',
      );
  }
}
