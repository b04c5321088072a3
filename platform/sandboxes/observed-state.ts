// Derives a sandbox's state from what its driver and its runtime report.
import type { Secret } from '../../config/secret.ts';
import { sendRequest } from './http-request.ts';
import type { SandboxCondition, SandboxPlace } from './driver.ts';
import type { SandboxStatus } from './sandbox.ts';

const TIMEOUT_MS = 5_000;

/** The driver's condition -> the next state. */
const NEXT: Readonly<Record<SandboxCondition['state'], (from: SandboxStatus) => SandboxStatus>> = {
  running: (from) => (from === 'PAUSED' ? 'RUNNING' : from),
  paused: () => 'PAUSED',
  exited: () => 'ERROR',
  gone: () => 'MISSING',
};

/** The next state of a sandbox whose driver reports this condition. */
export const statusAfter = (condition: SandboxCondition['state'], from: SandboxStatus): SandboxStatus =>
  NEXT[condition](from);

/** Milliseconds without work according to the agent server; null when the runtime does not report them. */
export async function idleTime(place: SandboxPlace, key: Secret): Promise<number | null> {
  try {
    const headers = { 'x-session-api-key': key.reveal() };
    const { status, text } = await sendRequest({
      to: place.url,
      method: 'GET',
      path: '/server_info',
      headers,
      timeoutMs: TIMEOUT_MS,
    });
    const seconds: unknown = status === 200 ? (JSON.parse(text) as { idle_time?: unknown }).idle_time : null;
    return typeof seconds === 'number' ? seconds * 1000 : null;
  } catch {
    return null;
  }
}
