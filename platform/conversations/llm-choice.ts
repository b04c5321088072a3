// Which LLM a conversation runs with: the profile that the request names, else the active one, else what the settings
// say. Decided once, at the start; `switch_profile` decides anew.
import type { Secret } from '../../config/secret.ts';
import type { ServedModels } from '../../proxy/server/mount.ts';
import { refuse } from '../api/refusal.ts';
import { sentHeaders } from '../settings/headers.ts';
import { isTree, own } from '../settings/secrets.ts';
import type { SettingsV0 } from '../settings/v0.ts';
import { agentLlm, NO_SETTINGS, type SettingsV1 } from '../settings/v1-document.ts';
import type { Documents } from '../store/documents.ts';
import { agentModel, isModelName, type AgentModel } from '../runtime/agent-model.ts';
import type { Conversation } from './conversation.ts';

export interface LlmChoice {
  /** null = no profile. */
  readonly profile: string | null;
  /** As it was chosen; null = nothing names one, and the model list has patterns alone. */
  readonly model: string | null;
  /** The same as the agent has to spell it. */
  readonly agentModel: AgentModel | null;
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  /** The LLM's configuration as it is stored; holds secrets. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly settings: SettingsV1;
}

interface LlmChoicesParts {
  readonly v0: Documents<SettingsV0>;
  readonly v1: Documents<SettingsV1>;
  readonly models: ServedModels;
  /** What the description says of a profile that names no model; null = nothing. */
  readonly defaultModel: string | null;
}

export class LlmChoices {
  readonly #parts: LlmChoicesParts;

  constructor(parts: LlmChoicesParts) {
    this.#parts = parts;
  }

  /**
   * @param name null = the active profile. @param model wins over the profile's.
   * @throws Refusal 404 for the profile, 400 for a model that this proxy does not serve
   */
  async choose(userId: string, name: string | null, model: string | null): Promise<LlmChoice> {
    const settings = (await this.#parts.v1.read(userId)) ?? NO_SETTINGS;
    const profile = name ?? settings.active;
    const found = profile === null ? agentLlm(settings) : own(settings.profiles, profile);
    if (!isTree(found)) throw refuse(404, `Profile '${String(profile)}' not found`);
    const stated = own(found, 'model');
    const inProfile = typeof stated === 'string' ? stated : null;
    const chosen = model ?? inProfile ?? (await this.#legacyModel(userId)) ?? this.#usual();
    const namedBy = profile === null || model !== null || inProfile === null ? null : profile;
    return {
      profile,
      model: chosen,
      agentModel: chosen === null ? null : this.#agentModel(chosen, namedBy),
      headers: sentHeaders(own(found, 'extra_headers')),
      config: found,
      settings,
    };
  }

  /** What a runtime of a conversation was told, as the settings have it now; null = it was told of no model. Never refuses. */
  async recall(
    userId: string,
    { llm_profile: profile, llm_model: model }: Conversation['facts'],
  ): Promise<Pick<LlmChoice, 'config' | 'agentModel'> | null> {
    const spelled = model === null ? null : agentModel(model, this.#parts.models);
    if (spelled === null) return null;
    const settings = (await this.#parts.v1.read(userId)) ?? NO_SETTINGS;
    const found = profile === null ? agentLlm(settings) : own(settings.profiles, profile);
    return { config: isTree(found) ? found : {}, agentModel: spelled };
  }

  /** @param profile the one that names it. @throws Refusal 400 */
  #agentModel(name: string, profile: string | null): AgentModel {
    const found = agentModel(name, this.#parts.models);
    if (found !== null) return found;
    const where = profile === null ? '' : ` The profile '${profile}' names it.`;
    throw refuse(400, `${this.#whyNot(name)}${where}`);
  }

  #whyNot(name: string): string {
    const { models } = this.#parts;
    if (models.find(name) === null) return models.whyNot(name);
    if (!isModelName(name))
      return `${JSON.stringify(name.slice(0, 100))} is no name of a model: it ends with a slash or holds a control character.`;
    return `An agent cannot call the model \`${name.slice(0, 100)}\`: LiteLLM reads \`responses/\` as a protocol. Give it another model_name.`;
  }

  /** Where nothing names a model. */
  #usual(): string | null {
    const { models, defaultModel } = this.#parts;
    if (defaultModel !== null && models.find(defaultModel) !== null) return defaultModel;
    return models.names()[0] ?? null;
  }

  async #legacyModel(userId: string): Promise<string | null> {
    const model = (await this.#parts.v0.read(userId))?.['llm_model'];
    return typeof model === 'string' && model !== '' ? model : null;
  }
}
