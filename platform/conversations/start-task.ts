// The task that starts a conversation, as a value and its row. A task that was under way when the server ended is told
// as failed: nobody works on it any more.
import { instant } from '../ids.ts';
import type { Item } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';

type StartStatus =
  'WORKING' | 'WAITING_FOR_SANDBOX' | 'PREPARING_REPOSITORY' | 'STARTING_CONVERSATION' | 'READY' | 'ERROR';

export interface StartTask {
  /** 32 hex digits. */
  readonly id: string;
  readonly userId: string;
  /** The server that works on it, see replicas.ts; '' = the only one. */
  readonly owner: string;
  readonly status: StartStatus;
  readonly detail: string | null;
  /** 32 hex digits. */
  readonly conversationId: string;
  readonly sandboxId: string | null;
  readonly agentServerUrl: string | null;
  /** As it was sent, without its secrets. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly revision: number;
}

type Body = Pick<StartTask, 'owner' | 'status' | 'detail' | 'sandboxId' | 'agentServerUrl'>;

/** The request is sealed: it holds the first message of a conversation. */
export function itemOf(task: StartTask, vault: Vault): Item {
  const { id, userId, owner, status, detail, sandboxId, agentServerUrl, createdMs, updatedMs } = task;
  const body: Body = { owner, status, detail, sandboxId, agentServerUrl };
  return {
    kind: 'start_task',
    id,
    userId,
    createdMs,
    updatedMs,
    title: null,
    link: task.conversationId,
    parent: null,
    body: JSON.stringify(body),
    sealed: vault.seal('start_task', id, { request: JSON.stringify(task.request) }),
    revision: task.revision,
  };
}

export function taskOf(item: Item, vault: Vault): StartTask {
  const { id, userId, createdMs, updatedMs, revision } = item;
  const request = JSON.parse(vault.open(item)['request'] ?? '{}') as StartTask['request'];
  const body: Body = { owner: '', ...(JSON.parse(item.body) as Omit<Body, 'owner'>) };
  return { id, userId, createdMs, updatedMs, revision, conversationId: item.link ?? '', ...body, request };
}

/** A start request as it may be kept and shown. */
export function withoutSecrets(request: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { secrets: _secrets, ...rest } = request;
  return rest;
}

/** @param underWay whether a server works on it */
export function taskInfo(task: StartTask, underWay: boolean): Record<string, unknown> {
  const over = task.status === 'READY' || task.status === 'ERROR';
  const lost = !over && !underWay;
  return {
    id: task.id,
    created_by_user_id: task.userId === '' ? null : task.userId,
    status: lost ? 'ERROR' : task.status,
    detail: lost ? 'the server ended while the conversation was being started' : task.detail,
    app_conversation_id: task.conversationId,
    sandbox_id: task.sandboxId,
    agent_server_url: task.agentServerUrl,
    request: task.request,
    created_at: instant(task.createdMs),
    updated_at: instant(task.updatedMs),
  };
}
