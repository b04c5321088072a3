// Switches the profile of a conversation: its runtime is told first, then it is stored here. Both change or neither.
import type { Clock } from '../../proxy/base/clock.ts';
import type { Log } from '../../proxy/server/mount.ts';
import { refuse } from '../api/refusal.ts';
import { dashed } from '../ids.ts';
import { sendRequest, type RuntimeResponse } from '../sandboxes/http-request.ts';
import type { Sandbox } from '../sandboxes/sandbox.ts';
import { conversationsPathOf } from '../sandboxes/spec-choice.ts';
import type { Sandboxes } from '../sandboxes/sandboxes.ts';
import type { Conversation } from './conversation.ts';
import type { Conversations } from './conversations.ts';
import type { LlmChoice, LlmChoices } from './llm-choice.ts';
import { runtimeLlm } from '../runtime/runtime-llm.ts';
import { reasonOf } from '../runtime/runtime-refusal.ts';
import type { Starter } from './start.ts';

const TIMEOUT_MS = 30_000;

interface ProfileSwitchParts {
  readonly conversations: Conversations;
  readonly choices: LlmChoices;
  readonly sandboxes: Sandboxes;
  readonly starter: Starter;
  readonly clock: Clock;
  readonly log: Log;
  /** Base URL of a conversation, with `/v1`. */
  readonly baseUrlOf: (conversationId: string) => string;
}

/** What of a choice a runtime is told. */
type ToldLlm = Pick<LlmChoice, 'config' | 'agentModel'>;

/** A runtime that has the conversation. */
interface RuntimeOfConversation {
  readonly sandbox: Sandbox;
  readonly url: string;
  /** Of the conversation on it. */
  readonly path: string;
}

/**
 * @throws Refusal 404 (conversation, profile), 400 (its model is not served), 409 (the runtime cannot be told now),
 *   502 (the runtime refuses it)
 */
export async function switchProfile(
  parts: ProfileSwitchParts,
  userId: string,
  id: string,
  profile: string,
): Promise<void> {
  const { conversations, choices, clock } = parts;
  let tellOld = (): Promise<void> => Promise.resolve();
  try {
    await conversations.change(userId, id, async (old) => {
      const next = await choices.choose(userId, profile, null);
      const runtime = await runtimeOf(parts, old);
      if (runtime !== null) {
        const before = await choices.recall(userId, old.facts);
        const llm = runtimeLlm(old, next, parts.baseUrlOf(old.id));
        const response = await tell(runtime, llm);
        // One that does not answer may have switched.
        if (response === null || isTaken(response)) tellOld = () => tellBack(parts, runtime, old, before);
        demandTaken(response, [old.key.reveal(), runtime.sandbox.key.reveal()], llm);
      }
      return {
        ...old,
        headers: next.headers,
        facts: { ...old.facts, llm_profile: next.profile, llm_model: next.model },
        updatedMs: clock.now(),
      };
    });
  } catch (error) {
    await tellOld();
    throw error;
  }
}

/** null = no runtime has it. @throws Refusal 409 for one that cannot be told now */
async function runtimeOf(
  { sandboxes, starter }: ProfileSwitchParts,
  { id, userId, sandboxId }: Conversation,
): Promise<RuntimeOfConversation | null> {
  if (await starter.isStarting(userId, id))
    throw refuse(409, 'The conversation is being started; switch its profile once its start task is READY');
  const found = sandboxId === '' ? null : sandboxes.known.find(userId, sandboxId);
  if (found === null || found.status === 'MISSING') return null;
  const path = conversationsPathOf(sandboxes.specs, found.specId);
  if (path === null) return null; // it was told by its environment alone
  const sandbox = sandboxes.known.require(userId, sandboxId);
  if (sandbox.status !== 'RUNNING' || sandbox.place === null)
    throw refuse(
      409,
      `The sandbox is ${sandbox.status}, so its agent cannot be told of the other profile; switch it while the sandbox is RUNNING`,
    );
  return { sandbox, url: sandbox.place.url, path: `${path.replace(/\/$/, '')}/${dashed(id)}` };
}

const isTaken = ({ status }: RuntimeResponse): boolean => status >= 200 && status < 300;

/** @throws Refusal 502 with the runtime's reason */
function demandTaken(response: RuntimeResponse | null, hidden: readonly string[], sent: unknown): void {
  if (response === null)
    throw refuse(
      502,
      'The runtime did not respond when it was told of the other profile; nothing was changed',
    );
  if (isTaken(response)) return;
  const reason = reasonOf(response.text, hidden, sent);
  throw refuse(
    502,
    `Nothing was changed: the runtime refused the other profile with ${response.status}${reason}`,
  );
}

/** What follows on a switch that could not be stored: the runtime gets back what it had. Never rejects. */
async function tellBack(
  parts: ProfileSwitchParts,
  runtime: RuntimeOfConversation,
  conversation: Conversation,
  before: ToldLlm | null,
): Promise<void> {
  const llm = before === null ? null : runtimeLlm(conversation, before, parts.baseUrlOf(conversation.id));
  const response = llm === null ? null : await tell(runtime, llm);
  if (response !== null && isTaken(response)) return;
  const about = { conversation: conversation.id, status: response?.status ?? null };
  parts.log.error(about, 'a runtime may have another profile than its conversation: switch it again');
}

/** null = it did not answer. */
function tell(
  { sandbox, url, path }: RuntimeOfConversation,
  llm: Readonly<Record<string, unknown>>,
): Promise<RuntimeResponse | null> {
  return sendRequest({
    to: url,
    method: 'POST',
    path: `${path}/switch_llm`,
    body: { llm },
    headers: { 'x-session-api-key': sandbox.key.reveal() },
    timeoutMs: TIMEOUT_MS,
  }).catch(() => null);
}
