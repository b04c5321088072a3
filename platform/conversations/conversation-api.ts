// The operations on conversations and their start tasks, in the platform's shapes.
import type { Log, SessionTotals, SpendReader } from '../../proxy/server/mount.ts';
import { pageRequestOf, pageOf } from '../api/pages.ts';
import { invalidValue, validationFailed, refuse, refuseNul } from '../api/refusal.ts';
import type { Handler } from '../api/router.ts';
import { dashed, hexOf, instant, timeOf } from '../ids.ts';
import type { Sandboxes } from '../sandboxes/sandboxes.ts';
import type { Order } from '../../proxy/server/mount.ts';
import type { Filter, PlatformStore } from '../store/store.ts';
import type { Clock } from '../../proxy/base/clock.ts';
import type { Vault } from '../store/vault.ts';
import type { Conversation, Tags } from './conversation.ts';
import type { Conversations } from './conversations.ts';
import type { LlmChoices } from './llm-choice.ts';
import { taskInfo, taskOf } from './start-task.ts';
import { isSameTags } from '../runtime/runtime-report.ts';
import type { RuntimeViews } from '../runtime/runtime-views.ts';
import type { Starter } from './start.ts';
import { switchProfile } from './switch-profile.ts';

interface ConversationApiParts {
  readonly conversations: Conversations;
  readonly store: PlatformStore;
  readonly vault: Vault;
  readonly starter: Starter;
  readonly choices: LlmChoices;
  readonly sandboxes: Sandboxes;
  readonly views: RuntimeViews;
  readonly spend: SpendReader;
  readonly clock: Clock;
  readonly log: Log;
  /** Base URL of a conversation, with `/v1`. */
  readonly baseUrlOf: (conversationId: string) => string;
  /** Removes what was kept of a conversation's events. */
  readonly forgetEvents: (conversationId: string) => Promise<void>;
}

type Query = Readonly<Record<string, unknown>>;

const MAX_IDS = 99;
/** What a list without ids holds; `/search` has pages. */
const MAX_LISTED = 100;
const PICO = 1e12;
const ORDERS: Readonly<Record<string, Order>> = {
  CREATED_AT: 'created',
  CREATED_AT_DESC: 'created_desc',
  UPDATED_AT: 'updated',
  UPDATED_AT_DESC: 'updated_desc',
};

/** The handlers, by operation id. */
export function conversationApi(parts: ConversationApiParts): Record<string, Handler> {
  const { conversations, store, starter, views, clock } = parts;
  const info = async (
    userId: string,
    stored: readonly Conversation[],
    withKey: boolean,
  ): Promise<unknown[]> => {
    const found = await views.refreshed(stored);
    const ids = found.map(({ id }) => id);
    const [totals, children] = await Promise.all([
      parts.spend.totals(ids.map(dashed)),
      conversations.childrenOf(userId, ids),
    ]);
    return found.map((one, index) =>
      conversationInfo(parts, one, totals[index] ?? null, children.get(one.id) ?? [], withKey),
    );
  };
  return {
    searchConversations: async ({ userId, query }) => {
      const cut = pageRequestOf(query);
      const filter = {
        ...conversationFilter(userId, query),
        ...(query['include_sub_conversations'] === true ? {} : { topLevel: true }),
      };
      const part = { order: 'created_desc', offset: cut.offset, limit: cut.limit + 1 } as const;
      const page = pageOf(await conversations.search(filter, part), cut);
      return { body: { ...page, items: await info(userId, page.items, false) } };
    },
    countConversations: async ({ userId, query }) => ({
      body: await conversations.count(conversationFilter(userId, query)),
    }),
    getConversations: async ({ userId, query }) => {
      const asked = query['ids'] as readonly string[] | undefined;
      if (asked === undefined) {
        const part = { order: 'created_desc', offset: 0, limit: MAX_LISTED } as const;
        const listed = await conversations.search(
          { ...conversationFilter(userId, {}), topLevel: true },
          part,
        );
        return { body: await info(userId, listed, false) };
      }
      const ids = uuids(asked);
      const found = await conversations.get(userId, ids);
      const there = found.filter((one) => one !== null);
      const infos = new Map((await info(userId, there, true)).map((one, index) => [there[index], one]));
      return { body: found.map((one) => (one === null ? null : (infos.get(one) ?? null))) };
    },
    startConversation: async ({ userId, body }) => {
      refuseNul({ title: (body as Query)['title'] }, 'body');
      const task = await starter.start(userId, body as Query);
      return { body: taskInfo(task, true) };
    },
    updateConversation: async ({ userId, path, body }) => {
      refuseNul({ title: (body as Query)['title'] }, 'body');
      const changed = await conversations.change(userId, idIn(path), (old) =>
        updated(old, body as Query, clock.now()),
      );
      const [one] = await info(userId, [await views.settle(changed)], true);
      return { body: one };
    },
    deleteConversation: async ({ userId, path }) => {
      const conversation = await conversations.require(userId, idIn(path));
      const detail = await removeFromSandbox(parts, conversation);
      await parts.forgetEvents(conversation.id);
      const gone = await conversations.remove(userId, conversation.id); // last: what failed before is done by the next try
      await parts.forgetEvents(conversation.id); // again: its agent server may have reported some meanwhile
      return { body: { success: true, detail: (await removeIfLeft(parts, gone)) ?? detail } };
    },
    switchProfile: async ({ userId, path, body }) => {
      const { profile_name: name } = body as { readonly profile_name: string };
      await switchProfile(parts, userId, idIn(path), name);
      return { body: { success: true } };
    },
    searchStartTasks: async ({ userId, query }) => {
      const cut = pageRequestOf(query);
      const order = ORDERS[query['sort_order'] as string] ?? 'created_desc';
      const part = { order, offset: cut.offset, limit: cut.limit + 1 };
      const found = (await store.search(taskFilter(userId, query), part)).map((item) =>
        taskOf(item, parts.vault),
      );
      return {
        body: pageOf(
          found.map((task) => taskInfo(task, starter.isUnderWay(task))),
          cut,
        ),
      };
    },
    countStartTasks: async ({ userId, query }) => ({ body: await store.count(taskFilter(userId, query)) }),
    getStartTasks: async ({ userId, query }) => {
      const found = await store.get('start_task', uuids(query['ids'] as readonly string[]));
      return {
        body: found.map((item) => {
          if (item?.userId !== userId) return null;
          const task = taskOf(item, parts.vault);
          return taskInfo(task, starter.isUnderWay(task));
        }),
      };
    },
  };
}

/** Its sandbox goes with the last conversation. @returns what became of it, for people; null = there was nothing to do */
async function removeFromSandbox(
  parts: ConversationApiParts,
  conversation: Conversation,
): Promise<string | null> {
  const { sandboxId } = conversation;
  if (sandboxId === '') return null;
  const isShared = (await parts.conversations.count({ kind: 'conversation', link: sandboxId })) > 1;
  return isShared ? parts.views.removeFromRuntime(conversation) : removeSandbox(parts, conversation);
}

/**
 * Two that shared a sandbox and went at the same time each took the other for one that needs it; and one that was being started
 * may have got its sandbox meanwhile.
 */
async function removeIfLeft(parts: ConversationApiParts, gone: Conversation): Promise<string | null> {
  const { sandboxId } = gone;
  if (sandboxId === '' || parts.sandboxes.known.find(gone.userId, sandboxId) === null) return null;
  const users = await parts.conversations.count({ kind: 'conversation', link: sandboxId });
  return users > 0 ? null : removeSandbox(parts, gone);
}

async function removeSandbox(
  { sandboxes }: ConversationApiParts,
  { userId, sandboxId }: Conversation,
): Promise<string | null> {
  if (sandboxes.known.find(userId, sandboxId) === null) return null;
  await sandboxes.remove(userId, sandboxId);
  return 'its sandbox was deleted too';
}

function conversationInfo(
  parts: ConversationApiParts,
  conversation: Conversation,
  totals: SessionTotals | null,
  children: readonly string[],
  withKey: boolean,
): Record<string, unknown> {
  const { id, userId, sandboxId, facts } = conversation;
  const sandbox = sandboxId === '' ? null : parts.sandboxes.known.find(userId, sandboxId);
  const runtime = sandbox?.status === 'RUNNING' ? sandbox : null;
  const url = runtime?.place?.url ?? null;
  return {
    id,
    created_by_user_id: userId === '' ? null : userId,
    sandbox_id: sandboxId,
    ...facts,
    title: conversation.title,
    agent_kind: 'openhands',
    metrics: metrics(totals, conversation.maxBudget),
    parent_conversation_id: conversation.parentId,
    sub_conversation_ids: children,
    tags: conversation.tags,
    created_at: instant(conversation.createdMs),
    updated_at: instant(conversation.updatedMs),
    sandbox_status: sandbox?.status ?? 'MISSING',
    execution_status: runtime === null ? null : conversation.runtime.executionStatus,
    conversation_url: url === null ? null : `${url}/api/conversations/${id}`,
    session_api_key: runtime?.key.reveal() ?? null,
    acp_server: null,
    launched_agent_profile: facts.launched_agent_profile ?? null,
    llm_base_url: parts.baseUrlOf(id),
    llm_api_key: withKey ? conversation.key.reveal() : null,
  };
}

/** null = nothing was called and nothing limits it. */
function metrics(totals: SessionTotals | null, maxBudget: number | null): Record<string, unknown> | null {
  if (totals === null)
    return maxBudget === null ? null : { accumulated_cost: 0, max_budget_per_task: maxBudget };
  const { last } = totals;
  return {
    model_name: last.modelGroup,
    accumulated_cost: Number(totals.spendPico) / PICO,
    max_budget_per_task: maxBudget,
    accumulated_token_usage: {
      model: last.modelGroup,
      prompt_tokens: totals.promptTokens,
      completion_tokens: totals.completionTokens,
      cache_read_tokens: totals.cacheReadTokens,
      cache_write_tokens: totals.cacheWriteTokens,
      reasoning_tokens: totals.reasoningTokens,
      context_window: 0,
      per_turn_token: last.tokens,
      response_id: last.upstreamId ?? '',
    },
  };
}

/** A null says nothing; tags replace all tags. */
function updated(old: Conversation, sent: Query, nowMs: number): Conversation {
  const given = <T>(name: string, before: T): T => (sent[name] ?? before) as T;
  const title = given('title', old.title);
  const tags = given<Tags>('tags', old.tags);
  const isOwed = old.sandboxId !== '' && (title !== old.title || !isSameTags(tags, old.tags));
  return {
    ...old,
    title,
    tags,
    runtime: isOwed ? { ...old.runtime, isOwed } : old.runtime,
    facts: {
      ...old.facts,
      public: given('public', old.facts.public),
      selected_repository: given('selected_repository', old.facts.selected_repository),
      selected_branch: given('selected_branch', old.facts.selected_branch),
      git_provider: given('git_provider', old.facts.git_provider),
    },
    updatedMs: nowMs,
  };
}

function conversationFilter(userId: string, query: Query): Filter {
  return {
    kind: 'conversation',
    userId,
    ...textIn(query, 'title__contains', 'titleContains'),
    ...textIn(query, 'sandbox_id__eq', 'link'),
    ...instantIn(query, 'created_at__gte', 'createdFromMs'),
    ...instantIn(query, 'created_at__lt', 'createdBeforeMs'),
    ...instantIn(query, 'updated_at__gte', 'updatedFromMs'),
    ...instantIn(query, 'updated_at__lt', 'updatedBeforeMs'),
  };
}

function taskFilter(userId: string, query: Query): Filter {
  const conversation = query['conversation_id__eq'];
  return {
    kind: 'start_task',
    userId,
    ...(typeof conversation === 'string' ? { link: hexOf(conversation) ?? conversation } : {}),
    ...instantIn(query, 'created_at__gte', 'createdFromMs'),
  };
}

function textIn<K extends string>(query: Query, name: string, key: K): Partial<Record<K, string>> {
  const value = query[name];
  return typeof value === 'string' && value !== '' ? ({ [key]: value } as Record<K, string>) : {};
}

function instantIn<K extends string>(query: Query, name: string, key: K): Partial<Record<K, number>> {
  const value = query[name];
  if (typeof value !== 'string') return {};
  const ms = timeOf(value);
  if (ms === null) throw invalidValue(['query', name], 'the input is no date and time');
  return { [key]: ms } as Record<K, number>;
}

/** @throws Refusal 400 in the platform's words */
function uuids(ids: readonly string[]): readonly string[] {
  if (ids.length > MAX_IDS) throw refuse(400, `Too many ids requested. Maximum is ${MAX_IDS}.`);
  const wrong = ids.filter((id) => hexOf(id) === null);
  if (wrong.length > 0)
    throw refuse(400, `Invalid UUID format for ids: ${JSON.stringify(wrong.map((id) => id.slice(0, 64)))}`);
  return ids.map((id) => hexOf(id) as string);
}

function idIn(path: Readonly<Record<string, string>>): string {
  const id = hexOf(path['conversation_id'] ?? '');
  if (id !== null) return id;
  throw validationFailed([
    { loc: ['path', 'conversation_id'], msg: 'Input should be a valid UUID', type: 'uuid_parsing' },
  ]);
}
