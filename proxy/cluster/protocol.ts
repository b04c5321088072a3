// The calls between the supervisor and its workers. Sent as structured clones, so plain values, Maps and Sets are allowed;
// never a Secret, which would lose its type.
import type { BrakeQuestion, BrakeReport } from '../access/brake/brake.ts';
import type {
  ReserveResult,
  ReservingCall,
  CounterName,
  CounterState,
  RecordedCall,
} from '../access/counters.ts';
import type { CounterMessage } from '../access/host-counters.ts';
import type { KeyClaim, KeyedCall, KeyedEnding } from '../access/shared-keys.ts';
import type { CooldownNews } from '../routing/host-cooldowns.ts';
import type { LabelWishes, NamedValues } from '../observability/label-names.ts';
import type { Figures } from '../observability/worker-figures.ts';
import type { ProcessReport } from '../active-config/process-report.ts';
import type {
  SharedConfig,
  Welcome,
  WholeReport,
  WholeStatus,
  WorkerStatus,
} from '../active-config/cluster-peers.ts';

/** Calls by name: arguments and result of each. */
export type Calls = Readonly<Record<string, { readonly args: unknown; readonly value: unknown }>>;

/** A worker takes connections. */
export interface Serving {
  /** `http://host:port`, the same for all. */
  readonly url: string;
  /** A sentence: other machines get to that port as well; null = it is the address of `url` alone. */
  readonly onAllAddresses: string | null;
  /** Of the admin port; null = there is none. */
  readonly adminUrl: string | null;
  /** The address that the other workers are to listen on as well. */
  readonly adminWanted: Welcome['adminWanted'];
  readonly models: number;
  readonly shared: SharedConfig;
}

/** What a worker calls in the supervisor. */
export type OfSupervisor = {
  join: { readonly args: null; readonly value: Welcome };
  serving: { readonly args: Serving; readonly value: null };
  /** Resolves when no other worker changes anything; the turn ends with `endTurn`, or with the worker. */
  turn: { readonly args: null; readonly value: null };
  endTurn: { readonly args: null; readonly value: null };
  spread: { readonly args: SharedConfig; readonly value: null };
  status: { readonly args: null; readonly value: WholeStatus };
  scrape: { readonly args: null; readonly value: string };
  reports: { readonly args: null; readonly value: WholeReport };
  brake: { readonly args: BrakeQuestion; readonly value: readonly BrakeReport[] };
  /** All that the other workers have recorded until now is in the store. */
  flush: { readonly args: null; readonly value: null };
  /** `Counters` of all workers. */
  reserve: { readonly args: ReservingCall; readonly value: ReserveResult };
  seed: {
    readonly args: {
      readonly counter: CounterName;
      readonly pico: bigint;
      readonly counted: readonly string[];
    };
    readonly value: null;
  };
  count: { readonly args: readonly CounterMessage[]; readonly value: null };
  spent: { readonly args: CounterName; readonly value: CounterState | null };
  /** `SharedKeys` of all workers. */
  keyClaim: { readonly args: { readonly key: string; readonly call: KeyedCall }; readonly value: KeyClaim };
  /** A deployment cools down, or is well again: the other workers hear it. */
  cooldown: { readonly args: CooldownNews; readonly value: null };
  /** Whether this worker may try a deployment whose cooldown is over. */
  cooldownTrial: { readonly args: string; readonly value: boolean };
  /** A file of shared items was opened: no worker makes it from now on. */
  opened: { readonly args: string; readonly value: null };
  keyOver: { readonly args: string; readonly value: null };
  keyEnd: {
    readonly args: {
      readonly key: string;
      readonly ending: KeyedEnding | null;
      readonly windowMs: number;
    };
    readonly value: null;
  };
};

/** What the supervisor calls in a worker. */
export type OfWorker = {
  /** A worker that does not answer is stuck. */
  ping: { readonly args: null; readonly value: null };
  adopt: { readonly args: SharedConfig; readonly value: null };
  status: { readonly args: null; readonly value: WorkerStatus };
  brake: { readonly args: BrakeQuestion; readonly value: readonly BrakeReport[] };
  cooldown: { readonly args: CooldownNews; readonly value: null };
  /** Another worker has opened a file. */
  opened: { readonly args: string; readonly value: null };
  /** A scrape begins: which values of labels a worker asks names for. */
  labels: { readonly args: null; readonly value: LabelWishes };
  figures: { readonly args: NamedValues; readonly value: Figures };
  report: { readonly args: null; readonly value: ProcessReport };
  flush: { readonly args: null; readonly value: null };
  /** What the store says of these calls; those without a record are left out. */
  records: { readonly args: readonly string[]; readonly value: readonly RecordedCall[] };
  /** The first one drains, the second one has running requests end at once. */
  stop: { readonly args: null; readonly value: null };
  /** The same without the time for new connections. */
  interrupt: { readonly args: null; readonly value: null };
  /** Reads the files again. */
  reload: { readonly args: null; readonly value: null };
};
