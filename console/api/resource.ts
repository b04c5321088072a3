// What pages read: a cache of answers by path, with age, ETag, abort and polling. A page that comes back sees the last
// answer at once; a failed refresh keeps the data and says how old it is; nothing is asked while nobody looks.
import { messageOf } from '../base/message.ts';
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError, call } from './client.ts';

export type Loaded<T> =
  | { readonly is: 'loading'; readonly sinceMs: number }
  | { readonly is: 'failed'; readonly error: ApiError }
  | {
      readonly is: 'ready';
      readonly data: T;
      /** When the server last said so. */
      readonly atMs: number;
      readonly isRefreshing: boolean;
      /** Why the last refresh failed; the data is that of `atMs`. */
      readonly error: ApiError | null;
    };

export interface ResourceOptions {
  /** Ask again this often while the page is seen, and `HIDDEN_MS` while it is not. Default: never. */
  readonly everyMs?: number;
  /** Sent with each request; another set of them is another resource. */
  readonly headers?: Readonly<Record<string, string>>;
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

const HIDDEN_MS = 30_000;
/** Nobody has looked for so long: stop asking. */
const ABANDONED_MS = 600_000;
const MOST_KEPT = 60;

/** One path of the API, shared by all that show it. */
export class Resource<T> {
  readonly path: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #state: Signal<Loaded<T>> = signal({ is: 'loading', sinceMs: Date.now() });
  #etag: string | null = null;
  #abort: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  readonly #readers = new Map<symbol, number | null>();

  constructor(path: string, headers = NO_HEADERS) {
    this.path = path;
    this.#headers = headers;
  }

  get state(): ReadonlySignal<Loaded<T>> {
    return this.#state;
  }

  get hasReaders(): boolean {
    return this.#readers.size > 0;
  }

  /** @returns ends the reading: with the last reader a running request is given up */
  read({ everyMs }: ResourceOptions): () => void {
    const reader = Symbol(this.path);
    this.#readers.set(reader, everyMs ?? null);
    if (this.#isAsking) this.#schedule();
    else void this.#ask();
    return () => {
      this.#readers.delete(reader);
      if (this.hasReaders) return;
      this.#abort?.abort();
      this.#abort = null;
      this.#stop();
    };
  }

  /** Asks now, because somebody wants to know. */
  refresh(): Promise<void> {
    if (this.#state.peek().is === 'failed') this.#state.value = { is: 'loading', sinceMs: Date.now() };
    return this.#ask();
  }

  async #ask(): Promise<void> {
    this.#stop();
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    const before = this.#state.peek();
    if (before.is === 'ready') this.#state.value = { ...before, isRefreshing: true };
    if (before.is === 'loading') this.#state.value = { is: 'loading', sinceMs: Date.now() };
    try {
      const etag = before.is === 'ready' ? this.#etag : null;
      const answer = await call<T>('GET', this.path, {
        signal: abort.signal,
        etag,
        headers: this.#headers,
      });
      if (abort.signal.aborted) return;
      this.#etag = answer.etag;
      this.#took(answer.data);
    } catch (thrown) {
      if (abort.signal.aborted) return;
      this.#failed(thrown instanceof ApiError ? thrown : new ApiError(messageOf(thrown), 0));
    }
    this.#abort = null;
    this.#schedule();
  }

  get #isAsking(): boolean {
    return this.#abort !== null && !this.#abort.signal.aborted;
  }

  /** Gives a slow request up; what was there before stays. */
  cancel(): void {
    this.#abort?.abort();
    this.#failed(new ApiError('Cancelled.', 0, { code: 'cancelled' }));
  }

  /** Shows what a change will lead to before the server says it. */
  set(data: T): void {
    this.#etag = null;
    this.#took(data);
  }

  /** Whether the page is seen has changed. */
  attention(isSeen: boolean): void {
    if (!this.hasReaders) return;
    if (isSeen && this.#everyMs() !== null) void this.#ask();
    else this.#schedule();
  }

  #took(data: T | null): void {
    const state = this.#state.peek();
    const kept = state.is === 'ready' ? state.data : null;
    const next = data ?? kept;
    if (next === null) this.#state.value = { is: 'failed', error: new ApiError('The answer is empty.', 0) };
    else this.#state.value = { is: 'ready', data: next, atMs: Date.now(), isRefreshing: false, error: null };
  }

  #failed(error: ApiError): void {
    const state = this.#state.peek();
    // What may no longer be seen does not stay on the screen. Whose session has ended signs in above the page, which covers it.
    const isKept = state.is === 'ready' && error.status !== 403;
    this.#state.value = isKept ? { ...state, isRefreshing: false, error } : { is: 'failed', error };
  }

  /** The answer will be the same until somebody else signs in. */
  get #isDenied(): boolean {
    const state = this.#state.peek();
    const error = state.is === 'loading' ? null : state.error;
    return error !== null && (error.status === 401 || error.status === 403);
  }

  #everyMs(): number | null {
    const all = [...this.#readers.values()].filter((one) => one !== null);
    return all.length === 0 ? null : Math.min(...all);
  }

  #schedule(): void {
    this.#stop();
    const everyMs = this.#everyMs();
    if (everyMs === null || this.#isDenied) return;
    const isSeen = document.visibilityState === 'visible';
    if (!isSeen && Date.now() - lastSeenMs > ABANDONED_MS) return;
    this.#timer = setTimeout(() => void this.#ask(), isSeen ? everyMs : Math.max(everyMs, HIDDEN_MS));
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

const resources = new Map<string, Resource<unknown>>();
let lastSeenMs = Date.now();

document.addEventListener('visibilitychange', () => {
  const isSeen = document.visibilityState === 'visible';
  lastSeenMs = Date.now();
  for (const one of resources.values()) one.attention(isSeen);
});

/** The one resource of a path. */
export function resourceOf<T>(path: string, headers = NO_HEADERS): Resource<T> {
  const key = keyOf(path, headers);
  const found = resources.get(key);
  if (found !== undefined) {
    resources.delete(key); // the latest last
    resources.set(key, found);
    return found as Resource<T>;
  }
  const made = new Resource<T>(path, headers);
  resources.set(key, made);
  for (const [old, one] of resources) {
    if (resources.size <= MOST_KEPT) break;
    if (!one.hasReaders) resources.delete(old);
  }
  return made;
}

const keyOf = (path: string, headers: Readonly<Record<string, string>>): string =>
  headers === NO_HEADERS ? path : `${path} ${JSON.stringify(headers)}`;

/** Everything that was read is of somebody who is gone. */
export function forgetAll(): void {
  resources.clear();
}

/**
 * Asks again for all that is shown and whose path starts so: after a change. A form closes when the answers are there:
 * opened again at once it would show, and save, what was there before.
 */
export async function refreshAll(...prefixes: readonly string[]): Promise<void> {
  const shown = [...resources.values()].filter(
    ({ path, hasReaders }) => hasReaders && prefixes.some((prefix) => path.startsWith(prefix)),
  );
  await Promise.all(shown.map((one) => one.refresh()));
}

/** Reads a path while the component is shown. */
export function useResource<T>(path: string, options: ResourceOptions = {}): Resource<T> {
  const { everyMs, headers = NO_HEADERS } = options;
  const resource = useMemo(() => resourceOf<T>(path, headers), [keyOf(path, headers)]);
  useEffect(() => resource.read(everyMs === undefined ? {} : { everyMs }), [resource, everyMs]);
  return resource;
}
