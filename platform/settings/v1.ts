// The settings of V1: GET and POST /api/v1/settings. A POST sets the members it names; agent_settings and
// conversation_settings are changed by patches alone.
import type { Handler } from '../api/router.ts';
import { invalidValue, validationFailed, Refusal } from '../api/refusal.ts';
import type { Schema } from '../api/description.ts';
import type { Documents } from '../store/documents.ts';
import { isTree, own, shown, unmasked } from './secrets.ts';
import { agentChecks } from './agent-schema.ts';
import { checkAgent, checkConversation, patchedAgent, patchedConversation } from './agent-patch.ts';
import { refusedMember, type SpecOutline } from './members.ts';
import { agentLlm, NO_SETTINGS, type SettingsV1 } from './v1-document.ts';
import sections from '../../schemas/agent/sections.json' with { type: 'json' };

type Tree = Readonly<Record<string, unknown>>;

/** Parts of the description that the answers are made of. */
interface SettingsSchemas {
  /** `GETSettingsModel`. */
  readonly shown: Schema;
  /** `SettingsUpdate`. */
  readonly update: Schema;
  /** `ConversationSettings`. */
  readonly conversation: Schema;
}

const LEGACY = ['agent_settings', 'conversation_settings'];

/** The handlers of the V1 settings, by operation id. */
export function settingsV1(
  documents: Documents<SettingsV1>,
  schemas: SettingsSchemas,
  specs: () => readonly SpecOutline[],
): Record<string, Handler> {
  const checks = agentChecks();
  return {
    loadSettings: async ({ userId }) => {
      const stored = await documents.read(userId);
      if (stored === null) throw new Refusal(404, { error: 'Settings not found' });
      return { body: answered(stored, schemas) };
    },
    storeSettings: async ({ userId, body }) => {
      const sent = body as Tree;
      refuseUnknownMembers(sent, schemas.update);
      await documents.change(userId, (old) => {
        const before = old ?? NO_SETTINGS;
        const next = changed(before, sent);
        if (isTree(sent['agent_settings_diff'])) checkAgent(next.agent, checks);
        if (isTree(sent['conversation_settings_diff'])) checkConversation(next.conversation, checks);
        const named = {
          ...sent,
          ...(isTree(sent['agent_settings_diff']) ? { agent_settings: next.agent } : {}),
        };
        const refused = refusedMember('V1', named, specs());
        if (refused !== null) throw invalidValue(['body', placeOf(refused.name)], refused.sentence);
        return { next, result: null };
      });
      return { body: { message: 'Settings stored' } };
    },
    agentSchema: () => ({ body: sections.agent }),
    conversationSchema: () => ({ body: sections.conversation }),
  };
}

/** Where a request states a member. */
const placeOf = (member: string): string => (member === 'agent_settings' ? 'agent_settings_diff' : member);

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

function changed(old: SettingsV1, sent: Tree): SettingsV1 {
  const { agent_settings_diff: agentDiff, conversation_settings_diff: conversationDiff, ...top } = sent;
  return {
    ...old,
    top: { ...old.top, ...unmasked(top, old.top) },
    agent: isTree(agentDiff) ? patchedAgent(old.agent, agentDiff) : old.agent,
    conversation: isTree(conversationDiff)
      ? patchedConversation(old.conversation, conversationDiff)
      : old.conversation,
  };
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
