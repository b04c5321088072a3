// The master key of the result. Without one nobody is authenticated, so where LiteLLM had another guard, or a key that its
// chart sets, the result asks for one; where LiteLLM had none, the report says so.
import { isMap, type Document } from 'yaml';
import { ENV_MARKER } from '../dialect.ts';
import { MASTER_VARIABLES } from '../unauthenticated.ts';
import type { Findings } from './findings.ts';

const PATH = ['general_settings', 'master_key'];

/** What LiteLLM's chart has below the `proxy_config` of the values, which need not repeat it. */
export const OF_CHART = "LiteLLM's chart sets it unless the values say otherwise; written out";

/** Whether the file itself names a key; one that only the environment has is not known here. */
export function statesMasterKey(document: Document): boolean {
  const isStated = (path: readonly string[]): boolean => {
    const value: unknown = document.getIn(path);
    return value !== undefined && value !== null && value !== '';
  };
  return (
    isStated(PATH) ||
    document.hasIn(['general_settings', 'master_key_file']) ||
    MASTER_VARIABLES.some((name) => isStated(['environment_variables', name]))
  );
}

/**
 * Writes the reference to a key where the file names none, so that the start asks for it.
 * @param why for the report of the field; null = the report says it at its end
 * @returns the reference; null = the file has a key
 */
export function askForKey(
  document: Document,
  variable: (typeof MASTER_VARIABLES)[number],
  why: string | null,
  findings: Findings,
): string | null {
  if (statesMasterKey(document)) return null;
  const reference = `${ENV_MARKER}${variable}`;
  const general = document.get('general_settings', true);
  if (why !== null)
    findings.add(isMap(general) ? general : document.contents, PATH, 'exact', `${reference}: ${why}`);
  if (isMap(general)) {
    general.delete('master_key');
    general.add(document.createPair('master_key', reference));
  } else document.set('general_settings', document.createNode({ master_key: reference }));
  return reference;
}
