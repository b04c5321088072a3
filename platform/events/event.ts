// An event of a conversation as its agent server reports it: only its id, its kind and its time are read.
import { timeOf } from '../ids.ts';
import { isTree } from '../settings/secrets.ts';

/** An event to be kept. */
export interface NewEvent {
  readonly id: string;
  /** Its class, e.g. `MessageEvent`. */
  readonly kind: string;
  /** null = it does not say. Epoch milliseconds. */
  readonly statedMs: number | null;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A page in the platform's shape. */
export interface EventPage {
  readonly items: readonly unknown[];
  /** Id of the first event of the next page. */
  readonly next_page_id: string | null;
}

const ID = /^[\w.:-]{1,128}$/;
const KIND = /^\w{1,64}$/;

/** null = it has no id by which it could be found. */
export function newEventOf(value: unknown): NewEvent | null {
  if (!isTree(value)) return null;
  const { id, kind, timestamp } = value;
  if (typeof id !== 'string' || !ID.test(id)) return null;
  return {
    id,
    kind: typeof kind === 'string' && KIND.test(kind) ? kind : 'Event',
    statedMs: typeof timestamp === 'string' ? timeOf(timestamp) : null,
    value,
  };
}
