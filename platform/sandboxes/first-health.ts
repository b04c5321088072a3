// Waits until a started sandbox passes its health check, exits, or times out. Changes nothing.
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../proxy/base/clock.ts';
import { healthOf } from './http-request.ts';
import { SandboxFailure, type SandboxCondition, type SandboxDriver, type SandboxPlace } from './driver.ts';

interface FirstHealthOptions {
  readonly id: string;
  readonly place: SandboxPlace;
  readonly healthPath: string;
  readonly driver: SandboxDriver;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** For one check. */
  readonly checkTimeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether the sandbox is still wanted. */
  readonly isWanted: () => boolean;
}

/** A look costs some milliseconds of CPU, most of it for the table of processes: the longer it takes, the fewer looks. */
const LEAST_POLL_MS = 50;
const MOST_POLL_MS = 1_000;
const PART_OF_WAIT = 10;

/** @returns null when nobody waits any more; `ended` and `late` say why, in the words of the driver, `late` may be '' */
export async function firstHealth(
  options: FirstHealthOptions,
): Promise<'healthy' | { readonly late: string } | { readonly ended: string } | null> {
  const { id, place, healthPath, driver, clock, timeoutMs, checkTimeoutMs, signal, isWanted } = options;
  const startedAt = clock.mono();
  while (!signal.aborted && isWanted()) {
    if ((await healthOf(place.url, healthPath, checkTimeoutMs)) === 'healthy') return 'healthy';
    const { state, detail } = await conditionOf(driver, id, place);
    if (state === 'exited' || state === 'gone') return { ended: detail };
    const waitedMs = clock.mono() - startedAt;
    if (waitedMs > timeoutMs) return { late: detail };
    const pollMs = Math.min(MOST_POLL_MS, Math.max(LEAST_POLL_MS, waitedMs / PART_OF_WAIT));
    await wait(pollMs, undefined, { signal }).catch(() => undefined);
  }
  return null;
}

/** A driver that cannot look just now, as during a restart of its API server, is asked again until the time is over. */
async function conditionOf(
  driver: SandboxDriver,
  id: string,
  place: SandboxPlace,
): Promise<SandboxCondition> {
  try {
    return await driver.inspect(id, place);
  } catch (error) {
    if (!(error instanceof SandboxFailure)) throw error;
    return { state: 'running', detail: error.message };
  }
}
