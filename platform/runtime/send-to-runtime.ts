// Posts a conversation to the runtime of its sandbox in the agent server's format. Its LLM is this proxy, with the
// conversation's own base URL and key.
import { refuse } from '../api/refusal.ts';
import { dashed } from '../ids.ts';
import { sendRequest } from '../sandboxes/http-request.ts';
import type { SandboxPlace } from '../sandboxes/driver.ts';
import type { Secret } from '../../config/secret.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';
import { valuesIn, type SecretSources } from '../secrets/secret-sources.ts';
import { isTree } from '../settings/secrets.ts';
import type { Conversation } from '../conversations/conversation.ts';
import type { LlmChoice } from '../conversations/llm-choice.ts';
import { runtimeLlm } from './runtime-llm.ts';
import { reasonOf } from './runtime-refusal.ts';

const TIMEOUT_MS = 60_000;
/** Members of a start request that an agent server knows by the same name. */
const SAME = [
  'initial_message',
  'observability_metadata',
  'observability_tags',
  'observability_span_name',
  'plugins',
] as const;

interface RuntimeStart {
  readonly place: SandboxPlace;
  readonly sandboxKey: Secret;
  /** Path that the runtime takes conversations on. */
  readonly path: string;
  readonly conversation: Conversation;
  readonly llm: LlmChoice;
  readonly settings: RuntimeSettings;
  readonly baseUrl: string;
  /** Where the agent works, as the runtime sees it. */
  readonly workingDir: string;
  /** Whether its parent runs on the same agent server, which takes no other. */
  readonly isBesideParent: boolean;
  /** Secrets that the user has stored. */
  readonly stored: SecretSources;
  /** The start request as it was sent, its secrets included. */
  readonly request: Readonly<Record<string, unknown>>;
}

/** @throws Refusal 502 when the runtime does not take it, with its reason */
export async function sendToRuntime(start: RuntimeStart): Promise<void> {
  const { place, sandboxKey, path, conversation } = start;
  const secrets = secretsOf(start);
  const body = bodyOf(start, secrets);
  const response = await sendRequest({
    to: place.url,
    method: 'POST',
    path,
    body,
    headers: { 'x-session-api-key': sandboxKey.reveal() },
    timeoutMs: TIMEOUT_MS,
  }).catch(() => null);
  if (response === null)
    throw refuse(502, 'the runtime did not respond when the conversation was sent to it');
  if (response.status >= 200 && response.status <= 299) return;
  const hidden = [sandboxKey.reveal(), conversation.key.reveal(), ...valuesIn(secrets)];
  const reason = reasonOf(response.text, hidden, body);
  throw refuse(502, `the runtime refused the conversation with ${response.status}${reason}`);
}

function bodyOf(start: RuntimeStart, secrets: SecretSources): Record<string, unknown> {
  const { conversation, llm, settings, request } = start;
  const suffix = request['system_message_suffix'];
  const same = SAME.filter((name) => request[name] !== undefined && request[name] !== null);
  return {
    ...settings.request,
    ...Object.fromEntries(same.map((name) => [name, request[name]])),
    conversation_id: dashed(conversation.id),
    user_id: conversation.userId === '' ? null : conversation.userId,
    tags: conversation.tags,
    ...(start.isBesideParent ? { parent_conversation_id: dashed(conversation.parentId ?? '') } : {}),
    ...(typeof suffix === 'string' && suffix !== ''
      ? { agent_launch_additions: { system_message_suffix_append: suffix } }
      : {}),
    ...(conversation.title === null ? {} : { autotitle: false }), // it has a title already
    workspace: { kind: 'LocalWorkspace', working_dir: start.workingDir },
    agent_settings: { ...settings.agent, llm: runtimeLlm(conversation, llm, start.baseUrl) },
    ...(Object.keys(secrets).length === 0 ? {} : { secrets }),
  };
}

/** Those of the older settings, below those that the user has stored, below those of the start request. */
function secretsOf({ settings, stored, request }: RuntimeStart): SecretSources {
  const sent = isTree(request['secrets']) ? Object.entries(request['secrets']) : [];
  const older = Object.entries(settings.secrets).map(([name, value]) => [name, value.reveal()] as const);
  return {
    ...staticSources(older),
    ...stored,
    ...staticSources(sent.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []))),
  };
}

const staticSources = (values: readonly (readonly [name: string, value: string])[]): SecretSources =>
  Object.fromEntries(values.map(([name, value]) => [name, { kind: 'StaticSecret', value } as const]));
