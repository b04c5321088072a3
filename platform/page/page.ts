// Everything that a web page needs beside settings, profiles and conversations, put together.
import type { Clock } from '../../proxy/base/clock.ts';
import type { ServedModels } from '../../proxy/server/mount.ts';
import type { Description } from '../api/description.ts';
import type { Handler } from '../api/router.ts';
import type { Validation } from '../api/validation.ts';
import type { KnownSandboxes } from '../sandboxes/known-sandboxes.ts';
import { defaultsOf } from '../settings/v1.ts';
import type { SettingsV1 } from '../settings/v1-document.ts';
import type { Documents } from '../store/documents.ts';
import { agentProfiles, type AgentProfileSet } from './agent-profiles.ts';
import { modelChoice } from './models.ts';
import { organizationApi } from './organization.ts';
import { organizationProfiles } from './organization-profiles.ts';
import { runtimeRelay } from './runtime-relay.ts';
import { webClient } from './web-client.ts';

export interface PageParts {
  readonly document: Description;
  readonly validation: Validation;
  readonly clock: Clock;
  readonly models: ServedModels;
  readonly sandboxes: KnownSandboxes;
  readonly settings: Documents<SettingsV1>;
  readonly agentProfiles: Documents<AgentProfileSet>;
  /** By operation id: the settings of V1 and the LLM profiles, which the organization shows again. */
  readonly handlers: Readonly<Record<string, Handler>>;
}

/** The handlers, by operation id. */
export function pageApi(parts: PageParts): Record<string, Handler> {
  const { document, validation, clock, handlers } = parts;
  const { OpenHandsAgentProfile: profile = {}, ConversationSettings: conversation = {} } =
    document.components.schemas;
  return {
    ...agentProfiles({
      documents: parts.agentProfiles,
      settings: parts.settings,
      schema: profile,
      check: validation.of({ $ref: '#/components/schemas/OpenHandsAgentProfile' }),
    }),
    ...organizationApi(handlers, defaultsOf(conversation)),
    ...organizationProfiles(handlers),
    ...modelChoice(parts.models),
    ...runtimeRelay(parts.sandboxes),
    ...webClient(clock.now()),
  };
}
