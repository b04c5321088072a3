// Derives a sandbox's state from what its driver and its runtime report. Changes nothing.
import type { Secret } from '../../config/secret.ts';
import { instant } from '../ids.ts';
import { sendRequest, type Health } from './http-request.ts';
import type { SandboxCondition, SandboxPlace } from './driver.ts';
import type { Sandbox, SandboxState } from './sandbox.ts';

/** Bad health checks in a row before a living sandbox is shown as ERROR. */
const PATIENCE = 3;
/** The same for one that says nothing at all: on a busy machine a check takes longer than its time again and again. */
const SILENCE_MS = 300_000;

export type Observed = SandboxState & Pick<Sandbox, 'detail'>;

/** The next state of a sandbox whose driver reports this condition; null = as before. */
export function afterCondition(sandbox: Sandbox, { state, detail }: SandboxCondition): Observed | null {
  switch (state) {
    case 'running': // somebody continued it by hand
      return sandbox.status === 'PAUSED' ? { status: 'RUNNING', unhealthy: null, detail: null } : null;
    case 'paused':
      return sandbox.status === 'PAUSED' ? null : { status: 'PAUSED', unhealthy: null, detail: null };
    case 'exited':
      return { status: 'ERROR', unhealthy: null, detail };
    case 'gone':
      return { status: 'MISSING', unhealthy: null, detail };
  }
}

/** The next state of a sandbox whose process lives. Slow is not dead: it stays, is watched on, and may come back. */
export function afterHealth({ status, unhealthy, detail }: Sandbox, health: Health, nowMs: number): Observed {
  if (health === 'healthy') return { status: 'RUNNING', unhealthy: null, detail: null };
  const sinceMs = unhealthy?.sinceMs ?? nowMs;
  const failedChecks = Math.min((unhealthy?.failedChecks ?? 0) + (health === 'failing' ? 1 : 0), PATIENCE);
  const isLong = failedChecks >= PATIENCE || nowMs - sinceMs >= SILENCE_MS;
  const what = failedChecks > 0 ? 'does not pass its health check' : 'has not answered its health check';
  const next = status === 'ERROR' || isLong ? 'ERROR' : 'RUNNING';
  const text = `its runtime ${what} since ${instant(sinceMs)}; its process lives`;
  // What led to ERROR stays until it is over.
  const isSaid = status === 'ERROR' && unhealthy !== null;
  return { status: next, unhealthy: { sinceMs, failedChecks }, detail: isSaid ? detail : text };
}

/** Milliseconds without work according to the agent server. `unreported`: it has no such figure; `silent`: who knows. */
export async function idleTime(
  place: SandboxPlace,
  key: Secret,
  timeoutMs: number,
): Promise<number | 'unreported' | 'silent'> {
  try {
    const headers = { 'x-session-api-key': key.reveal() };
    const { status, text } = await sendRequest({
      to: place.url,
      method: 'GET',
      path: '/server_info',
      headers,
      timeoutMs,
    });
    const seconds: unknown = status === 200 ? (JSON.parse(text) as { idle_time?: unknown }).idle_time : null;
    return typeof seconds === 'number' ? seconds * 1000 : 'unreported';
  } catch (error) {
    return error instanceof SyntaxError ? 'unreported' : 'silent';
  }
}
