// What those who act on the sandboxes of this server share.
import type { KeyedQueue } from '../../proxy/base/keyed-queue.ts';
import type { Clock } from '../../proxy/base/clock.ts';
import type { Log } from '../../proxy/server/mount.ts';
import type { SandboxDriver } from './driver.ts';
import type { KnownSandboxes } from './known-sandboxes.ts';
import type { SandboxRows } from './rows.ts';
import type { Sandbox } from './sandbox.ts';

export interface SandboxParts {
  readonly known: KnownSandboxes;
  readonly rows: Pick<SandboxRows, 'write'>;
  /** By sandbox id. */
  readonly queue: KeyedQueue;
  readonly driver: SandboxDriver;
  readonly clock: Clock;
  readonly log: Log;
  readonly healthPath: (sandbox: Sandbox) => string;
  /** For one question to a runtime. */
  readonly checkTimeoutMs: number;
}
