// Method and path -> operation -> validated call -> response. All paths come from the OpenAPI description; handlers do the
// work. Authenticates before it reads a body.
import type { PlatformSettings } from '../../config/snapshot.ts';
import { Fault } from '../../proxy/server/mount.ts';
import type { Log } from '../../proxy/server/mount.ts';
import type { MountResponse, MountRequest } from '../../proxy/server/mount.ts';
import { StoreUnavailable } from '../../proxy/server/mount.ts';
import type { Description, Operation } from './description.ts';
import { notServed, OUTSIDE } from './outside.ts';
import { queryOf, querySchema } from './query.ts';
import { validationFailed, refuse, refuseNul, Refusal } from './refusal.ts';
import type { Check, Validation } from './validation.ts';

/** An operation's input, checked against the description. */
export interface OperationCall {
  /** '' = the one user of a plain key. Of a call with a sandbox's key: the sandbox's owner. */
  readonly userId: string;
  /** Id of the sandbox whose key the call came with; null = a user's key. */
  readonly sandboxId: string | null;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** undefined where none is taken or none was sent. */
  readonly body: unknown;
  /** `If-None-Match: *` (RFC 9110, 13.1.2): what the call would write must not be there yet. */
  readonly mustBeNew: boolean;
}

/** The result of an operation as JSON; the default status is 200. */
interface JsonResult {
  readonly status?: number;
  readonly body: unknown;
}

/** A result that is no JSON. */
interface BytesResult {
  readonly status?: number;
  readonly bytes: Buffer;
  readonly contentType: string;
  /** Flat; further ones. */
  readonly headers: readonly string[];
}

type OperationResult = JsonResult | BytesResult;

export type Handler = (call: OperationCall) => Promise<OperationResult> | OperationResult;

/** What an operation answered that answers with JSON. */
export function jsonOf(result: OperationResult): unknown {
  if ('body' in result) return result.body;
  throw new Error('the operation does not answer with JSON');
}

/** Who an operation takes calls from, by the security scheme that its description names. */
const CALLERS = { APIKeyHeader: 'user', SandboxKey: 'sandbox' } as const;
type CallerKind = (typeof CALLERS)[keyof typeof CALLERS];

/** The sandbox with this key, by the SHA-256 hex of the key. */
export type SandboxByKey = (keyHash: string) => { readonly id: string; readonly userId: string } | null;

interface Entry {
  readonly operation: Operation;
  readonly callers: ReadonlySet<CallerKind>;
  readonly handle: Handler;
  readonly checkQuery: Check;
  readonly checkPath: Check;
  readonly checkBody: Check | null;
}

type Caller = Pick<OperationCall, 'userId' | 'sandboxId'>;

interface Route {
  readonly regex: RegExp;
  readonly methods: ReadonlyMap<string, Entry>;
  /** What the platform serves there and this server does not: sentences by method. */
  readonly outside: ReadonlyMap<string, string>;
}

/** The platform's own bodies stay below some ten KiB. An operation's `x-max-body-bytes` says otherwise. */
const BODY_BYTES = 1024 * 1024;
/** Bodies of callers whose key is in the body wait in memory before it is known whether they have one. */
const UNKNOWN_BYTES = 64 * 1024 * 1024;
/** Below this a body waits in no line: it is no more than the headers that anybody may send. */
const SMALL_BYTES = 64 * 1024;
const JSON_TYPE = ['content-type', 'application/json'];
/** V0 is marked by the headers of RFC 9745 and RFC 8288. 2026-04-01T00:00:00Z, the day its removal was announced for. */
const DEPRECATED = ['deprecation', '@1775001600', 'link', '</api/v1/settings>; rel="successor-version"'];

export class Router {
  readonly #routes: readonly Route[];
  /** Resolves when this server has seen every earlier change of any server. */
  readonly #catchUp: () => Promise<void>;
  readonly #sandboxByKey: SandboxByKey;
  readonly #log: Log;
  readonly #responsesByStatus = new Map<string, number>();
  #users: ReadonlyMap<string, string> = new Map();
  /** Of the bodies that are being read from callers that are not known. */
  #unknownBytes = 0;

  /** @throws Error when an operation of the description has no handler */
  constructor(
    description: Description,
    validation: Validation,
    handlers: Readonly<Record<string, Handler>>,
    catchUp: () => Promise<void>,
    sandboxByKey: SandboxByKey,
    log: Log,
  ) {
    this.#catchUp = catchUp;
    this.#sandboxByKey = sandboxByKey;
    this.#log = log;
    // Fixed paths before those with a name in them: `/search` is no id.
    const outside = outsideByPath();
    const paths = [...new Set([...Object.keys(description.paths), ...outside.keys()])];
    this.#routes = paths
      .toSorted((a, b) => holes(a) - holes(b))
      .map((path) => ({
        regex: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}/?$`),
        methods: new Map(
          Object.entries(description.paths[path] ?? {}).map(([method, operation]) => [
            method.toUpperCase(),
            entryOf(operation, handlers, validation),
          ]),
        ),
        outside: outside.get(path) ?? new Map(),
      }));
  }

  /** Replaces the users whose keys are accepted. */
  setUsers(users: PlatformSettings['users']): void {
    this.#users = new Map(users.map(({ key, userId }) => [key.sha256(), userId ?? '']));
  }

  /** Number of responses by status. */
  get responsesByStatus(): ReadonlyMap<string, number> {
    return this.#responsesByStatus;
  }

  /** Never rejects. @param digest SHA-256 hex of a key as it was sent */
  async handle(request: MountRequest, digest: (key: string) => string): Promise<MountResponse> {
    const startedAt = performance.now();
    const response = await this.#respond(request, digest);
    const status = String(response.status);
    this.#responsesByStatus.set(status, (this.#responsesByStatus.get(status) ?? 0) + 1);
    const ms = Math.round(performance.now() - startedAt);
    this.#log.info(
      { method: request.method, path: request.path.slice(0, 200), status: response.status, ms },
      'platform call',
    );
    return response;
  }

  async #respond(request: MountRequest, digest: (key: string) => string): Promise<MountResponse> {
    let headers: readonly string[] = JSON_TYPE;
    try {
      const { entry, path } = this.#find(request);
      if (entry.operation.deprecated === true) headers = [...JSON_TYPE, ...DEPRECATED];
      const caller = await this.#callerOf(request, entry, digest);
      demandOwnSandbox(caller, path);
      const query = queryOf(entry.operation, request.query);
      entry.checkPath(path, 'path');
      entry.checkQuery(query, 'query');
      refuseNul(query, 'query');
      const body = entry.checkBody === null ? undefined : await this.#bodyOf(request, entry);
      if (isRemembered(request.path)) await this.#catchUp();
      const mustBeNew = headerOf(request, 'if-none-match') === '*';
      const reply = await entry.handle({ ...caller, path, query, body, mustBeNew });
      if ('bytes' in reply) return asTheyAre(reply);
      return { status: reply.status ?? 200, headers, body: bytesOf(reply.body) };
    } catch (thrown) {
      const refusal = this.#refusalOf(thrown, request);
      return {
        status: refusal.status,
        headers: [...headers, ...refusal.headers],
        body: bytesOf(refusal.body),
      };
    }
  }

  #find(request: MountRequest): { entry: Entry; path: Record<string, string> } {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    for (const { regex, methods, outside } of this.#routes) {
      const match = regex.exec(request.path);
      if (match === null) continue;
      const sentence = outside.get(method);
      if (sentence !== undefined) throw refuse(404, sentence);
      const entry = methods.get(method);
      if (methods.size === 0) break;
      if (entry === undefined)
        throw refuse(405, 'Method Not Allowed', ['allow', [...methods.keys()].join(', ')]);
      const path = Object.entries(match.groups ?? {}).map(([name, raw]) => [name, decoded(raw)]);
      return { entry, path: Object.fromEntries(path) as Record<string, string> };
    }
    throw refuse(404, 'Not Found');
  }

  /** @throws Refusal 401 for a key that is none, or of a kind that the operation does not take */
  async #callerOf(request: MountRequest, entry: Entry, digest: (key: string) => string): Promise<Caller> {
    const { callers } = entry;
    if (callers.size === 0) return { userId: '', sandboxId: null };
    const userId = callers.has('user') ? this.#userOf(request, digest) : undefined;
    if (userId !== undefined) return { userId, sandboxId: null };
    const key = callers.has('sandbox') ? headerOf(request, 'x-session-api-key') : undefined;
    const sandbox = key === undefined ? null : await this.#sandboxOf(digest(key));
    if (sandbox === null) throw refuse(401, 'Unauthorized', ['www-authenticate', 'APIKeyHeader']);
    return { userId: sandbox.userId, sandboxId: sandbox.id };
  }

  /** The platform's clients send the session key, an access token or a bearer: all three name the same key here. */
  #userOf(request: MountRequest, digest: (key: string) => string): string | undefined {
    const key =
      headerOf(request, 'x-session-api-key') ??
      headerOf(request, 'x-access-token') ??
      /^bearer\s+(.+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
    return key === undefined ? undefined : this.#users.get(digest(key));
  }

  /** A sandbox that another server has just started may be news here. */
  async #sandboxOf(keyHash: string): Promise<ReturnType<SandboxByKey>> {
    const known = this.#sandboxByKey(keyHash);
    if (known !== null) return known;
    await this.#catchUp();
    return this.#sandboxByKey(keyHash);
  }

  /** @throws Refusal 411, 415, 503 for a body of unknown or too many bytes whose sender nobody knows yet */
  async #bodyOf(request: MountRequest, entry: Entry): Promise<unknown> {
    if (entry.callers.size > 0) return bodyOf(request, entry);
    const length = Number(headerOf(request, 'content-length') ?? Number.NaN);
    if (Number.isNaN(length)) throw refuse(411, 'Send content-length: a body without it is not read here');
    if (headerOf(request, 'content-encoding') !== undefined)
      throw refuse(415, 'Send the body without content-encoding');
    if (length > SMALL_BYTES && this.#unknownBytes + length > UNKNOWN_BYTES)
      throw refuse(503, 'Many large bodies are being read; try again in a moment', ['retry-after', '1']);
    this.#unknownBytes += length;
    try {
      return await bodyOf(request, entry);
    } finally {
      this.#unknownBytes -= length;
    }
  }

  #refusalOf(thrown: unknown, request: MountRequest): Refusal {
    if (thrown instanceof Refusal) return thrown;
    const line = { method: request.method, path: request.path.slice(0, 200) };
    if (thrown instanceof Fault) {
      this.#log.info({ ...line, error: thrown.code }, 'platform call refused');
      return refuse(thrown.status, thrown.message);
    }
    this.#log.error({ ...line, err: thrown }, 'platform call failed');
    if (thrown instanceof StoreUnavailable) return storeDown(request);
    return refuse(500, 'Internal Server Error');
  }
}

/** What every path answers while there is no store to ask. */
export function storeDownResponse(request: MountRequest): MountResponse {
  const { status, body } = storeDown(request);
  return { status, headers: JSON_TYPE, body: bytesOf(body) };
}

/** Sandboxes, and what conversations tell of theirs, are answered from memory. */
const isRemembered = (path: string): boolean => /^\/api\/v1\/(sandboxes|app-conversations)\b/.test(path);

/** The settings say it in words of their own. */
function storeDown(request: MountRequest): Refusal {
  const settings = /^\/api\/(v1\/)?settings$/.test(request.path) && request.method === 'POST';
  return settings
    ? new Refusal(500, { error: 'Something went wrong storing settings' })
    : refuse(500, 'The platform store does not answer; nothing was changed');
}

/** A sandbox's key is good for that sandbox alone. @throws Refusal 403 in the platform's words */
function demandOwnSandbox({ sandboxId }: Caller, path: Readonly<Record<string, string>>): void {
  const named = path['sandbox_id'];
  if (sandboxId !== null && named !== undefined && named !== sandboxId)
    throw refuse(403, 'Session API key does not match sandbox');
}

/** Sentences by path and method. */
function outsideByPath(): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const byPath = new Map<string, Map<string, string>>();
  for (const { why, operations } of OUTSIDE) {
    for (const operation of operations) {
      const [method = '', path = ''] = operation.split(' ');
      const methods = byPath.get(path) ?? new Map<string, string>();
      byPath.set(path, methods.set(method, notServed(operation, why)));
    }
  }
  return byPath;
}

const holes = (path: string): number => path.split('{').length;

function entryOf(
  operation: Operation,
  handlers: Readonly<Record<string, Handler>>,
  validation: Validation,
): Entry {
  const name = operation['x-handler'] ?? operation.operationId;
  const handle = handlers[name];
  if (handle === undefined) throw new Error(`the operation ${name} has no handler`);
  const body = operation.requestBody?.content['application/json']?.schema;
  const named = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
  const pathSchema = {
    type: 'object',
    properties: Object.fromEntries(named.map(({ name, schema }) => [name, schema])),
  };
  return {
    operation,
    callers: callersOf(operation),
    handle,
    checkQuery: validation.of(querySchema(operation)),
    checkPath: validation.of(pathSchema),
    checkBody: body === undefined ? null : validation.of(body),
  };
}

/** What names no scheme is for users. An empty list: the handler itself finds the key, in the body. */
function callersOf({ operationId, security = [{ APIKeyHeader: [] }] }: Operation): ReadonlySet<CallerKind> {
  const kinds = security.flatMap(Object.keys).map((name) => {
    if (!Object.hasOwn(CALLERS, name)) throw new Error(`${operationId} names the unknown scheme ${name}`);
    return CALLERS[name as keyof typeof CALLERS];
  });
  return new Set(kinds);
}

function headerOf(request: MountRequest, name: string): string | undefined {
  const at = request.headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
  return at < 0 ? undefined : request.headers[at + 1];
}

async function bodyOf(request: MountRequest, entry: Entry): Promise<unknown> {
  const limit = entry.operation['x-max-body-bytes'] ?? BODY_BYTES;
  if (Number(headerOf(request, 'content-length') ?? 0) > limit) throw tooLarge(limit);
  const bytes = await request.readBody();
  if (bytes.length > limit) throw tooLarge(limit);
  if (bytes.length === 0) {
    if (entry.operation.requestBody?.required !== true) return undefined;
    throw validationFailed([{ loc: ['body'], msg: 'Field required', type: 'missing' }]);
  }
  const media =
    headerOf(request, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? 'application/json';
  if (!media.endsWith('json'))
    throw validationFailed([
      {
        loc: ['body'],
        msg: 'Input should be JSON: send content-type application/json',
        type: 'model_attributes_type',
      },
    ]);
  const value = parsed(bytes);
  entry.checkBody?.(value, 'body');
  return value;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(UTF8.decode(bytes)) as unknown;
  } catch (error) {
    const { message } = error as Error;
    const end = message.includes('end of JSON') ? bytes.length : 0;
    const at = Number(/position (\d+)/.exec(message)?.[1] ?? end);
    throw validationFailed([{ loc: ['body', at], msg: 'JSON decode error', type: 'json_invalid' }]);
  }
}

const tooLarge = (limit: number): Refusal => refuse(413, `The request body is larger than ${limit} bytes`);

function decoded(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    throw refuse(404, 'Not Found');
  }
}

/** What comes from a sandbox or is a secret: a browser must not guess what it is, and nobody keeps it. */
function asTheyAre({ status = 200, bytes, contentType, headers }: BytesResult): MountResponse {
  const safe = [
    'content-type',
    contentType,
    'x-content-type-options',
    'nosniff',
    'cache-control',
    'no-store',
  ];
  return { status, headers: [...safe, ...headers], body: bytes };
}

const bytesOf = (body: unknown): Buffer => Buffer.from(JSON.stringify(body));
