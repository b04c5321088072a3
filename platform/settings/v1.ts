// The settings of V1: GET and POST /api/v1/settings. A POST sets the members it names; agent_settings and
// conversation_settings are changed by diffs alone.
import type { Handler } from '../api/router.ts';
import { validationFailed, Refusal } from '../api/refusal.ts';
import type { Schema } from '../api/description.ts';
import type { Check } from '../api/validation.ts';
import type { Documents } from '../store/documents.ts';
import { checkHeaders } from './headers.ts';
import { isTree, own, shown, unmasked } from './secrets.ts';
import { agentLlm, deepMerged, NO_SETTINGS, type SettingsV1 } from './v1-document.ts';

type Tree = Readonly<Record<string, unknown>>;

/** Parts of the description that the answers are made of. */
interface SettingsSchemas {
  /** `GETSettingsModel`. */
  readonly shown: Schema;
  /** `SettingsUpdate`. */
  readonly update: Schema;
  /** `ConversationSettings`. */
  readonly conversation: Schema;
  /** `StrictLLM`. */
  readonly llm: Schema;
  readonly fallback: Schema;
  readonly checkConversation: Check;
}

const LEGACY = ['agent_settings', 'conversation_settings'];

/** The handlers of the V1 settings, by operation id. */
export function settingsV1(
  documents: Documents<SettingsV1>,
  schemas: SettingsSchemas,
): Record<string, Handler> {
  return {
    loadSettings: async ({ userId }) => {
      const stored = await documents.read(userId);
      if (stored === null) throw new Refusal(404, { error: 'Settings not found' });
      return { body: answered(stored, schemas) };
    },
    storeSettings: async ({ userId, body }) => {
      const sent = body as Tree;
      refuseUnknownMembers(sent, schemas.update);
      await documents.change(userId, (old) => ({
        next: changed(old ?? NO_SETTINGS, sent, schemas),
        result: null,
      }));
      return { body: { message: 'Settings stored' } };
    },
    agentSchema: () => ({
      body: {
        type: 'object',
        additionalProperties: true,
        properties: { llm: schemas.llm },
        components: { schemas: { FallbackStrategy: schemas.fallback } },
      },
    }),
    conversationSchema: () => ({ body: schemas.conversation }),
  };
}

function refuseUnknownMembers(sent: Tree, update: Schema): void {
  const legacy = LEGACY.filter((name) => Object.hasOwn(sent, name));
  if (legacy.length > 0) {
    const error = 'Use *_diff nested settings payloads instead of legacy keys';
    throw new Refusal(422, { error, keys: legacy });
  }
  const unknown = Object.keys(sent).filter((name) => !Object.hasOwn(update.properties ?? {}, name));
  if (unknown.length === 0) return;
  throw validationFailed(
    unknown.map((name) => ({
      loc: ['body', name.slice(0, 200)],
      msg: 'Extra inputs are not permitted',
      type: 'extra_forbidden',
    })),
  );
}

function changed(old: SettingsV1, sent: Tree, schemas: SettingsSchemas): SettingsV1 {
  const { agent_settings_diff: agentDiff, conversation_settings_diff: conversationDiff, ...top } = sent;
  const agent = isTree(agentDiff) ? deepMerged(old.agent, unmasked(agentDiff, old.agent)) : old.agent;
  const conversation = isTree(conversationDiff)
    ? deepMerged(old.conversation, conversationDiff)
    : old.conversation;
  schemas.checkConversation(conversation, 'body');
  const llm = own(agent, 'llm');
  if (isTree(llm))
    checkHeaders(own(llm, 'extra_headers'), ['body', 'agent_settings_diff', 'llm', 'extra_headers']);
  return { ...old, top: { ...old.top, ...unmasked(top, old.top) }, agent, conversation };
}

function answered(stored: SettingsV1, schemas: SettingsSchemas): Record<string, unknown> {
  const { top, profiles, active } = stored;
  const members = Object.entries(schemas.shown.properties ?? {}).map(([name, { default: fallback }]) => [
    name,
    own(top, name) ?? fallback ?? null,
  ]);
  const isSet = (value: unknown): boolean => typeof value === 'string' && value !== '';
  return {
    ...shown(Object.fromEntries(members)),
    search_api_key: null,
    sandbox_api_key: null,
    secrets_store: { provider_tokens: {} },
    sandbox_grouping_strategy: own(top, 'sandbox_grouping_strategy') ?? 'NO_GROUPING',
    registered_marketplaces: own(top, 'registered_marketplaces') ?? [],
    inherited_marketplaces: [],
    agent_settings: shown(stored.agent),
    conversation_settings: { ...defaultsOf(schemas.conversation), ...stored.conversation },
    llm_profiles: { profiles: shown(profiles), active },
    // Each conversation gets a key of the proxy: a model is all that must be chosen.
    llm_api_key_set: isSet(own(agentLlm(stored), 'api_key')) || isSet(own(agentLlm(stored), 'model')),
    search_api_key_set: isSet(own(top, 'search_api_key')),
  };
}

/** Every member of a schema that has a default. */
export function defaultsOf(schema: Schema): Record<string, unknown> {
  const stated = Object.entries(schema.properties ?? {}).filter(
    ([, { default: value }]) => value !== undefined,
  );
  return Object.fromEntries(stated.map(([name, { default: value }]) => [name, value]));
}
