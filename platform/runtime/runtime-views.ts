// Keeps conversations and their agent servers in step: takes what these report by webhook, asks them when what is known is
// old, and sends title and tags that were changed here.
import type { Clock } from '../../proxy/base/clock.ts';
import type { Log } from '../../proxy/server/mount.ts';
import { refuse, refuseNul } from '../api/refusal.ts';
import type { Handler } from '../api/router.ts';
import type { Sandboxes } from '../sandboxes/sandboxes.ts';
import { agentServerOf, MAX_IDS, type AgentServer } from './agent-server.ts';
import type { Conversation } from '../conversations/conversation.ts';
import type { Conversations } from '../conversations/conversations.ts';
import { afterReport, isSameTags, reportOf, statusIn } from './runtime-report.ts';

interface RuntimeViewsParts {
  readonly conversations: Conversations;
  readonly sandboxes: Sandboxes;
  readonly clock: Clock;
  readonly log: Log;
}

/** Webhooks come at starts, pauses and changes, none when an agent has finished: what is older is asked for. */
const FRESH_MS = 2_000;
/** One that did not answer is not asked by every call of a client that polls. */
const SILENT_MS = 10_000;
/** Of times in memory; older ones only cost a question. */
const MAX_TIMES = 10_000;

export class RuntimeViews {
  readonly #parts: RuntimeViewsParts;
  /** When a conversation was last heard of, and a sandbox last did not answer. */
  readonly #heardMs = new Map<string, number>();
  readonly #silentMs = new Map<string, number>();

  constructor(parts: RuntimeViewsParts) {
    this.#parts = parts;
  }

  /** The handlers of the webhooks, by operation id. */
  get handlers(): Record<string, Handler> {
    const take: Handler = async ({ sandboxId, body }) => {
      refuseNul({ title: (body as { readonly title?: unknown }).title }, 'body');
      const report = reportOf(body);
      const found = report === null ? null : await this.#parts.conversations.find(report.id);
      // One that its agent server began by itself is no conversation of this interface; a refusal would be sent again.
      if (report === null || found === null) return { body: { success: true } };
      if (found.sandboxId !== sandboxId) throw refuse(403, 'The conversation belongs to another sandbox');
      this.#note(this.#heardMs, found.id);
      await this.#change(found, (old) => afterReport(old, report, this.#parts.clock.now()));
      return { body: { success: true } };
    };
    return { reportConversation: take, reportConversationOf: take };
  }

  /** Takes the execution status that events of its agent server tell, the last one. */
  async noteEvents(conversation: Conversation, events: readonly unknown[]): Promise<void> {
    const status = statusIn(events);
    if (status === null) return;
    this.#note(this.#heardMs, conversation.id);
    await this.#change(conversation, (old) =>
      old.runtime.executionStatus === status
        ? old
        : { ...old, runtime: { ...old.runtime, executionStatus: status } },
    );
  }

  /** The same conversations, those that run as their agent servers see them now. Never rejects. */
  async refreshed(found: readonly Conversation[]): Promise<readonly Conversation[]> {
    const { sandboxes, log } = this.#parts;
    const stale = found.filter(({ id, sandboxId }) => sandboxId !== '' && this.#isOld(id, sandboxId));
    const bySandbox = Map.groupBy(stale, ({ sandboxId }) => sandboxId);
    const fresh = new Map<string, Conversation>();
    await Promise.all(
      [...bySandbox].map(async ([sandboxId, all]) => {
        const server = agentServerOf(sandboxes, sandboxes.known.own(sandboxId));
        if (server === null) return;
        try {
          for (const one of await this.#ask(server, sandboxId, all)) fresh.set(one.id, one);
        } catch (err) {
          log.warn({ sandbox: sandboxId, err }, 'conversations were not brought up to date');
        }
      }),
    );
    return found.map((one) => fresh.get(one.id) ?? one);
  }

  /** Sends title and tags, where they are owed and its agent server answers; else they stay owed. @returns it as it is now */
  async settle(conversation: Conversation): Promise<Conversation> {
    if (!conversation.runtime.isOwed) return conversation;
    const { sandboxes } = this.#parts;
    const server = agentServerOf(sandboxes, sandboxes.known.own(conversation.sandboxId));
    return server === null ? conversation : this.#send(server, conversation);
  }

  /** Deletes it on its agent server. @returns what became of it, for people */
  async removeFromRuntime({ id, userId, sandboxId }: Conversation): Promise<string> {
    this.#heardMs.delete(id);
    const { sandboxes, log } = this.#parts;
    const sandbox = sandboxes.known.find(userId, sandboxId);
    const server = agentServerOf(sandboxes, sandboxes.known.own(sandboxId));
    if (server === null)
      return `not deleted on its agent server: the sandbox is ${sandbox?.status ?? 'MISSING'}`;
    const outcome = await server.remove(id);
    if (outcome === 'removed') return 'deleted on its agent server too';
    if (outcome === 'unknown') return 'its agent server did not know it';
    log.warn({ conversation: id, sandbox: sandboxId }, 'a conversation was not deleted on its agent server');
    return 'not deleted on its agent server, which did not answer; it goes with its sandbox';
  }

  async #ask(
    server: AgentServer,
    sandboxId: string,
    all: readonly Conversation[],
  ): Promise<readonly Conversation[]> {
    const sent = await Promise.all(
      all.map((one) => (one.runtime.isOwed ? this.#send(server, one) : Promise.resolve(one))),
    );
    const chunk = sent.slice(0, MAX_IDS);
    const infos = await server.get(chunk.map(({ id }) => id));
    if (infos === null) {
      this.#note(this.#silentMs, sandboxId);
      return sent;
    }
    this.#silentMs.delete(sandboxId);
    const nowMs = this.#parts.clock.now();
    const taken = chunk.map((one, index) => {
      this.#note(this.#heardMs, one.id);
      const report = reportOf(infos[index]);
      return report?.id === one.id
        ? this.#change(one, (old) => afterReport(old, report, nowMs))
        : Promise.resolve(one);
    });
    return [...(await Promise.all(taken)), ...sent.slice(MAX_IDS)];
  }

  async #send(server: AgentServer, conversation: Conversation): Promise<Conversation> {
    const { id, title, tags } = conversation;
    if (!(await server.update(id, title, tags))) return conversation;
    const reportedMs = reportOf((await server.get([id]))?.[0])?.updatedMs ?? 0;
    return this.#change(conversation, (old) => {
      const isChangedAgain = old.title !== title || !isSameTags(old.tags, tags);
      if (isChangedAgain) return old; // that is still owed
      const { runtime } = old;
      return {
        ...old,
        runtime: { ...runtime, isOwed: false, reportedMs: Math.max(runtime.reportedMs, reportedMs) },
      };
    });
  }

  #change({ userId, id }: Conversation, change: (old: Conversation) => Conversation): Promise<Conversation> {
    return this.#parts.conversations.change(userId, id, change);
  }

  #isOld(id: string, sandboxId: string): boolean {
    const nowMs = this.#parts.clock.mono();
    if (nowMs - (this.#silentMs.get(sandboxId) ?? -Infinity) < SILENT_MS) return false;
    return nowMs - (this.#heardMs.get(id) ?? -Infinity) >= FRESH_MS;
  }

  #note(times: Map<string, number>, id: string): void {
    if (times.size >= MAX_TIMES) times.clear();
    times.set(id, this.#parts.clock.mono());
  }
}
