// What became of a change to the runtime models.
import type { Issue } from '../../config/issue.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { Entry } from './runtime-entries.ts';

/** A runtime model before and after a change; null = there is none. */
export interface ModelStates {
  readonly id: string;
  readonly before: Entry | null;
  /** What was asked for, when the change was refused. */
  readonly after: Entry | null;
}

/** The result of a change to one runtime model. */
export type ModelChange = ModelStates &
  (
    | { readonly ok: true; readonly persisted: boolean }
    | { readonly ok: false; readonly reason: 'invalid'; readonly issues: readonly Issue[] }
    | { readonly ok: false; readonly reason: 'unknown' | 'in_config' }
  );

/** The configuration with an entry that nobody has saved. */
export type Preview =
  | { readonly ok: true; readonly id: string; readonly snapshot: Snapshot }
  | { readonly ok: false; readonly reason: 'invalid'; readonly issues: readonly Issue[] }
  | { readonly ok: false; readonly reason: 'in_config' };
