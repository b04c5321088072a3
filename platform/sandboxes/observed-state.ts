// What is seen of a sandbox from outside, and what it says about its state.
import type { Secret } from '../../config/secret.ts';
import { sendRequest } from './http-request.ts';
import type { SandboxCondition, SandboxPlace } from './driver.ts';
import type { SandboxStatus } from './sandbox.ts';

const TIMEOUT_MS = 5_000;

/** What a driver sees -> the state that follows. */
const NEXT: Readonly<Record<SandboxCondition['state'], (from: SandboxStatus) => SandboxStatus>> = {
  running: (from) => (from === 'PAUSED' ? 'RUNNING' : from),
  paused: () => 'PAUSED',
  exited: () => 'ERROR',
  gone: () => 'MISSING',
};

/** The state that follows when a driver sees a sandbox so. */
export const statusAfter = (condition: SandboxCondition['state'], from: SandboxStatus): SandboxStatus =>
  NEXT[condition](from);

/** Milliseconds without work as an agent server tells them; null when the runtime does not tell. */
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
