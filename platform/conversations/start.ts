// Starting a conversation: the conversation and its task are written in one transaction, its key works from then on,
// and slow steps (the sandbox, the request to its runtime) continue after the response; the task reports them.
import { Secret } from '../../config/secret.ts';
import type { SandboxSpec } from '../../config/snapshot.ts';
import type { Clock } from '../../proxy/base/clock.ts';
import type { Log } from '../../proxy/server/mount.ts';
import { invalidValue, refuse, Refusal } from '../api/refusal.ts';
import { hexOf, newHexId, newKey } from '../ids.ts';
import { requireAgentProfile, type AgentProfile, type AgentProfileSet } from '../page/agent-profiles.ts';
import type { Replicas } from '../../proxy/server/mount.ts';
import type { Sandbox } from '../sandboxes/sandbox.ts';
import { conversationsPathOf } from '../sandboxes/spec-choice.ts';
import type { Sandboxes } from '../sandboxes/sandboxes.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';
import type { UserSettings } from '../settings/user-settings.ts';
import type { SecretSources } from '../secrets/secret-sources.ts';
import type { Documents } from '../store/documents.ts';
import type { PlatformStore } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import { withAgentProfile } from './agent-profile.ts';
import { agentServerOf } from '../runtime/agent-server.ts';
import { KEY_PREFIX, NOTHING_REPORTED, type Conversation, type Tags } from './conversation.ts';
import type { Conversations } from './conversations.ts';
import { cloneRepository, repositoryOf } from './repository.ts';
import type { RuntimeViews } from '../runtime/runtime-views.ts';
import { sendToRuntime } from '../runtime/send-to-runtime.ts';
import type { LlmChoice, LlmChoices } from './llm-choice.ts';
import { refuseUnhonoured } from './start-members.ts';
import { isOver, itemOf, taskOf, withoutSecrets, type StartTask } from './start-task.ts';

interface StarterParts {
  readonly store: PlatformStore;
  readonly vault: Vault;
  readonly conversations: Conversations;
  readonly choices: LlmChoices;
  readonly settings: UserSettings;
  readonly agentProfiles: Documents<AgentProfileSet>;
  readonly sandboxes: Sandboxes;
  readonly views: RuntimeViews;
  readonly replicas: Replicas;
  readonly clock: Clock;
  readonly log: Log;
  /** Base URL of a conversation, with `/v1`. */
  readonly baseUrlOf: (conversationId: string) => string;
  /** The stored secrets of the sandbox's owner, for that sandbox. */
  readonly secretsFor: (sandbox: Sandbox) => Promise<SecretSources>;
}

type Request = Readonly<Record<string, unknown>>;

/** What a start goes on with after its response. */
interface Start {
  readonly conversation: Conversation;
  readonly llm: LlmChoice;
  readonly settings: RuntimeSettings;
  readonly request: Request;
}
const NO_MODEL =
  'No model is chosen, and the model list has patterns alone: name one in llm_model, in a profile or in the settings.';

export class Starter {
  readonly #parts: StarterParts;
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(parts: StarterParts) {
    this.#parts = parts;
  }

  /** Whether somebody works on it. */
  isUnderWay({ id, owner }: Pick<StartTask, 'id' | 'owner'>): boolean {
    const { replicas } = this.#parts;
    return owner === replicas.own ? this.#underWay.has(id) : replicas.isAlive(owner);
  }

  /** Whether a server is at work on the start of this conversation. */
  async isStarting(userId: string, conversationId: string): Promise<boolean> {
    const { store, vault } = this.#parts;
    const filter = { kind: 'start_task', userId, link: conversationId } as const;
    const [item] = await store.search(filter, { order: 'created_desc', offset: 0, limit: 1 });
    if (item === undefined) return false;
    const task = taskOf(item, vault);
    return !isOver(task) && this.isUnderWay(task);
  }

  /**
   * @throws Refusal 404 (profile, parent, sandbox), 400 (the model is not served), 422 (what nobody would honour), 409 (the
   * id is taken, a setting that cannot be honoured)
   */
  async start(userId: string, request: Request): Promise<StartTask> {
    const { conversations, choices, clock, sandboxes } = this.#parts;
    const agent = await this.#agentProfile(userId, textOf(request, 'agent_profile_id'));
    const profile = textOf(request, 'llm_profile') ?? agent?.llm_profile_ref ?? null;
    const llm = await choices.choose(userId, profile, textOf(request, 'llm_model'));
    const parentId = hexOf(textOf(request, 'parent_conversation_id') ?? '');
    const parent = parentId === null ? null : await this.#parentWithSandbox(userId, parentId);
    const wanted = sandboxIdOf(request, parent);
    const sandbox = wanted === null ? null : sandboxes.known.find(userId, wanted);
    if (wanted !== null && sandbox === null) throw refuse(404, 'Sandbox not found');
    const needsSandbox = wanted !== null || sandboxes.specs.length > 0;
    const own = await this.#parts.settings.ofConversation(userId, needsSandbox);
    const settings = agent === null ? own : withAgentProfile(own, agent);
    if (needsSandbox && llm.model === null) throw refuse(400, NO_MODEL);
    refuseUnhonoured(request, needsSandbox ? this.#specFor(sandbox, settings) : null);
    const selection = selectionOf(request, parent);
    repositoryOf(selection);
    const nowMs = clock.now();
    const id = hexOf(textOf(request, 'conversation_id') ?? '') ?? newHexId();
    const conversation: Conversation = {
      id,
      userId,
      title: textOf(request, 'title'),
      sandboxId: wanted ?? '',
      parentId,
      facts: {
        ...selection,
        trigger: textOf(request, 'trigger'),
        pr_number: (request['pr_number'] as readonly number[] | undefined) ?? [],
        public: (request['public'] as boolean | null | undefined) ?? null,
        llm_model: llm.model,
        llm_profile: llm.profile,
        launched_agent_profile:
          agent === null ? null : { agent_profile_id: agent.id, revision: agent.revision },
      },
      tags: (request['tags'] as Tags | undefined) ?? {},
      runtime: NOTHING_REPORTED,
      key: newKey(KEY_PREFIX),
      headers: llm.headers,
      maxBudget: settings.maxBudget,
      createdMs: nowMs,
      updatedMs: nowMs,
      revision: 0,
    };
    const task: StartTask = {
      id: newHexId(),
      userId,
      owner: this.#parts.replicas.own,
      status: needsSandbox ? 'WORKING' : 'READY',
      detail: null,
      conversationId: id,
      sandboxId: wanted,
      agentServerUrl: null,
      request: withoutSecrets(request),
      createdMs: nowMs,
      updatedMs: nowMs,
      revision: 0,
    };
    await conversations.add(conversation, itemOf(task, this.#parts.vault));
    const stored = { ...task, revision: 1 };
    if (needsSandbox) this.#follow(stored, { conversation, llm, settings, request });
    return stored;
  }

  /** Settles when no start is under way any more. */
  async drained(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  /** @throws Refusal 404 */
  async #agentProfile(userId: string, id: string | null): Promise<AgentProfile | null> {
    if (id === null) return null;
    return requireAgentProfile(await this.#parts.agentProfiles.read(userId), id);
  }

  /** null = its sandbox is not there, so that nothing ties the conversation to it. @throws Refusal 404 */
  async #parentWithSandbox(userId: string, conversationId: string): Promise<Conversation | null> {
    const { conversations, sandboxes } = this.#parts;
    const [parent = null] = await conversations.get(userId, [conversationId]);
    if (parent === null) throw refuse(404, 'parent_conversation_id names no conversation');
    return sandboxes.known.find(userId, parent.sandboxId) === null ? null : parent;
  }

  /** null = one that is not configured, which its start will say. */
  #specFor(sandbox: Sandbox | null, settings: RuntimeSettings): SandboxSpec | null {
    const { specs } = this.#parts.sandboxes;
    const id = sandbox?.specId ?? settings.specId;
    return (id === null ? specs[0] : specs.find((one) => one.id === id)) ?? null;
  }

  #follow(task: StartTask, start: Start): void {
    const { log } = this.#parts;
    const run = this.#run(task, start)
      .catch((err: unknown) => log.error({ task: task.id, err }, 'a conversation start was not written down'))
      .finally(() => this.#underWay.delete(task.id));
    this.#underWay.set(task.id, run);
  }

  async #run(first: StartTask, start: Start): Promise<void> {
    const { conversation } = start;
    let task = first;
    const step = async (next: Partial<StartTask>): Promise<void> => {
      task = await this.#write({ ...task, ...next });
    };
    try {
      await step({ status: 'WAITING_FOR_SANDBOX' });
      const sandbox = await this.#sandboxFor(start);
      await step({ sandboxId: sandbox.id, agentServerUrl: sandbox.place?.url ?? null });
      const ready = await this.#untilRunning(sandbox);
      await this.#parts.sandboxes.usage.during(ready.id, () => this.#handOver(start, ready, step));
      await step({ status: 'READY' });
    } catch (thrown) {
      const detail =
        thrown instanceof Refusal
          ? detailOf(thrown)
          : 'the conversation could not be started; see the log of the server';
      this.#parts.log.warn(
        { task: task.id, conversation: conversation.id, err: thrown },
        'conversation not started',
      );
      await step({ status: 'ERROR', detail });
    }
  }

  /** Prepares the repository and sends the conversation, where the sandbox has an agent server. */
  async #handOver(
    { conversation: first, llm, settings, request }: Start,
    sandbox: Sandbox,
    step: (next: Partial<StartTask>) => Promise<void>,
  ): Promise<void> {
    const { sandboxes, conversations, views, baseUrlOf } = this.#parts;
    const { userId, id, parentId, facts } = first;
    const { place } = sandbox;
    const server = agentServerOf(sandboxes, sandbox);
    const path = conversationsPathOf(sandboxes.specs, sandbox.specId);
    const agentServerUrl = place?.url ?? null;
    if (server === null || path === null || place === null) {
      await step({ status: 'STARTING_CONVERSATION', agentServerUrl });
      return;
    }
    const repository = repositoryOf(facts);
    if (repository !== null) {
      await step({ status: 'PREPARING_REPOSITORY', agentServerUrl });
      await cloneRepository(server, repository, place.workingDir);
    }
    await step({ status: 'STARTING_CONVERSATION', agentServerUrl });
    const { workingDir } = place;
    const parent = parentId === null ? null : await conversations.find(parentId);
    const [conversation = null] = await conversations.get(userId, [id]); // its tags may have been changed meanwhile
    if (conversation === null) throw refuse(404, 'the conversation was deleted while it was being started');
    await sendToRuntime({
      place,
      sandboxKey: sandbox.key,
      path,
      conversation,
      llm,
      settings,
      baseUrl: baseUrlOf(id),
      workingDir: repository === null ? workingDir : `${workingDir}/${repository.folder}`,
      isBesideParent: parent?.sandboxId === sandbox.id,
      stored: await this.#parts.secretsFor(sandbox),
      request,
    });
    if (conversation.title === null) return;
    // A start has no place for a title.
    const owed = await conversations.change(userId, id, (old) => ({
      ...old,
      runtime: { ...old.runtime, isOwed: true },
    }));
    await views.settle(owed);
  }

  /** The sandbox that was asked for, resumed if need be; else a new one with the conversation in its environment. */
  async #sandboxFor({ conversation, llm, settings }: Start): Promise<Sandbox> {
    const { sandboxes, conversations, baseUrlOf } = this.#parts;
    const { userId } = conversation;
    if (conversation.sandboxId !== '') {
      await sandboxes.resume(userId, conversation.sandboxId);
      const found = sandboxes.known.find(userId, conversation.sandboxId);
      if (found === null) throw refuse(404, 'Sandbox not found');
      return found;
    }
    const spec = sandboxes.spec(settings.specId);
    const env: readonly (readonly [string, Secret])[] = [
      ['LLM_BASE_URL', new Secret(baseUrlOf(conversation.id))],
      ['LLM_API_KEY', conversation.key],
      ['LLM_MODEL', new Secret(llm.agentModel?.model ?? '')],
      ['CONVERSATION_ID', new Secret(conversation.id)],
      ...settings.environment,
    ];
    const sandbox = await sandboxes.start(userId, spec, env);
    try {
      await conversations.change(userId, conversation.id, (old) => ({ ...old, sandboxId: sandbox.id }));
    } catch (error) {
      await sandboxes.remove(userId, sandbox.id); // it was deleted while it was being started: nobody else knows of it
      throw error;
    }
    return sandbox;
  }

  async #untilRunning(sandbox: Sandbox): Promise<Sandbox> {
    const settled = await this.#parts.sandboxes.settled(sandbox.id);
    if (settled?.status === 'RUNNING') return settled;
    throw refuse(502, settled?.detail ?? `the sandbox is ${settled?.status ?? 'gone'}`);
  }

  async #write(task: StartTask): Promise<StartTask> {
    const next = { ...task, updatedMs: this.#parts.clock.now() };
    await this.#parts.store.apply([{ put: itemOf(next, this.#parts.vault) }]);
    return { ...next, revision: task.revision + 1 };
  }
}

function detailOf(refusal: Refusal): string {
  const { detail } = refusal.body as { readonly detail?: unknown };
  return typeof detail === 'string' ? detail : 'the conversation could not be started';
}

function textOf(request: Request, name: string): string | null {
  const value = request[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A sub-conversation runs beside its parent: an agent server knows no parent elsewhere. @throws Refusal 422 */
function sandboxIdOf(request: Request, parent: Conversation | null): string | null {
  const wanted = textOf(request, 'sandbox_id');
  if (parent === null) return wanted;
  if (wanted !== null && wanted !== parent.sandboxId)
    throw invalidValue(
      ['body', 'sandbox_id'],
      'a sub-conversation runs in the sandbox of its parent; leave it out',
    );
  return parent.sandboxId;
}

type Selection = Pick<Conversation['facts'], 'selected_repository' | 'selected_branch' | 'git_provider'>;

/** A sub-conversation works where its parent works. @throws Refusal 422 */
function selectionOf(request: Request, parent: Conversation | null): Selection {
  const stated: Selection = {
    selected_repository: textOf(request, 'selected_repository'),
    selected_branch: textOf(request, 'selected_branch'),
    git_provider: textOf(request, 'git_provider'),
  };
  if (parent === null) return stated;
  const inherited = parent.facts;
  for (const name of ['selected_repository', 'selected_branch', 'git_provider'] as const) {
    if (stated[name] !== null && stated[name] !== inherited[name])
      throw invalidValue(
        ['body', name],
        'a sub-conversation works in the repository of its parent; leave it out',
      );
  }
  const { selected_repository, selected_branch, git_provider } = inherited;
  return { selected_repository, selected_branch, git_provider };
}
