// A stand-in of the Kubernetes API server on a real socket, for machines without the real one. It checks paths, verbs,
// content types, tokens, roles, hardened pods, quotas, and each object by the strict schema of Kubernetes 1.34
// (test/interop/kubernetes/schemas.py); it answers with the statuses of the real one, on which the same tests run.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { Ajv } from 'ajv';
import { KEEPS_IDLE } from './keeps-idle.ts';
import schemas from './kubernetes-schemas.json' with { type: 'json' };

type Json = Readonly<Record<string, unknown>>;

interface Stored {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: Json;
  readonly status?: Json;
  readonly [member: string]: unknown;
}

interface StandIn {
  readonly url: string;
  close(): Promise<void>;
}

const KINDS: Readonly<Record<string, string>> = {
  namespaces: 'Namespace',
  serviceaccounts: 'ServiceAccount',
  resourcequotas: 'ResourceQuota',
  roles: 'Role',
  rolebindings: 'RoleBinding',
  services: 'Service',
  secrets: 'Secret',
  pods: 'Pod',
  podtemplates: 'PodTemplate',
  persistentvolumeclaims: 'PersistentVolumeClaim',
};
const VERBS: Readonly<Record<string, string>> = { POST: 'create', DELETE: 'delete', PATCH: 'patch' };
const NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

class Refused extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema({ $id: 'kubernetes', definitions: schemas.definitions });

/** @throws Error when an object is not what Kubernetes knows by that kind */
export function checkObject(kind: string, object: unknown): void {
  const name = Object.entries(schemas.kinds).find(([known]) => known === kind)?.[1];
  if (name === undefined) return;
  const valid = ajv.validate({ $ref: `kubernetes#/definitions/${name}` }, object);
  if (!valid) throw new Refused(400, 'BadRequest', `strict decoding error: ${ajv.errorsText()}`);
}

/** @param admin the token that may do everything */
export async function startStandIn(admin: string): Promise<StandIn> {
  const objects = new Map<string, Stored>();
  const watchers = new Set<ServerResponse>();
  const accounts = new Map<string, string>();
  const range = `127.97.${1 + Math.floor(Math.random() * 254)}`;
  let addresses = 1;
  const all = (resource: string): readonly Stored[] =>
    [...objects].filter(([key]) => key.startsWith(`${resource}/`)).map(([, object]) => object);
  const tell = (type: string, object: Stored): void => {
    if (object.kind === 'Pod') for (const res of watchers) res.write(`${JSON.stringify({ type, object })}\n`);
  };
  const put = (resource: string, object: Stored, type: string): Stored => {
    objects.set(`${resource}/${object.metadata.name}`, object);
    tell(type, object);
    return object;
  };

  const authorize = (token: string, verb: string, resource: string): void => {
    if (token === admin) return;
    const account = accounts.get(token);
    if (account === undefined) throw new Refused(401, 'Unauthorized', 'Unauthorized');
    const granted = all('roles').some(({ rules }) =>
      (rules as readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[]).some(
        (rule) => rule.resources.includes(resource) && rule.verbs.includes(verb),
      ),
    );
    if (!granted)
      throw new Refused(
        403,
        'Forbidden',
        `${resource} is forbidden: User "${account}" cannot ${verb} resource`,
      );
  };

  const create = (resource: string, body: Json, isStrict: boolean, isDry: boolean): Stored => {
    const { kind, apiVersion, metadata } = body as {
      kind?: unknown;
      apiVersion?: unknown;
      metadata?: Stored['metadata'];
    };
    if (kind !== KINDS[resource] || typeof apiVersion !== 'string')
      throw new Refused(400, 'BadRequest', `the object provided is no ${KINDS[resource] ?? resource}`);
    if (isStrict) checkObject(String(kind), body);
    if (metadata === undefined || !NAME.test(metadata.name))
      throw new Refused(422, 'Invalid', 'metadata.name: Invalid value');
    for (const value of Object.values(metadata.labels ?? {}))
      if (!/^(|[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$/.test(value))
        throw new Refused(422, 'Invalid', 'metadata.labels: Invalid value');
    if (kind === 'Pod') admit(metadata.name, body['spec'] as Json);
    if (objects.has(`${resource}/${metadata.name}`))
      throw new Refused(409, 'AlreadyExists', `${resource} "${metadata.name}" already exists`);
    const made: Stored = {
      ...body,
      kind: String(kind),
      metadata: { ...metadata, uid: randomUUID() },
      ...(kind === 'Pod' ? { status: { phase: 'Pending' } } : {}),
      ...(kind === 'Service'
        ? { spec: { ...(body['spec'] as Json), clusterIP: `${range}.${(addresses += 1)}` } }
        : {}),
      ...(kind === 'Secret' ? { data: encoded(body['stringData'] as Json), stringData: undefined } : {}),
    };
    return isDry ? made : put(resource, made, 'ADDED');
  };

  const admit = (name: string, spec: Json): void => {
    if (!isRestricted(spec))
      throw new Refused(
        403,
        'Forbidden',
        `pods "${name}" is forbidden: violates PodSecurity "restricted:latest"`,
      );
    for (const quota of all('resourcequotas')) {
      const hard = (quota.status?.['hard'] ?? {}) as Readonly<Record<string, string>>;
      if (hard['pods'] !== undefined && all('pods').length + 1 > Number(hard['pods'])) {
        const figures = `requested: pods=1, used: pods=${all('pods').length}, limited: pods=${hard['pods']}`;
        const text = `pods "${name}" is forbidden: exceeded quota: ${quota.metadata.name}, ${figures}`;
        throw new Refused(403, 'Forbidden', text);
      }
    }
  };

  const remove = (resource: string, object: Stored, options: Json): Stored => {
    const isBound = object.spec?.['nodeName'] !== undefined;
    if (resource === 'pods' && isBound && options['gracePeriodSeconds'] !== 0) {
      const metadata = { ...object.metadata, deletionTimestamp: new Date().toISOString() };
      return put(resource, { ...object, metadata }, 'MODIFIED');
    }
    objects.delete(`${resource}/${object.metadata.name}`);
    tell('DELETED', object);
    return object;
  };

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://cluster');
    const method = req.method ?? '';
    const found =
      /^\/(?:api\/v1|apis\/rbac\.authorization\.k8s\.io\/v1)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/.exec(
        pathname,
      );
    const [, namespace, resource = '', name, sub] = found ?? [];
    const token = (req.headers.authorization ?? '').replace(/^Bearer /, '');
    const read = name === undefined ? 'list' : 'get';
    authorize(token, VERBS[method] ?? read, resource);
    if (KINDS[resource] === undefined)
      throw new Refused(404, 'NotFound', 'the server could not find the requested resource');
    if (namespace !== undefined && !objects.has(`namespaces/${namespace}`))
      throw new Refused(404, 'NotFound', `namespaces "${namespace}" not found`);
    const text = await textOf(req);
    const type = req.headers['content-type'] ?? '';
    const wanted = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    if (text !== '' && type !== wanted) throw new Refused(415, 'UnsupportedMediaType', `the body is ${type}`);
    const body = text === '' ? {} : (JSON.parse(text) as Json);
    const say = (status: number, value: unknown): void => {
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(JSON.stringify(value));
    };
    if (method === 'POST' && name === undefined)
      return say(
        201,
        create(resource, body, searchParams.get('fieldValidation') === 'Strict', searchParams.has('dryRun')),
      );
    if (method === 'GET' && searchParams.has('watch')) {
      res.writeHead(200, { 'content-type': 'application/json' });
      for (const object of all(resource)) res.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
      res.flushHeaders();
      watchers.add(res);
      res.on('close', () => watchers.delete(res));
      return;
    }
    if (method === 'GET' && name === undefined) {
      const [key = '', value = ''] = (searchParams.get('labelSelector') ?? '').split('=');
      const items = all(resource).filter(({ metadata }) => key === '' || metadata.labels?.[key] === value);
      return say(200, { kind: 'List', apiVersion: 'v1', items });
    }
    const object = objects.get(`${resource}/${name ?? ''}`);
    if (object === undefined) throw new Refused(404, 'NotFound', `${resource} "${name ?? ''}" not found`);
    if (method === 'GET') return say(200, object);
    if (method === 'DELETE') {
      checkObject('DeleteOptions', body);
      return say(200, remove(resource, object, body));
    }
    if (method === 'PATCH') return say(200, put(resource, merged(object, body) as Stored, 'MODIFIED'));
    if (method === 'POST' && sub === 'token') {
      const made = randomUUID();
      accounts.set(made, `system:serviceaccount:${namespace ?? ''}:${name ?? ''}`);
      return say(201, { kind: 'TokenRequest', status: { token: made } });
    }
    if (method === 'POST' && sub === 'binding') {
      put(resource, { ...object, spec: { ...object.spec, nodeName: 'node-1' } }, 'MODIFIED');
      return say(201, { kind: 'Status', status: 'Success' });
    }
    throw new Refused(405, 'MethodNotAllowed', `the server does not allow ${method} here`);
  };

  const server = createServer(KEEPS_IDLE, (req, res) => {
    serve(req, res).catch((error: unknown) => {
      const refused = error instanceof Refused ? error : new Refused(500, 'InternalError', String(error));
      const { status: code, reason, message } = refused;
      res.writeHead(code, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What the level `restricted` of Pod Security asks for, as far as these pods could miss it. */
function isRestricted(spec: Json): boolean {
  const pod = spec['securityContext'] as Json | undefined;
  const profile = pod?.['seccompProfile'] as Json | undefined;
  const containers = spec['containers'] as readonly { readonly securityContext?: Json }[];
  return (
    pod?.['runAsNonRoot'] === true &&
    profile?.['type'] === 'RuntimeDefault' &&
    containers.every(({ securityContext: own }) => {
      const { drop } = (own?.['capabilities'] ?? {}) as { readonly drop?: readonly string[] };
      return own?.['allowPrivilegeEscalation'] === false && drop?.includes('ALL') === true;
    })
  );
}

const encoded = (texts: Json = {}): Json =>
  Object.fromEntries(
    Object.entries(texts).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]),
  );

/** RFC 7386. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  return result;
}
