// How `throughline sandbox-check` speaks to its proxy and to the runtime in the sandbox: small JSON requests with a
// time limit, and waiting for something by asking again.
import { setTimeout as wait } from 'node:timers/promises';
import { parseJson } from '../bodies/json.ts';

const TIMEOUT_MS = 30_000;
const PROBE_MS = 2_000;
const POLL_MS = 100;

/** A response, parsed where it is JSON. */
export interface Received {
  readonly status: number;
  readonly json: unknown;
  readonly text: string;
}

interface Sent {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @throws Error when there is no response */
export async function call(url: string, sent: Sent = {}, timeoutMs = TIMEOUT_MS): Promise<Received> {
  const body = sent.body === undefined ? {} : { body: JSON.stringify(sent.body) };
  const response = await fetch(url, {
    method: sent.method ?? 'GET',
    headers: { ...sent.headers, ...(sent.body === undefined ? {} : { 'content-type': 'application/json' }) },
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'manual',
    ...body,
  });
  const text = await response.text();
  return { status: response.status, json: parseJson(text), text };
}

/** The status of a GET; null when nothing answers. */
export async function probe(url: string): Promise<number | null> {
  return call(url, {}, PROBE_MS).then(
    ({ status }) => status,
    () => null,
  );
}

/** Asks until there is an answer. @returns null after so long. @throws what `signal` was aborted with */
export async function until<T>(
  ask: () => Promise<T | null>,
  withinMs: number,
  signal: AbortSignal,
): Promise<T | null> {
  const endsAt = performance.now() + withinMs;
  for (;;) {
    signal.throwIfAborted();
    const answer = await ask();
    if (answer !== null) return answer;
    if (performance.now() >= endsAt) return null;
    await wait(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** A member of JSON, by a dotted path. */
export function memberOf(json: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) => (typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined),
      json,
    );
}

/** A text member; null when it is none. */
export function textOf(json: unknown, path: string): string | null {
  const value = memberOf(json, path);
  return typeof value === 'string' ? value : null;
}

/** Members of a list; [] when it is none. */
export function itemsOf(json: unknown): readonly unknown[] {
  return Array.isArray(json) ? json : [];
}
