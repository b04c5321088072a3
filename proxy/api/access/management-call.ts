// One call of the management API: its caller, the objects as they are, and how a change is stored.
import { setTimeout as wait } from 'node:timers/promises';
import { isOfCalendar } from '../../access/budgets/caps.ts';
import { parseDuration, windowAt, type Calendar } from '../../access/durations.ts';
import { ObjectConflict, type AccessObjects } from '../../access/objects/access-objects.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { AccessObject, ObjectChange, ObjectRevision } from '../../access/objects/objects.ts';
import { referencesTaken } from '../../access/objects/references.ts';
import { NameTaken } from '../../access/objects/unique-names.ts';
import type { AuthenticatedCaller } from '../../access/caller.ts';
import type { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { Refusal } from './refusals.ts';
import type { RowContext } from './rows.ts';

/** Who calls, and what a call works on. */
export interface Call {
  readonly x: Exchange;
  /** As it was let in, and from the first change on as `store` has found it last. */
  readonly caller: AuthenticatedCaller;
  /** Makes `caller` who it is now: since it was let in it may have been removed, or may do less. @throws Fault when it is let in no more */
  readonly lookUpCaller: () => void;
  /** Decoded name in the path; '' = none. */
  readonly param: string;
  readonly query: URLSearchParams;
  /** For calls that change something: what it is about, for the audit. */
  readonly concerns: (change: ConcernedObject) => void;
  /** Names that are free for one call at a time: aliases, e-mail addresses. */
  readonly exclusive: KeyedQueue;
}

/** An object before and after a change; null = there is none. */
export interface ConcernedObject {
  readonly kind: AccessObject['kind'];
  readonly id: string;
  readonly before: AccessObject | null;
  readonly after: AccessObject | null;
}

/** Answers with what is the JSON of a 200, or with its text. */
export type CallHandler = (call: Call) => unknown;

const accessOf = ({ x }: Call): AccessObjects => x.active.services.access;
export const directoryOf = (call: Call): AccessDirectory => accessOf(call).directory;
/** Resolves when what any process has stored is in the directory. */
export const synced = (call: Call): Promise<void> => accessOf(call).sync();
/** One time for all that a call writes. */
export const nowOf = ({ x }: Call): number => x.startMs;

/** The user or key that changes something; null = the master key. */
function actorOf({ caller }: Call): string | null {
  if (caller.role !== 'key') return null;
  return caller.key.userId ?? caller.key.id;
}

/** Who changes something, and when. */
export interface Author {
  readonly by: string | null;
  readonly nowMs: number;
}

export const authorOf = (call: Call): Author => ({ by: actorOf(call), nowMs: nowOf(call) });

/** What every new object has. */
export const newObject = ({ by, nowMs }: Author) =>
  ({
    origin: 'store',
    revision: 0,
    createdMs: nowMs,
    updatedMs: nowMs,
    createdBy: by,
    updatedBy: by,
    metadata: {},
    kept: {},
  }) as const;

/** What every change of an object sets. */
export const touched = ({ by, nowMs }: Author): Pick<AccessObject, 'updatedMs' | 'updatedBy'> => ({
  updatedMs: nowMs,
  updatedBy: by,
});

export const put = (object: AccessObject): ObjectChange => ({ put: object });
export const remove = ({ kind, id, revision }: AccessObject): ObjectChange => ({
  remove: { kind, id, revision },
});

/** Tells the audit of everything that a change stores and removes. @return the changes */
export function audited(
  call: Call,
  directory: AccessDirectory,
  changes: readonly ObjectChange[],
): readonly ObjectChange[] {
  for (const change of changes) {
    const { kind, id } = 'put' in change ? change.put : change.remove;
    const after = 'put' in change ? change.put : null;
    call.concerns({ kind, id, before: directory.get({ kind, id }), after });
  }
  return changes;
}

/** What a change stores, and what becomes of it. */
export interface Prepared<T> {
  readonly changes: readonly ObjectChange[];
  readonly result: T;
}

/** Others may be as fast for this many times in a row: so many calls may change one team at the same moment. */
const MOST_ATTEMPTS = 100;
const MOST_NAME_ATTEMPTS = 3;
/** What another server has changed is known here within a second. */
const NEWS_WITHIN_MS = 3_000;
const LOOK_EVERY_MS = 5;

/**
 * Stores what `prepare` makes of the objects as they are; all of it or nothing. It is asked again when one of them was changed
 * meanwhile, or what one of them refers to from now on, and must look them up each time. The caller is looked up each time, too.
 * @throws Refusal object_conflict, Fault store_unavailable, object_in_config, those of `lookUpCaller`
 */
export const store = <T>(call: Call, prepare: (directory: AccessDirectory) => Prepared<T>): Promise<T> =>
  storeRest(call, (directory) => {
    call.lookUpCaller();
    return prepare(directory);
  });

/** The same for the rest of a change that is stored in part: its caller, who was allowed all of it, may be gone with that part. */
export async function storeRest<T>(
  call: Call,
  prepare: (directory: AccessDirectory) => Prepared<T>,
): Promise<T> {
  const access = accessOf(call);
  for (let attempt = 1; ; attempt += 1) {
    const { changes, result } = prepare(access.directory);
    if (changes.length === 0) return result;
    const unchanged = takenBy(changes, access.directory);
    try {
      await access.change(changes, unchanged);
      return result;
    } catch (error) {
      // Another process has it: once it is known here, `prepare` refuses in its own words.
      if (error instanceof NameTaken && attempt < MOST_NAME_ATTEMPTS) {
        await access.sync();
        continue;
      }
      if (error instanceof NameTaken)
        throw new Refusal('object_taken', `The name is taken: ${error.message}.`);
      if (!(error instanceof ObjectConflict)) throw error;
      if (attempt === MOST_ATTEMPTS || !(await hasNews(access.directory, changes, unchanged)))
        throw new Refusal(
          'object_conflict',
          'The object was changed by others at the same time; send it again.',
        );
    }
  }
}

/** What changes count on: it must be as it is when they are stored. What is not there yet, or stands in the file, is not among it. */
const takenBy = (changes: readonly ObjectChange[], directory: AccessDirectory): readonly ObjectRevision[] =>
  changes
    .flatMap((change) => ('put' in change ? referencesTaken(directory.stored(change.put), change.put) : []))
    .flatMap((name) => directory.stored(name) ?? []);

/** Whether the directory hears of what somebody else has stored: before that, another attempt would meet the same conflict. */
async function hasNews(
  directory: AccessDirectory,
  changes: readonly ObjectChange[],
  unchanged: readonly ObjectRevision[],
): Promise<boolean> {
  const changed = changes.map((change) => ('put' in change ? change.put : change.remove));
  const named = [...changed, ...unchanged];
  const isNew = (): boolean => named.some((one) => (directory.stored(one)?.revision ?? 0) !== one.revision);
  for (let waitedMs = 0; waitedMs < NEWS_WITHIN_MS; waitedMs += LOOK_EVERY_MS) {
    if (isNew()) return true;
    await wait(LOOK_EVERY_MS);
  }
  return false;
}

/** What rows are made with. */
export function rowContextOf(call: Call): RowContext {
  const { snapshot } = call.x.active;
  const directory = directoryOf(call);
  return {
    brand: snapshot.dialect.brand,
    resetMs: resetsAt(nowOf(call), snapshot.budgets),
    budget: (id) => directory.budget(id),
    organizationsOf: (userId) => directory.organizationsOf(userId),
  };
}

/** Of the durations of the calendar once for all rows of a call: calendars cost some 100 us each. */
function resetsAt(nowMs: number, calendar: Calendar): RowContext['resetMs'] {
  const known = new Map<string, number>();
  return ({ budgetDuration, budgetSetMs }) => {
    const duration = budgetDuration === null ? null : parseDuration(budgetDuration);
    if (budgetDuration === null || duration === null) return null;
    const before = known.get(budgetDuration);
    if (before !== undefined) return before;
    const { endMs } = windowAt(duration, budgetSetMs, nowMs, calendar);
    if (isOfCalendar(duration)) known.set(budgetDuration, endMs);
    return endMs;
  };
}
