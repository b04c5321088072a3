// What agent servers say of their conversations (ConversationInfo), by webhook or when they are asked, and what follows
// here: the execution status, and title and tags that were changed there.
import { hexOf, timeOf } from '../ids.ts';
import type { Conversation, Tags } from '../conversations/conversation.ts';

export interface RuntimeReport {
  /** 32 hex digits. */
  readonly id: string;
  /** null = it says none, or one that is not known here. */
  readonly executionStatus: string | null;
  readonly title: string | null;
  readonly tags: Tags | null;
  /** Epoch milliseconds by the clock of the agent server; null = it does not say. */
  readonly updatedMs: number | null;
}

/** ConversationExecutionStatus. */
const STATUSES: ReadonlySet<unknown> = new Set([
  'idle',
  'running',
  'paused',
  'waiting_for_confirmation',
  'finished',
  'error',
  'stuck',
  'deleting',
]);
const TAG_NAME = /^[a-z0-9]{1,64}$/;
const MAX_TAG = 256;
const MAX_TAGS = 50;
const MAX_TITLE = 200;

/** null = it is none. */
export function reportOf(info: unknown): RuntimeReport | null {
  if (typeof info !== 'object' || info === null) return null;
  const { id, title, tags, updated_at: updated, ...rest } = info as Readonly<Record<string, unknown>>;
  const hex = typeof id === 'string' ? hexOf(id) : null;
  if (hex === null) return null;
  const status = rest['execution_status'];
  return {
    id: hex,
    executionStatus: isStatus(status) ? status : null,
    title:
      typeof title === 'string' && title !== '' && !title.includes('\0') ? title.slice(0, MAX_TITLE) : null,
    tags: tagsOf(tags),
    updatedMs: typeof updated === 'string' ? timeOf(updated) : null,
  };
}

/** The execution status that the last of these events tells; null = none tells one. */
export function statusIn(events: readonly unknown[]): string | null {
  const told = events.map(statusOfEvent);
  return told.findLast((status) => status !== null) ?? null;
}

/** Such an event tells one member of the state, or all of them. */
function statusOfEvent(event: unknown): string | null {
  if (typeof event !== 'object' || event === null) return null;
  const { kind, key, value } = event as Readonly<Record<string, unknown>>;
  if (kind !== 'ConversationStateUpdateEvent') return null;
  if (key === 'execution_status') return isStatus(value) ? value : null;
  if (key !== 'full_state' || typeof value !== 'object' || value === null) return null;
  const { execution_status: status } = value as Readonly<Record<string, unknown>>;
  return isStatus(status) ? status : null;
}

const isStatus = (value: unknown): value is string => STATUSES.has(value);

/** The conversation after a report; the very same one when it says nothing new. */
export function afterReport(old: Conversation, report: RuntimeReport, nowMs: number): Conversation {
  const { runtime } = old;
  const updatedMs = report.updatedMs ?? runtime.reportedMs;
  if (updatedMs < runtime.reportedMs) return old; // sent again, or overtaken by a later one
  const executionStatus = report.executionStatus ?? runtime.executionStatus;
  // What was changed here and is not there yet wins over what is there.
  const title = runtime.isOwed ? old.title : (report.title ?? old.title);
  const tags = runtime.isOwed ? old.tags : (report.tags ?? old.tags);
  const isChanged = title !== old.title || !isSameTags(tags, old.tags);
  if (!isChanged && executionStatus === runtime.executionStatus) return old;
  return {
    ...old,
    title,
    tags,
    runtime: { ...runtime, executionStatus, reportedMs: updatedMs },
    updatedMs: isChanged ? nowMs : old.updatedMs,
  };
}

export function isSameTags(a: Tags, b: Tags): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

function tagsOf(value: unknown): Tags | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const tags = Object.entries(value);
  const fits = ([name, text]: readonly [string, unknown]): boolean =>
    TAG_NAME.test(name) && typeof text === 'string' && text.length <= MAX_TAG;
  return tags.length <= MAX_TAGS && tags.every(fits) ? Object.fromEntries(tags) : null;
}
