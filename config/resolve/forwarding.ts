// Which deployments get client headers: the global switch, or names and patterns per model. An empty list means all, as
// in LiteLLM. Pure.
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import { nearest } from '../nearest.ts';
import { shownName } from '../shown.ts';
import { patternOf } from './groups.ts';

const ALL: ReadonlySet<string> = new Set(['*', 'all-proxy-models']);
const PATH = ['litellm_settings', 'model_group_settings', 'forward_client_headers_to_llm_api'] as const;

/** Whether calls for this model name forward client headers; the name may also be one that a wildcard serves. */
export type Forwards = (group: string) => boolean;

export function forwarding(
  general: GatewayFile['general_settings'],
  litellm: GatewayFile['litellm_settings'],
): Forwards {
  if (general.forward_client_headers_to_llm_api) return () => true;
  const names = litellm.model_group_settings?.forward_client_headers_to_llm_api;
  if (names === undefined) return () => false;
  if (names.length === 0 || names.some((name) => ALL.has(name))) return () => true;
  const exact = new Set(names);
  const patterns = names.filter((name) => name.includes('*')).map(patternOf);
  return (group) => exact.has(group) || patterns.some((pattern) => pattern.test(group));
}

/** Warns about a listed name that matches no model_name: it would silently have no effect. */
export function warnUnmatched(
  litellm: GatewayFile['litellm_settings'],
  groups: readonly string[],
  diagnostics: Diagnostics,
): void {
  const names = litellm.model_group_settings?.forward_client_headers_to_llm_api ?? [];
  names.forEach((name, index) => {
    if (ALL.has(name) || groups.includes(name)) return;
    if (groups.some((group) => group.includes('*') && patternOf(group).test(name))) return; // clients may request this name
    const pattern = name.includes('*') ? patternOf(name) : null;
    if (pattern !== null && groups.some((group) => pattern.test(group))) return;
    const near = nearest(name, groups);
    const fix = near === null ? 'write a model_name of model_list' : `did you mean ${near}?`;
    diagnostics.warn(
      [...PATH, index],
      `no model_name matches ${shownName(name)}, so this line does nothing`,
      fix,
    );
  });
}
