// `POST /explain`: what would go upstream for a call, and why, by the steps that serve calls: the deployment, each header and
// query parameter with the rule that decides about it, and the members of the body that change. Nothing is sent or recorded.
import type { AuthenticatedCaller } from '../access/caller.ts';
import { RequestBody } from '../bodies/request-body.ts';
import { Fault } from '../errors/fault.ts';
import type { HeaderDecision } from '../headers/upstream-headers.ts';
import { readHeaders } from '../headers/request-headers.ts';
import { buildUpstreamRequest, type BodyChange } from '../pipeline/build-upstream-request.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { identityOf } from '../pipeline/identity.ts';
import { parseRequest } from '../pipeline/parse-request.ts';
import { chainOf, planCall, selectedBy } from '../pipeline/plan.ts';
import { sendJson } from '../pipeline/respond.ts';
import { refuseSteering } from '../pipeline/steering.ts';
import type { QueryDecision } from '../pipeline/upstream-query.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { ENDPOINTS } from '../protocols/table.ts';
import { readObject } from './json-body.ts';

type Json = Readonly<Record<string, unknown>>;

interface Asked {
  readonly endpoint: Endpoint;
  readonly body: Json;
  readonly headers: readonly string[];
  readonly query: string;
}

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/;
/** No control characters. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const QUERY = /^[!$-;=?-[\]_a-z~%]*$/;

/** A refusal that the call would get is part of the answer. */
export async function explain(x: Exchange, caller: AuthenticatedCaller): Promise<void> {
  const asked = askedIn(await readObject(x));
  try {
    sendJson(x, { ...(await explained(x, caller, asked)), error: null });
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const { status, code, message } = thrown;
    sendJson(x, { error: { status, code, message } });
  }
}

async function explained(x: Exchange, caller: AuthenticatedCaller, asked: Asked): Promise<Json> {
  const { active } = x;
  const call: Exchange = {
    ...x,
    headers: readHeaders(active.rules, ['content-type', 'application/json', ...asked.headers]),
    path: `/v1/${asked.endpoint.path}`,
    query: asked.query,
  };
  const bytes = Buffer.from(JSON.stringify(asked.body));
  const request = await parseRequest(call, asked.endpoint, new RequestBody(bytes), null);
  const identity = identityOf(call, { keyHash: caller.keyHash }, request.identityMembers);
  const plan = planCall(active, request.model, identity);
  refuseSteering(active, request);
  const selected = selectedBy(plan);
  const [headers, query, body]: [HeaderDecision[], QueryDecision[], BodyChange[]] = [[], [], []];
  const explainer = {
    header: (decision: HeaderDecision) => headers.push(decision),
    query: (decision: QueryDecision) => query.push(decision),
    body: (change: BodyChange) => body.push(change),
  };
  const sent = buildUpstreamRequest(call, request, identity, selected, { explainer });
  const { config } = selected.deployment;
  return {
    url: `${sent.method} ${sent.origin}${sent.path}`,
    deployment: { id: config.id, model_name: config.group, api_base: config.apiBase, kind: config.kind },
    gateway: config.gateway.name,
    model: request.model,
    upstream_model: selected.upstreamModel,
    session: { id: identity.sessionId, source: identity.sessionSource },
    forwards_client_headers: selected.forwards,
    headers: headers.map(({ name, action, rule }) => ({ name, action, rule })),
    query: query.map(({ name, action, rule }) => ({ name, action, rule })),
    body,
    plan: plan.group.deployments.map((one) => one.config.id),
    fallbacks: chainOf(active.snapshot.routing, plan.group.name),
    warnings: identity.warnings,
  };
}

/** @throws Fault invalid_parameter */
function askedIn({ endpoint = 'chat/completions', body, headers = {}, query = '' }: Json): Asked {
  const found = ENDPOINTS.find(({ path }) => path === endpoint);
  if (found === undefined)
    throw wrong('endpoint', `is one of ${ENDPOINTS.map(({ path }) => path).join(', ')}`);
  if (!isObject(body)) throw wrong('body', 'is the body of the call: an object');
  if (!isObject(headers)) throw wrong('headers', 'is an object of names and texts');
  const flat = Object.entries(headers).flatMap(([name, value]) => {
    if (!TOKEN.test(name) || typeof value !== 'string' || !VALUE.test(value))
      throw wrong('headers', `has ${JSON.stringify(name.slice(0, 60))}, which is no header`);
    return [name, value];
  });
  if (typeof query !== 'string' || !QUERY.test(query))
    throw wrong('query', 'is a query without question mark');
  return { endpoint: found, body, headers: flat, query };
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const wrong = (param: string, what: string): Fault =>
  new Fault('invalid_parameter', `The member ${param} ${what}.`, { param });
