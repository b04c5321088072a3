// The durable state behind one interface: spend rows, runtime models. Whoever speaks to it must not know which
// database stands behind; the embedded default is sqlite-store.ts. The request path never waits for it.
import type { SpendRecord } from '../record/record.ts';
import type { Position } from './segments.ts';

/** Which rows are wanted; absent = no condition. All conditions must hold. */
export interface SpendFilter {
  readonly requestId?: string;
  /** SHA-256 hex of the key. */
  readonly apiKeyHash?: string;
  /** With or without dashes, in any case. */
  readonly sessionId?: string;
  readonly endUser?: string;
  /** The key's user; keys have none yet, so anything but '' finds nothing. */
  readonly user?: string;
  /** The upstream's name. */
  readonly model?: string;
  /** What clients ask for. */
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
}

export interface SpendPage {
  readonly rows: readonly SpendRecord[];
  /** Rows that match, on all pages. */
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

/** Which entry made an upstream object. */
export interface MadeBy {
  readonly modelId: string | null;
  readonly modelGroup: string;
  /** The upstream's name of the model. */
  readonly model: string;
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
  /** Of the newest call: what the client asked for, all its tokens, the upstream's id. */
  readonly last: { readonly modelGroup: string; readonly tokens: number; readonly upstreamId: string | null };
}

/** Reads spend rows. Every call may reject with `StoreUnavailable`. */
export interface SpendReader {
  query(filter: SpendFilter, paging: SpendPaging): Promise<SpendPage>;
  /** One entry per day that has rows, oldest first. */
  summarize(filter: SpendFilter): Promise<readonly DaySpend[]>;
  /** In the order of the session ids (in any spelling); null for those without a call. */
  totals(sessionIds: readonly string[]): Promise<readonly (SessionTotals | null)[]>;
  /** Who made the upstream object with this id (newest row wins), or null. */
  findByUpstreamId(upstreamId: string): Promise<MadeBy | null>;
}

/** A runtime model as it came by `/model/new`; the store does not look into it. */
export interface StoredModel {
  readonly id: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** Runtime models; entries are encrypted at rest. Every call may reject with `StoreUnavailable`. */
export interface ModelStore {
  /** In the order in which they were first put. */
  listModels(): Promise<readonly StoredModel[]>;
  /** Adds or replaces; on the disk when the promise resolves. */
  putModel(id: string, entry: Readonly<Record<string, unknown>>): Promise<void>;
  /** Whether there was one; its removal is on the disk when the promise resolves. */
  deleteModel(id: string): Promise<boolean>;
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

export interface Store extends SpendReader, ModelStore {
  /**
   * Takes over everything the journal holds before `to`: rows and the new position in one transaction, so each
   * request id becomes exactly one row. Resolves when that is on the disk. One call at a time.
   */
  ship(to: Position): Promise<Shipped>;
  /** Idempotent; later calls reject. */
  close(): Promise<void>;
}

/** Something worth a line in the log. */
export interface StoreEvent {
  readonly level: 'info' | 'warn' | 'error';
  /** A stable word for machines. */
  readonly name: string;
  readonly message: string;
}

/** `unavailable` passes by itself or by mending the disk; the other two are for the operator's configuration. */
export type StoreTrouble = 'unavailable' | 'wrong_salt_key' | 'no_salt_key';

/** The store could not answer. The message says why and how to mend; it holds no secret. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  readonly trouble: StoreTrouble;

  constructor(trouble: StoreTrouble, message: string) {
    super(message);
    this.trouble = trouble;
  }
}
