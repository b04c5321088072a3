// What one worker needs of the others: changes that reach all, figures of the whole proxy. A single process is the whole
// by itself, so the API routes never need to know how many workers there are. proxy/cluster/ implements it for many.
import type { Issue } from '../../config/issue.ts';
import type { ConfigSource, RuntimeModel } from '../../config/load.ts';
import type { Brake, BrakeQuestion, BrakeReport } from '../access/brake/brake.ts';
import type { Counters, RecordedCall } from '../access/counters.ts';
import type { AccessObjects } from '../access/objects/access-objects.ts';
import type { SharedKeys } from '../access/shared-keys.ts';
import type { OpenedFiles } from '../items/sqlite-store.ts';
import type { BreakerPeers } from '../routing/breaker.ts';
import type { HealthRegistry } from '../routing/deployment-health.ts';
import type { Ledger, LedgerStatus } from '../spend/ledger.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { LabelWishes, NamedValues } from '../observability/label-names.ts';
import type { Figures } from '../observability/worker-figures.ts';
import type { ProcessReport } from './process-report.ts';

/** How the last change from the files ended; part of `/health/readiness`. */
export interface ReloadState {
  readonly result: 'applied' | 'unchanged' | 'refused';
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** The same: since when what serves is in force. Changes of runtime models count, reloads that change nothing do not. */
  readonly inForceMs: number;
  readonly issues: readonly Issue[];
  /** The files that were read, by path, with their identities at that moment. */
  readonly read: ReadonlyMap<string, string>;
}

/** Everything a configuration is made of: equal input gives every worker the same snapshot version. */
export interface SharedConfig {
  /** Of the snapshot it leads to. */
  readonly version: string;
  /** Of the same: how long running requests may go on after a stop signal. */
  readonly drainMs: number;
  readonly source: ConfigSource;
  readonly runtime: readonly RuntimeModel[];
  readonly state: ReloadState;
}

/** What decides whether a worker can serve and record. */
export interface WorkerStatus {
  readonly ledger: LedgerStatus;
  /** false: since its start it could not read the stored keys, teams and users. */
  readonly keysLoaded: boolean;
  /** null: servers share none. */
  readonly counters: SharedCounters | null;
}

/** The counters of budgets and limits that several servers share, as one worker sees them. */
export type SharedCounters = { readonly is: 'shared' } | { readonly is: 'away'; readonly why: string };

/** The status of each worker that replied. */
export interface WholeStatus {
  /** Configured number of workers. */
  readonly configured: number;
  readonly workers: readonly WorkerStatus[];
}

/** What each worker that replied sees of itself. */
export interface WholeReport {
  readonly reports: readonly ProcessReport[];
  /** Numbers of those that did not reply. */
  readonly silent: readonly number[];
}

export interface ClusterPeers {
  /** Runs a change while no other worker changes anything. */
  inTurn<T>(change: () => Promise<T>): Promise<T>;
  /** Resolves when every other worker serves this, or is gone. Call it inside `inTurn`. */
  spread(shared: SharedConfig): Promise<void>;
  status(): Promise<WholeStatus>;
  /** The text of `/metrics`. */
  scrape(): Promise<string>;
  /** @param own of this process */
  reports(own: () => ProcessReport): Promise<WholeReport>;
  /** What the runaway brake of each worker knows; those that do not respond are left out. */
  brake(question: BrakeQuestion): Promise<readonly BrakeReport[]>;
}

/** Cooldowns of deployments that all processes of a host know. */
export interface SharedHealth {
  /** The other processes, for the breaker of one deployment. */
  peersOf(id: string): BreakerPeers;
  /** What the others find changes this. @param mono monotonic ms. @param learned another one has found that it fails */
  follow(registry: HealthRegistry, mono: () => number, learned: (id: string) => void): void;
}

/** What a worker learns when it joins. */
export interface Welcome {
  /** Counting from 1; names the journal and the log lines. A worker that replaces another one gets its number. */
  readonly number: number;
  readonly count: number;
  /** null: no worker has read the files and the store yet. */
  readonly served: SharedConfig | null;
  /** Where the others listen for metrics and administration, as asked for; null = on the port of the proxy. */
  readonly adminWanted: { readonly host: string; readonly port: number } | null;
  /** Paths of files of shared items that a worker has opened since the supervisor started. */
  readonly opened: readonly string[];
}

/** What the supervisor may call in a worker. */
export interface WorkerDuties {
  readonly adopt: (shared: SharedConfig) => void;
  readonly status: () => WorkerStatus;
  readonly labels: () => LabelWishes;
  readonly figures: (named: NamedValues) => Promise<Figures>;
  readonly report: () => ProcessReport;
  readonly brake: (question: BrakeQuestion) => readonly BrakeReport[];
  readonly flush: () => Promise<void>;
  readonly records: (requestIds: readonly string[]) => Promise<readonly RecordedCall[]>;
}

/** This process as one of several workers. */
export interface WorkerRole extends ClusterPeers {
  readonly welcome: Welcome;
  /** From now on calls of the supervisor are served. */
  answer(duties: WorkerDuties): void;
  /** Budgets and limits of all workers. */
  readonly counters: Counters;
  /** Idempotency keys of all workers. */
  readonly keys: SharedKeys;
  /** Cooldowns of all workers. */
  readonly health: SharedHealth;
  /** Files of shared items, of all workers. */
  readonly opened: OpenedFiles;
  /** @throws Error when another worker cannot bring its rows into the store */
  flushOthers(): Promise<void>;
}

/** What a worker says of itself. */
export function workerStatus(
  { status }: Ledger,
  { isLoaded }: AccessObjects,
  { away }: Counters,
): WorkerStatus {
  return { ledger: status, keysLoaded: isLoaded, counters: sharedCounters(away) };
}

function sharedCounters(away: Counters['away']): SharedCounters | null {
  if (away === undefined) return null;
  return away === null ? { is: 'shared' } : { is: 'away', why: away };
}

/** Of all workers: one that counts alone is enough. */
export function countersOf(workers: readonly WorkerStatus[]): SharedCounters | null {
  const all = workers.flatMap(({ counters }) => (counters === null ? [] : [counters]));
  return all.find(({ is }) => is === 'away') ?? all[0] ?? null;
}

/** A single process. */
export function noPeers(
  ledger: Ledger,
  access: AccessObjects,
  counters: Counters,
  metrics: Metrics,
  brake: Brake,
): ClusterPeers {
  return {
    inTurn: (change) => change(),
    spread: () => Promise.resolve(),
    status: () => Promise.resolve({ configured: 1, workers: [workerStatus(ledger, access, counters)] }),
    scrape: () => metrics.scrape(),
    reports: (own) => Promise.resolve({ reports: [own()], silent: [] }),
    brake: (question) => Promise.resolve(brake.ask(question)),
  };
}
