// The stored settings of a user, as a conversation needs them.
import { refuse } from '../api/refusal.ts';
import type { Documents } from '../store/documents.ts';
import { refusedMember, type SpecOutline } from './members.ts';
import { runtimeSettings, type RuntimeSettings } from './runtime-settings.ts';
import type { SettingsV0 } from './v0.ts';
import { NO_SETTINGS, type SettingsV1 } from './v1-document.ts';

export class UserSettings {
  readonly #v0: Documents<SettingsV0>;
  readonly #v1: Documents<SettingsV1>;
  readonly #specs: () => readonly SpecOutline[];

  constructor(v0: Documents<SettingsV0>, v1: Documents<SettingsV1>, specs: () => readonly SpecOutline[]) {
    this.#v0 = v0;
    this.#v1 = v1;
    this.#specs = specs;
  }

  /**
   * @param sendsOn whether a runtime of this server gets them
   * @throws Refusal 409 when it would get one that cannot be honoured: it was set before this server had sandboxes
   */
  async ofConversation(userId: string, sendsOn: boolean): Promise<RuntimeSettings> {
    const [v0, v1] = await Promise.all([this.#v0.read(userId), this.#v1.read(userId)]);
    const specs = this.#specs();
    if (sendsOn) {
      const current = v1 ?? NO_SETTINGS;
      const refused =
        refusedMember('V1', { ...current.top, agent_settings: current.agent }, specs) ??
        refusedMember('V0', v0 ?? {}, specs);
      if (refused !== null)
        throw refuse(409, `The setting ${refused.name} cannot be honoured: ${refused.sentence}`);
    }
    return runtimeSettings(v0, v1 ?? NO_SETTINGS, specs);
  }
}
