// The legacy settings (V0): POST and GET /api/settings with exactly the members, nulls and defaults of
// schemas/settings.json, and the platform's rules for what a null keeps.
import type { Handler } from '../api/router.ts';
import { invalidValue, Refusal } from '../api/refusal.ts';
import type { Schema } from '../api/description.ts';
import type { Documents } from '../store/documents.ts';
import { checkMcp } from './mcp.ts';
import { refusedMember, type SpecOutline } from './members.ts';
import { isTree, own, shown, unmasked } from './secrets.ts';

/** All members of the schema, none missing. */
export type SettingsV0 = Readonly<Record<string, unknown>>;

/** A null in these keeps what is stored; in all others it overwrites. */
const KEPT = ['llm_api_key', 'llm_model', 'llm_base_url', 'search_api_key', 'user_consents_to_analytics'];
const HIDDEN = ['llm_api_key', 'search_api_key', 'sandbox_api_key'];

/** The handlers of V0, by operation id. */
export function settingsV0(
  documents: Documents<SettingsV0>,
  schema: Schema,
  specs: () => readonly SpecOutline[],
): Record<string, Handler> {
  return {
    loadSettingsV0: async ({ userId }) => {
      const stored = await documents.read(userId);
      if (stored === null) throw new Refusal(404, { error: 'Settings not found' });
      return { body: answered(stored) };
    },
    storeSettingsV0: async ({ userId, body }) => {
      const sent = body as SettingsV0;
      checkMcp(sent['mcp_config']);
      const refused = refusedMember('V0', sent, specs());
      if (refused !== null) throw invalidValue(['body', refused.name], refused.sentence);
      await documents.change(userId, (old) => ({
        next: merged(whole(sent, schema), sent, old),
        result: null,
      }));
      return { body: { message: 'Settings stored' } };
    },
    resetSettingsV0: () => {
      throw new Refusal(410, { error: 'Reset settings functionality has been removed.' });
    },
  };
}

/** Every member of the schema: as sent, else its default, else null. Others are left out, as the platform does. */
function whole(sent: SettingsV0, schema: Schema): SettingsV0 {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, { default: fallback }]) => [
      name,
      own(sent, name) ?? fallback ?? null,
    ]),
  );
}

function merged(next: SettingsV0, sent: SettingsV0, old: SettingsV0 | null): SettingsV0 {
  const kept = KEPT.filter((name) => next[name] === null && old !== null);
  return {
    ...unmasked(next, old),
    ...Object.fromEntries(kept.map((name) => [name, old?.[name]])),
    // Written by a call of its own on the platform: what says nothing about it must not wipe it.
    secrets_store: unmasked(sent['secrets_store'], old?.['secrets_store']) ?? old?.['secrets_store'] ?? {},
  };
}

function answered(stored: SettingsV0): Record<string, unknown> {
  const isSet = (name: string): boolean => typeof stored[name] === 'string' && stored[name] !== '';
  const store = stored['secrets_store'];
  const tokens = isTree(store) ? own(store, 'provider_tokens') : undefined;
  const providers = isTree(tokens) ? Object.keys(tokens) : [];
  return {
    ...shown(stored),
    ...Object.fromEntries(HIDDEN.map((name) => [name, null])),
    secrets_store: { provider_tokens: {} },
    provider_tokens_set:
      providers.length === 0 ? null : Object.fromEntries(providers.map((one) => [one, null])),
    llm_api_key_set: isSet('llm_api_key'),
    search_api_key_set: isSet('search_api_key'),
  };
}
