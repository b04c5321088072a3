// What a sandbox runs on, behind one interface: a process group of this machine or a container. A driver starts, stops
// and looks; it keeps no state of its own that a restart would lose, and decides nothing.
import type { Secret } from '../../config/secret.ts';
import type { SandboxSpec } from '../../config/snapshot.ts';

/** What is to be started. */
export interface SandboxPlan {
  readonly id: string;
  readonly spec: SandboxSpec;
  /** Beside the spec's own; wins over it. */
  readonly env: readonly (readonly [name: string, value: Secret])[];
}

/** Where a started sandbox is; kept with its row. */
export interface SandboxPlace {
  /** The driver's own handle: a process id, a container id. */
  readonly handle: string;
  /** Base URL of its runtime, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Where its command runs, as the runtime sees it. */
  readonly workingDir: string;
}

export interface SandboxCondition {
  /** `exited`: it ended by itself; `gone`: nothing of it is there. */
  readonly state: 'running' | 'paused' | 'exited' | 'gone';
  /** For people; '' = nothing to say. */
  readonly detail: string;
}

/** Every call may reject with `SandboxFailure`. */
export interface SandboxDriver {
  start(plan: SandboxPlan): Promise<SandboxPlace>;
  inspect(id: string, place: SandboxPlace): Promise<SandboxCondition>;
  pause(id: string, place: SandboxPlace): Promise<void>;
  resume(id: string, place: SandboxPlace): Promise<void>;
  /** Ends all of it and removes its folder or container; nothing to remove is no error. */
  remove(id: string, place: SandboxPlace | null): Promise<void>;
  /** Removes what this server once started and no row knows. @returns their ids */
  removeOrphans(known: ReadonlySet<string>): Promise<readonly string[]>;
}

/** A driver could not do it. The message is for the owner of the sandbox; the cause goes to the log. */
export class SandboxFailure extends Error {
  override readonly name = 'SandboxFailure';
}

/** `{port}`, `{sandbox_dir}`, `{sandbox_id}` in a text of the configuration. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    /\{(port|sandbox_dir|sandbox_id)\}/g,
    (whole, name: string) => values[name] ?? whole,
  );
}
