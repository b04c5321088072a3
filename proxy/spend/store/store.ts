// The durable state behind one interface: spend rows and runtime models. Callers do not know which database it is;
// backends.ts opens one. The request path never waits for it.
import type { SpendRecord } from '../record/record.ts';
import type { Position } from './segments.ts';

/** Which rows are wanted; absent = no condition. All conditions must hold. */
export interface SpendFilter {
  readonly requestId?: string;
  /** One of these. */
  readonly requestIds?: readonly string[];
  /** SHA-256 hex of the key. */
  readonly apiKeyHash?: string;
  /** With or without dashes, in any case. */
  readonly sessionId?: string;
  readonly endUser?: string;
  /** The key's user, not the body's; '' finds rows without one. */
  readonly user?: string;
  readonly team?: string;
  /** The upstream's name. */
  readonly model?: string;
  /** The model name that clients request. */
  readonly modelGroup?: string;
  readonly status?: 'success' | 'failure';
  /** Epoch milliseconds; `startMs <= row.startMs < endMs`. */
  readonly startMs?: number;
  readonly endMs?: number;
  /** Pico-dollars, both ends included; rows of unknown cost match neither. */
  readonly minSpendPico?: number;
  readonly maxSpendPico?: number;
  readonly tag?: string;
  readonly callType?: string;
}

/** Which part of the rows; pages count from 1. */
export interface SpendPaging {
  readonly page: number;
  readonly pageSize: number;
  readonly order: 'newest' | 'oldest';
  /** Rows that come after this one in the order, with page 1: as cheap after a million rows as at the beginning. */
  readonly after?: { readonly startMs: number; readonly requestId: string };
  /** false: no total is wanted. Counting reads every row that matches: of ten million it took 3 s of CPU. */
  readonly counts?: false;
}

/** Rows of a query, and how many there are in all. */
export interface SpendPage {
  readonly rows: readonly SpendRecord[];
  /** Rows that match, on all pages; those of this page when they are not counted. */
  readonly total: number;
}

/** Sums of one UTC day. Pico-dollars as bigint: a day may exceed 2^53 of them (9,007 USD). */
export interface DaySpend {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly requests: number;
  readonly spendPico: bigint;
  readonly byModel: Readonly<Record<string, bigint>>;
  readonly byEndUser: Readonly<Record<string, bigint>>;
  /** Keys are SHA-256 hex. */
  readonly byApiKey: Readonly<Record<string, bigint>>;
}

/** What activity can be grouped and filtered by, beside the day. `tag` and `session` exclude each other. */
export type Facet =
  'apiKeyHash' | 'team' | 'user' | 'endUser' | 'model' | 'modelGroup' | 'provider' | 'tag' | 'session';

/** Which activity is wanted; absent = no condition, a list = any of these, '' = without one. All must hold. */
export type ActivityFilter = {
  /** UTC days `YYYY-MM-DD`, both included. */
  readonly startDay?: string;
  readonly endDay?: string;
} & { readonly [F in Facet]?: readonly string[] };

/** Sums of one group of rows. */
export interface ActivitySums {
  readonly requests: number;
  /** Of `requests`, those whose status is failure. */
  readonly failures: number;
  /** Of `requests`, those of unknown cost. */
  readonly unpriced: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** As the upstream stated it, else prompt and completion together. */
  readonly totalTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  readonly spendPico: bigint;
}

/** The sums of one group. */
export interface Activity {
  /** The value of each facet that was grouped by; '' = without one. A row of two tags stands in both groups. */
  readonly group: Readonly<Partial<Record<Facet | 'day', string>>>;
  readonly sums: ActivitySums;
}

/** Which deployment made an upstream object, and for whom. */
export interface MadeBy {
  readonly modelId: string | null;
  readonly modelGroup: string;
  /** The upstream's name of the model. */
  readonly model: string;
  /** SHA-256 hex of the key that it was made with; '' when no key is configured. */
  readonly apiKeyHash: string;
  /** What it has read and written, which a response that continues it reads again; 0 = not known. */
  readonly tokens: number;
}

/** Sums over the calls of one session; failed calls count where they cost. */
export interface SessionTotals {
  readonly calls: number;
  /** Rows of unknown cost count as 0. */
  readonly spendPico: bigint;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  /** Of the newest call: the requested model, all its tokens, the upstream's id. */
  readonly last: { readonly modelGroup: string; readonly tokens: number; readonly upstreamId: string | null };
}

/** What spend can be summed by, since any moment. */
export type SpentColumn =
  | 'apiKeyHash'
  | 'team'
  | 'organization'
  | 'user'
  | 'endUser'
  | 'modelGroup'
  | 'provider'
  | 'tag'
  /** Of these no daily sums are kept: their rows are read. */
  | 'deployment'
  | 'profile'
  | 'session';

/** What was spent by rows that began at `sinceMs` or later. */
export interface SpentQuery {
  /** Empty: one sum of everything. */
  readonly by: readonly SpentColumn[];
  /** Values of the first column; null = all. */
  readonly ids: readonly string[] | null;
  /** Epoch milliseconds; 0 = since ever. */
  readonly sinceMs: number;
  /** Only rows that began before it: for short times, since rows are read. What retention removed is not in the sum. */
  readonly untilMs?: number;
  /** Also rows that were under way then (`wasUnderWay`). */
  readonly underWay?: true;
  /** Only rows of versions that did not record the organization. */
  readonly earlier?: true;
}

/** What one combination of values has spent. */
export interface SpentSum {
  /** Of each column; '' = without one. A row of two tags stands in both sums. */
  readonly values: readonly string[];
  /** Rows of unknown cost count as 0. */
  readonly pico: bigint;
}

/** Reads spend rows. Every call may reject with `StoreUnavailable`. */
export interface SpendReader {
  query(filter: SpendFilter, paging: SpendPaging): Promise<SpendPage>;
  /** One object per day that has rows, oldest first. */
  summarize(filter: SpendFilter): Promise<readonly DaySpend[]>;
  /**
   * Daily sums, kept beside the rows and equal to them: a year costs as little as a day. The dearest group first, at
   * most `limit` of them; an empty `groupBy` gives one group of everything.
   * @throws RangeError when both `tag` and `session` are given, because no sum is kept of the two together
   */
  activity(
    filter: ActivityFilter,
    groupBy: readonly (Facet | 'day')[],
    limit: number,
  ): Promise<readonly Activity[]>;
  /**
   * Sums over the rows that are there, in the order of the session ids (in any dialect, at most some thousands); null
   * for those without a row. Costs some microseconds a row of these sessions.
   */
  totals(sessionIds: readonly string[]): Promise<readonly (SessionTotals | null)[]>;
  /** Who made the response with this upstream id (newest row wins), or null. Other objects are not looked up. */
  findByUpstreamId(upstreamId: string): Promise<MadeBy | null>;
}

/** Rows that came into the store behind a place. */
export interface Arrived {
  /** In the order in which they came, some of them perhaps for the second time. */
  readonly rows: readonly SpendRecord[];
  /** The place behind them, to go on from; also after a restart and by another server of the same store. */
  readonly place: string;
  /** More came than were wanted, or the store does not know the place: `rows` is empty, and `place` is the end. */
  readonly missed: boolean;
}

/** Follows what comes into the store. A call of an hour comes behind those that began and ended meanwhile. */
export interface Arrivals {
  /**
   * Reads what is there, and waits for nothing.
   * @param place null = the end: nothing has come yet
   * @param most rows
   */
  arrived(filter: SpendFilter, place: string | null, most: number): Promise<Arrived>;
}

/** A runtime model as it came by `/model/new`; the store does not look into it. */
export interface StoredModel {
  readonly id: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** Runtime models, encrypted at rest. Every call may reject with `StoreUnavailable`. */
export interface ModelStore {
  /** In the order in which they were first put. */
  listModels(): Promise<readonly StoredModel[]>;
  /** Adds or replaces; on the disk when the promise resolves. */
  putModel(id: string, entry: Readonly<Record<string, unknown>>): Promise<void>;
  /** Whether there was one; its removal is on the disk when the promise resolves. */
  deleteModel(id: string): Promise<boolean>;
  /** Another text after each change of a stored model, by any server; null = no other server writes to this store. */
  modelsMark(): Promise<string | null>;
}

/** What one call of `ship` did. */
export interface Shipped {
  /** Up to where the journal has been taken over, durably. */
  readonly position: Position;
  /** Rows that were new to the store. */
  readonly rows: number;
  /** Damaged lines that were set aside. */
  readonly damaged: number;
}

/** What one call of `prune` did. */
export interface Pruned {
  /** Rows that were removed. */
  readonly rows: number;
  /** Whether none is left that should go. */
  readonly done: boolean;
}

/** What a store does for the ledger; every call may reject with `StoreUnavailable`. */
export interface Store extends SpendReader, ModelStore, Arrivals {
  /** For each query the groups that have rows. What retention removed still counts, but by deployment, profile and session. */
  spentSince(queries: readonly SpentQuery[]): Promise<readonly (readonly SpentSum[])[]>;
  /**
   * Takes over everything the journal holds before `to`: rows and the new position in one transaction, so each
   * request id becomes exactly one row. Resolves when that is on the disk. One call at a time.
   */
  ship(to: Position): Promise<Shipped>;
  /**
   * Removes rows of whole UTC months that ended before `beforeMs`, a bounded piece per call, so that nothing else
   * waits long. Daily sums stay, but those by session.
   */
  prune(beforeMs: number): Promise<Pruned>;
  /** Idempotent; later calls reject. */
  close(): Promise<void>;
}

const ERROR_CODES = ['unavailable', 'damaged', 'closed', 'wrong_salt_key', 'no_salt_key'] as const;

/** `unavailable` passes by itself or when the disk or server works again; `damaged` does not, of a file that is read from outside; `closed` is our own `close`; the others need a change of configuration. */
type StoreErrorCode = (typeof ERROR_CODES)[number];

export function isStoreErrorCode(code: string | null): code is StoreErrorCode {
  return ERROR_CODES.some((known) => known === code);
}

/** The store is unavailable. The message says why and what to do about it; it holds no secret. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
