// Which LLM a conversation runs with: the profile that the request names, else the active one, else what the settings
// say. Decided once, at the start; `switch_profile` decides anew.
import type { Secret } from '../../config/secret.ts';
import { refuse } from '../api/refusal.ts';
import { sentHeaders } from '../settings/headers.ts';
import { isTree, own } from '../settings/secrets.ts';
import type { SettingsV0 } from '../settings/v0.ts';
import { agentLlm, NO_SETTINGS, type SettingsV1 } from '../settings/v1-document.ts';
import type { Documents } from '../store/documents.ts';

export interface LlmChoice {
  /** null = no profile. */
  readonly profile: string | null;
  readonly model: string | null;
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  /** The LLM's configuration as it is stored; holds secrets. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly settings: SettingsV1;
}

export class LlmChoices {
  readonly #v0: Documents<SettingsV0>;
  readonly #v1: Documents<SettingsV1>;

  constructor(v0: Documents<SettingsV0>, v1: Documents<SettingsV1>) {
    this.#v0 = v0;
    this.#v1 = v1;
  }

  /** @param name null = the active profile. @param model wins over the profile's. @throws Refusal 404 */
  async choose(userId: string, name: string | null, model: string | null): Promise<LlmChoice> {
    const settings = (await this.#v1.read(userId)) ?? NO_SETTINGS;
    const profile = name ?? settings.active;
    const found = profile === null ? agentLlm(settings) : own(settings.profiles, profile);
    if (!isTree(found)) throw refuse(404, `Profile '${String(profile)}' not found`);
    const own1 = own(found, 'model');
    const chosen = model ?? (typeof own1 === 'string' ? own1 : await this.#legacyModel(userId));
    return {
      profile,
      model: chosen,
      headers: sentHeaders(own(found, 'extra_headers')),
      config: found,
      settings,
    };
  }

  async #legacyModel(userId: string): Promise<string | null> {
    const model = (await this.#v0.read(userId))?.['llm_model'];
    return typeof model === 'string' ? model : null;
  }
}
