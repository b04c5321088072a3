// Which conversations are stopped, for the other processes and the next start: the last change of each, stopped or resumed. Holds
// rule names, counts and sizes, never text.
import type { BrakeRule } from '../../../config/brake-settings.ts';
import type { FastMinute } from './pace.ts';

/** A conversation with one key was stopped, or goes on. */
export interface StopChange {
  readonly conversation: string;
  /** Whose it is (`holderOf`). */
  readonly holder: string;
  /** Epoch milliseconds; the later one of two changes counts. */
  readonly atMs: number;
  /** null: it goes on. */
  readonly stopped: {
    readonly rule: BrakeRule;
    readonly count: number;
    /** Of the messages of the request that was stopped: a message of the user makes them more. */
    readonly bytes: number;
    /** When it was stopped; `atMs` is later where it is kept anew. Absent: then. */
    readonly sinceMs?: number;
    /** Of a rule of pace; absent: none. */
    readonly fast?: FastMinute | null;
    /** See `Stopped`; absent: no. */
    readonly isOfPrompt?: boolean;
  } | null;
  /** Of the messages so far of one that goes on: they are not counted again. */
  readonly bytes?: number;
}

/** Where changes are kept. */
export interface StopKeeper {
  /**
   * From now on what others have kept is told, and what they keep. Further calls change `idleMs` alone.
   * @param idleMs what is older is forgotten
   */
  open(idleMs: number): Promise<void>;
  /** Never throws, never waits. */
  keep(change: StopChange): void;
}
