// One request to the admin API: the session's cookie goes along by itself, answers are JSON, errors have one type.
import { signal } from '@preact/signals';
import { apiUrl } from '../base/urls.ts';

let expired: () => void = () => undefined;

/** Told when the server no longer knows the session. */
export function whenExpired(act: () => void): void {
  expired = act;
}

/** How often an ended session was taken up again: what was refused in between is asked for anew. */
export const takenUp = signal(0);

/** Whose fault an error is, in the words of the page. `network`: nothing came back. */
export type Side = 'network' | 'caller' | 'proxy';

interface ErrorDetails {
  readonly code?: string | null;
  readonly requestId?: string | null;
  readonly retryAfterS?: number | null;
  readonly cause?: unknown;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0 = there was no answer. */
  readonly status: number;
  readonly code: string | null;
  readonly requestId: string | null;
  /** When it says that it was asked too often. */
  readonly retryAfterS: number | null;

  constructor(message: string, status: number, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.status = status;
    this.code = details.code ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterS = details.retryAfterS ?? null;
  }

  get side(): Side {
    if (this.status === 0) return 'network';
    return this.status < 500 ? 'caller' : 'proxy';
  }
}

export interface CallOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Answer with null when the server still has this one. */
  readonly etag?: string | null;
  /** A 401 is the caller's business (the login form), and no end of the session. */
  readonly isLogin?: boolean;
  /** Further ones, in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer<T> {
  /** null: unchanged since `etag`, or no content. */
  readonly data: T | null;
  readonly etag: string | null;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** @throws ApiError, or an AbortError when `signal` fired */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<Answer<T>> {
  const { body, signal, etag = null } = options;
  const response = await send(method, path, {
    headers: {
      ...options.headers,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(etag === null ? {} : { 'if-none-match': etag }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const tag = response.headers.get('etag');
  if (response.status === 304) return { data: null, etag };
  if (!response.ok) throw await failure(response, options.isLogin === true);
  if (response.status === 204) return { data: null, etag: tag };
  try {
    return { data: (await response.json()) as T, etag: tag };
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    throw new ApiError('The answer is not JSON; something between this page and the proxy wrote it.', 0, {
      cause,
    });
  }
}

/** The data of a call that always has some. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const { data } = await call<T>('GET', path, signal === undefined ? {} : { signal });
  if (data === null) throw new ApiError('The answer is empty.', 0);
  return data;
}

/** A change. @returns what the API answered, `{}` for nothing */
export async function change<T = Record<string, unknown>>(
  method: Exclude<Method, 'GET'>,
  path: string,
  body?: unknown,
): Promise<T> {
  const { data } = await call<T>(method, path, { body: body ?? {} });
  return data ?? ({} as T);
}

/** The response itself, for streams and downloads. @throws ApiError */
export async function open(method: Method, path: string, options: CallOptions = {}): Promise<Response> {
  const { body, signal } = options;
  const response = await send(method, path, {
    headers: { ...options.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (!response.ok) throw await failure(response, false);
  return response;
}

async function send(method: Method, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(apiUrl(path), { ...init, method, credentials: 'same-origin', cache: 'no-store' });
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause;
    throw new ApiError('The proxy cannot be reached from this browser.', 0, { cause });
  }
}

interface ErrorBody {
  readonly error?:
    { readonly message?: unknown; readonly code?: unknown; readonly type?: unknown } | string | undefined;
  readonly detail?: unknown;
}

/** Management routes name the members that are wrong, or say it in `detail.error`. */
function sentenceOf(detail: unknown): ErrorBody['error'] {
  if (Array.isArray(detail)) {
    const issues = detail as readonly { readonly loc?: readonly unknown[]; readonly msg?: unknown }[];
    return issues.map(({ loc = [], msg }) => `${loc.slice(1).join('.')}: ${String(msg)}`).join('; ');
  }
  if (typeof detail !== 'object' || detail === null) return typeof detail === 'string' ? detail : undefined;
  const { error } = detail as { readonly error?: unknown };
  return typeof error === 'string' ? error : detail;
}

async function failure(response: Response, isLogin: boolean): Promise<ApiError> {
  if (response.status === 401 && !isLogin) expired();
  const body = (await response.json().catch(() => ({}))) as ErrorBody | null;
  const error = body?.error ?? sentenceOf(body?.detail);
  const requestId = response.headers.get('x-litellm-call-id') ?? response.headers.get('x-request-id');
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterS = Number.isFinite(retryAfter) ? retryAfter : null;
  if (typeof error === 'string') return new ApiError(error, response.status, { requestId, retryAfterS });
  if (Array.isArray(error))
    return new ApiError(invalidMembers(error), response.status, { requestId, retryAfterS });
  const { message, code, type } = (error ?? {}) as { message?: unknown; code?: unknown; type?: unknown };
  const named = typeof code === 'string' && !/^\d+$/.test(code) ? code : type;
  return new ApiError(
    typeof message === 'string' && message !== '' ? message : `HTTP ${response.status}`,
    response.status,
    { code: typeof named === 'string' ? named : null, requestId, retryAfterS },
  );
}

/** What the platform's interface says of wrong input: a place and a sentence each. */
function invalidMembers(all: readonly unknown[]): string {
  return all
    .map((one) => {
      const { loc, msg } = (one ?? {}) as { readonly loc?: readonly unknown[]; readonly msg?: unknown };
      const place = (loc ?? []).slice(1).join('.');
      return place === '' ? String(msg) : `${place}: ${String(msg)}`;
    })
    .join('; ');
}
