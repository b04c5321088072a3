// A conversation as a value, and its row. Its key and the headers of its profile are sealed; tags, title and the rest
// are plain, because searches and reports read them.
import { Secret } from '../../config/secret.ts';
import type { Item } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';

export type Tags = Readonly<Record<string, string>>;

/** What a start request says about a conversation and an answer repeats. */
interface ConversationFacts {
  readonly selected_repository: string | null;
  readonly selected_branch: string | null;
  readonly git_provider: string | null;
  readonly trigger: string | null;
  readonly pr_number: readonly number[];
  readonly public: boolean | null;
  readonly llm_model: string | null;
  readonly llm_profile: string | null;
  /** Rows of earlier versions have none. */
  readonly launched_agent_profile?: {
    readonly agent_profile_id: string;
    readonly revision: number;
  } | null;
}

/** Of its agent server: what that last said of it, and whether it has still to be told something. */
interface RuntimeState {
  /** A ConversationExecutionStatus; null = not known. */
  readonly executionStatus: string | null;
  /** By the clock of the agent server, epoch milliseconds: what it said before that is outdated. 0 = nothing yet. */
  readonly reportedMs: number;
  /** Title and tags were changed here and have not reached it. */
  readonly isOwed: boolean;
}

export const NOTHING_REPORTED: RuntimeState = { executionStatus: null, reportedMs: 0, isOwed: false };

/** Keys of conversations begin so. */
export const KEY_PREFIX = 'sk-conv-';

export interface Conversation {
  /** 32 hex digits. */
  readonly id: string;
  /** '' = the one user of a plain key. */
  readonly userId: string;
  readonly title: string | null;
  /** '' = it has none. */
  readonly sandboxId: string;
  /** 32 hex digits. */
  readonly parentId: string | null;
  readonly facts: ConversationFacts;
  readonly tags: Tags;
  readonly runtime: RuntimeState;
  /** Of its own: what its runtime calls the proxy with. */
  readonly key: Secret;
  /** Lower-case names: what each call brings along. */
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  /** USD, of the settings at its start; null = none. */
  readonly maxBudget: number | null;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly revision: number;
}

interface Body {
  readonly facts: ConversationFacts;
  readonly tags: Tags;
  /** Rows of the first version have none. */
  readonly runtime?: RuntimeState;
  /** SHA-256 hex of the key: what calls are recognised by, without opening the seal. */
  readonly keyHash: string;
  readonly hasHeaders: boolean;
  /** Rows of older versions have none. */
  readonly maxBudget?: number | null;
}

export function itemOf(conversation: Conversation, vault: Vault): Item {
  const { id, userId, title, sandboxId, parentId, facts, tags, runtime } = conversation;
  const { createdMs, updatedMs, revision } = conversation;
  const headers = conversation.headers.map(([name, value]) => [name, value.reveal()]);
  const keyHash = conversation.key.sha256();
  const { maxBudget } = conversation;
  const body: Body = { facts, tags, runtime, keyHash, hasHeaders: headers.length > 0, maxBudget };
  return {
    kind: 'conversation',
    id,
    userId,
    createdMs,
    updatedMs,
    title,
    link: sandboxId === '' ? null : sandboxId,
    parent: parentId,
    body: JSON.stringify(body),
    sealed: vault.seal('conversation', id, {
      key: conversation.key.reveal(),
      ...(headers.length === 0 ? {} : { headers: JSON.stringify(headers) }),
    }),
    revision,
  };
}

/** What is known of a conversation without opening its seal. */
export function outlineOf(item: Pick<Item, 'body'>): Pick<Body, 'tags' | 'keyHash' | 'hasHeaders'> {
  return JSON.parse(item.body) as Body;
}

/** The headers alone. @throws PlatformStoreUnavailable when the seal is damaged */
export function headersOf(item: Pick<Item, 'kind' | 'id' | 'sealed'>, vault: Vault): Conversation['headers'] {
  return headersIn(vault.open(item));
}

function headersIn(secrets: Readonly<Record<string, string>>): Conversation['headers'] {
  const texts = JSON.parse(secrets['headers'] ?? '[]') as readonly (readonly [string, string])[];
  return texts.map(([name, value]) => [name, new Secret(value)]);
}

export function conversationOf(item: Item, vault: Vault): Conversation {
  const { facts, tags, runtime = NOTHING_REPORTED, maxBudget = null } = JSON.parse(item.body) as Body;
  const secrets = vault.open(item);
  return {
    id: item.id,
    userId: item.userId,
    title: item.title,
    sandboxId: item.link ?? '',
    parentId: item.parent,
    facts,
    tags,
    runtime,
    key: new Secret(secrets['key'] ?? ''),
    headers: headersIn(secrets),
    maxBudget,
    createdMs: item.createdMs,
    updatedMs: item.updatedMs,
    revision: item.revision,
  };
}
