// Method and path -> operation -> validated call -> response. All paths come from the OpenAPI description; handlers do the
// work. Authenticates before it reads a body.
import type { PlatformSettings } from '../../config/snapshot.ts';
import { Fault } from '../../proxy/server/mount.ts';
import type { Log } from '../../proxy/server/mount.ts';
import type { MountResponse, MountRequest } from '../../proxy/server/mount.ts';
import { PlatformStoreUnavailable } from '../store/store.ts';
import type { Description, Operation } from './description.ts';
import { queryOf, querySchema } from './query.ts';
import { validationFailed, refuse, refuseNul, Refusal } from './refusal.ts';
import type { Check, Validation } from './validation.ts';

/** An operation's input, checked against the description. */
interface OperationCall {
  /** '' = the one user of a plain key. */
  readonly userId: string;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** undefined where none is taken or none was sent. */
  readonly body: unknown;
}

/** The result of an operation; the default status is 200. */
interface OperationResult {
  readonly status?: number;
  readonly body: unknown;
}

export type Handler = (call: OperationCall) => Promise<OperationResult> | OperationResult;

interface Entry {
  readonly operation: Operation;
  readonly handle: Handler;
  readonly checkQuery: Check;
  readonly checkPath: Check;
  readonly checkBody: Check | null;
}

interface Route {
  readonly regex: RegExp;
  readonly methods: ReadonlyMap<string, Entry>;
}

/** The platform's own bodies stay below some ten KiB. */
const BODY_BYTES = 1024 * 1024;
const JSON_TYPE = ['content-type', 'application/json'];
/** V0 is marked by the headers of RFC 9745 and RFC 8288. 2026-04-01T00:00:00Z, the day its removal was announced for. */
const DEPRECATED = ['deprecation', '@1775001600', 'link', '</api/v1/settings>; rel="successor-version"'];

export class Router {
  readonly #routes: readonly Route[];
  /** Resolves when this server has seen every earlier change of any server. */
  readonly #catchUp: () => Promise<void>;
  readonly #log: Log;
  readonly #responsesByStatus = new Map<string, number>();
  #users: ReadonlyMap<string, string> = new Map();

  /** @throws Error when an operation of the description has no handler */
  constructor(
    description: Description,
    validation: Validation,
    handlers: Readonly<Record<string, Handler>>,
    catchUp: () => Promise<void>,
    log: Log,
  ) {
    this.#catchUp = catchUp;
    this.#log = log;
    // Fixed paths before those with a name in them: `/search` is no id.
    const paths = Object.entries(description.paths).toSorted(([a], [b]) => holes(a) - holes(b));
    this.#routes = paths.map(([path, operations]) => ({
      regex: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}/?$`),
      methods: new Map(
        Object.entries(operations).map(([method, operation]) => [
          method.toUpperCase(),
          entryOf(operation, handlers, validation),
        ]),
      ),
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
      const userId = this.#userOf(request, digest);
      const query = queryOf(entry.operation, request.query);
      entry.checkPath(path, 'path');
      entry.checkQuery(query, 'query');
      refuseNul(query, 'query');
      const body = entry.checkBody === null ? undefined : await bodyOf(request, entry);
      if (isRemembered(request.path)) await this.#catchUp();
      const reply = await entry.handle({ userId, path, query, body });
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
    for (const { regex, methods } of this.#routes) {
      const match = regex.exec(request.path);
      if (match === null) continue;
      const entry = methods.get(request.method === 'HEAD' ? 'GET' : request.method);
      if (entry === undefined)
        throw refuse(405, 'Method Not Allowed', ['allow', [...methods.keys()].join(', ')]);
      const path = Object.entries(match.groups ?? {}).map(([name, raw]) => [name, decoded(raw)]);
      return { entry, path: Object.fromEntries(path) as Record<string, string> };
    }
    throw refuse(404, 'Not Found');
  }

  /** The platform's clients send the session key, an access token or a bearer: all three name the same key here. */
  #userOf(request: MountRequest, digest: (key: string) => string): string {
    const key =
      headerOf(request, 'x-session-api-key') ??
      headerOf(request, 'x-access-token') ??
      /^bearer\s+(.+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
    const userId = key === undefined ? undefined : this.#users.get(digest(key));
    if (userId === undefined) throw refuse(401, 'Unauthorized', ['www-authenticate', 'APIKeyHeader']);
    return userId;
  }

  #refusalOf(thrown: unknown, request: MountRequest): Refusal {
    if (thrown instanceof Refusal) return thrown;
    const line = { method: request.method, path: request.path.slice(0, 200) };
    if (thrown instanceof Fault) {
      this.#log.info({ ...line, error: thrown.code }, 'platform call refused');
      return refuse(thrown.status, thrown.message);
    }
    this.#log.error({ ...line, err: thrown }, 'platform call failed');
    if (thrown instanceof PlatformStoreUnavailable) return storeDown(request);
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
    handle,
    checkQuery: validation.of(querySchema(operation)),
    checkPath: validation.of(pathSchema),
    checkBody: body === undefined ? null : validation.of(body),
  };
}

function headerOf(request: MountRequest, name: string): string | undefined {
  const at = request.headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
  return at < 0 ? undefined : request.headers[at + 1];
}

async function bodyOf(request: MountRequest, entry: Entry): Promise<unknown> {
  if (Number(headerOf(request, 'content-length') ?? 0) > BODY_BYTES) throw tooLarge();
  const bytes = await request.readBody();
  if (bytes.length > BODY_BYTES) throw tooLarge();
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

const tooLarge = (): Refusal => refuse(413, `The request body is larger than ${BODY_BYTES} bytes`);

function decoded(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    throw refuse(404, 'Not Found');
  }
}

const bytesOf = (body: unknown): Buffer => Buffer.from(JSON.stringify(body));
