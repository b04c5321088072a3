// The token of Microsoft Entra that an entry of `azure/` states instead of a key. It is taken as it is; nothing here asks
// Entra for one (learn.microsoft.com/azure/ai-foundry/openai/reference#authentication).
import type { EntryParams } from '../gateway-file.ts';
import type { Secret } from '../secret.ts';
import { memberOf } from '../tree.ts';
import { keyAt } from './address.ts';
import type { LocatedEntry, SharedSettings } from './entry.ts';
import type { StaticHeaders } from './headers.ts';
import type { Kind } from './kinds/kind.ts';

/** By which LiteLLM asks Entra for tokens, where an entry has neither key nor token. */
const SIGN_INS = ['tenant_id', 'client_id', 'client_secret', 'azure_ad_token_provider'];
const FIX =
  'write api_key, or azure_ad_token_file with a file that something else renews, or let a gateway that asks for tokens stand in front of it';

/** The token, or null for none. One that cannot be meant is an issue. */
export function azureTokenAt(
  params: EntryParams,
  { name }: Kind,
  located: Pick<LocatedEntry, 'path' | 'tree'>,
  { diagnostics }: SharedSettings,
): Secret | null {
  const at = [...located.path, 'litellm_params'];
  const path = [...at, 'azure_ad_token'];
  const token = params.azure_ad_token;
  if (name !== 'azure') {
    if (token !== undefined)
      diagnostics.warn(path, 'has no effect here: azure/ alone reads it', 'remove it', 'key');
    return null;
  }
  if (token === undefined) return null;
  if (params.api_key !== undefined) {
    diagnostics.error(
      path,
      'stands beside api_key, and one credential is sent',
      'remove one of the two',
      'key',
    );
    return null;
  }
  if (/^oidc\//i.test(token)) {
    diagnostics.error(
      path,
      'is exchanged for a token of Entra by LiteLLM, which this proxy does not do',
      FIX,
    );
    return null;
  }
  return keyAt(token, path, diagnostics, 'the token');
}

/** Of an entry for which there is neither key nor token: LiteLLM would ask Entra. */
export function refuseSignIns(
  { name }: Kind,
  headers: StaticHeaders,
  located: Pick<LocatedEntry, 'path' | 'tree'>,
  { diagnostics }: SharedSettings,
): void {
  if (name !== 'azure' || headers.has('authorization') || headers.has('api-key')) return;
  const written = memberOf(located.tree, 'litellm_params');
  const isStated = (key: string): boolean => {
    const node = memberOf(written, key);
    return node !== undefined && (node.kind !== 'scalar' || node.value !== null || node.reference !== null);
  };
  const path = [...located.path, 'litellm_params'];
  const message = 'would ask Entra for tokens, which this proxy does not do';
  for (const key of SIGN_INS) if (isStated(key)) diagnostics.error([...path, key], message, FIX, 'key');
}
