// `POST /explain`: what would go upstream for a call, and why, by the steps that serve calls: the deployment, each header and
// query parameter with the rule that decides about it, and the members of the body that change. With `entry`, as if that model
// were saved. Nothing is sent, recorded or kept.
import { FIELD_NAME, FIELD_VALUE } from '../../config/resolve/headers.ts';
import { isObject, type Json } from '../bodies/json.ts';
import type { AuthenticatedCaller } from '../access/caller.ts';
import { ActiveConfig } from '../active-config/active-config.ts';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import type { Preview } from '../active-config/model-change.ts';
import { idleServices } from '../active-config/idle-services.ts';
import { Fault } from '../errors/fault.ts';
import type { HeaderDecision } from '../headers/upstream-headers.ts';
import { readHeaders } from '../headers/request-headers.ts';
import type { BodyChange } from '../pipeline/body-changes.ts';
import type { TranslationNote } from '../pipeline/build-upstream-request.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { COUNTED_HERE } from '../pipeline/count-tokens.ts';
import { chaosNote } from '../pipeline/chaos-call.ts';
import { dryRun, type Asked } from '../pipeline/dry-run.ts';
import type { CallPlan } from '../pipeline/plan.ts';
import type { SelectedDeployment } from '../pipeline/select-deployment.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { QueryDecision } from '../pipeline/upstream-query.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { REALTIME } from '../protocols/realtime/realtime.ts';
import { ENDPOINTS } from '../protocols/table.ts';
import { readObject } from './json-body.ts';
import { faultOf } from './model-admin.ts';

/** Those of calls, and the one that opens a session. */
const EXPLAINED: readonly Endpoint[] = [...ENDPOINTS, REALTIME];

interface Question {
  readonly endpoint: Endpoint;
  readonly body: Json;
  readonly headers: readonly string[];
  readonly query: string;
  /** Of a model_list, unsaved; null = the question is about what is served. */
  readonly entry: Json | null;
}

const QUERY = /^[!$-;=?-[\]_a-z~%]*$/;

/** A refusal that the call would get is part of the answer, and so is what is wrong with an entry. */
export async function explain(
  x: Exchange,
  caller: AuthenticatedCaller,
  reloader: ConfigReloader,
): Promise<void> {
  const asked = askedIn(await readObject(x, 'prompt'));
  try {
    const answer =
      asked.entry === null
        ? await explained(x, caller, asked, null)
        : await explainedWith(x, caller, asked, preview(reloader, asked.entry));
    sendJson(x, { ...answer, error: null });
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const { status, code, message } = thrown;
    sendJson(x, { error: { status, code, message } });
  }
}

type Found = Extract<Preview, { readonly ok: true }>;

/** @throws Fault invalid_model_entry, model_in_config */
function preview(reloader: ConfigReloader, entry: Json): Found {
  let found: Preview;
  try {
    found = reloader.preview(entry);
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    throw new Fault('invalid_model_entry', 'The entry is nested too deeply.');
  }
  if (!found.ok) throw faultOf(found);
  return found;
}

/**
 * As if an entry were saved: on services of its own that neither send nor record, so that no pool is opened, no host is
 * looked up and no figure knows of it.
 */
async function explainedWith(
  x: Exchange,
  caller: AuthenticatedCaller,
  asked: Question,
  { id, snapshot }: Found,
): Promise<Json> {
  const services = idleServices(snapshot, x.active.services.access);
  const active = new ActiveConfig(snapshot, services);
  try {
    return await explained({ ...x, active }, caller, asked, id);
  } finally {
    active.retire();
    services.pools.destroy();
  }
}

/** @param only the entry that gets the call; null = as calls are balanced. @throws Fault of the call, invalid_parameter */
async function explained(
  x: Exchange,
  caller: AuthenticatedCaller,
  asked: Question,
  only: string | null,
): Promise<Json> {
  const { active } = x;
  const isSession = asked.endpoint === REALTIME;
  const call: Exchange = {
    ...x,
    headers: readHeaders(active.rules, isSession ? asked.headers : [...JSON_BODY, ...asked.headers]),
    path: `/v1/${asked.endpoint.path}`,
    query: isSession ? sessionQuery(asked) : asked.query,
  };
  const [headers, query, body]: [HeaderDecision[], QueryDecision[], BodyChange[]] = [[], [], []];
  let translation: TranslationNote | null = null;
  const explainer = {
    translated: (note: TranslationNote) => {
      translation = note;
    },
    header: (decision: HeaderDecision) => headers.push(decision),
    query: (decision: QueryDecision) => query.push(decision),
    body: (change: BodyChange) => body.push(change),
  };
  const run = await dryRun(call, caller, callIn(asked), {
    explainer,
    ...(only === null ? {} : { choose: (plan: CallPlan) => selectedOf(plan, only) }),
  });
  if (run.is !== 'served') throw run.fault;
  const { plan, selected, request: sent } = run;
  const { identity, request, chaos } = run.call;
  const { config } = selected.deployment;
  return {
    url: sent === null ? null : `${sent.method} ${sent.origin}${sent.path}`,
    deployment: { id: config.id, model_name: config.group, api_base: config.apiBase, kind: config.kind },
    gateway: config.gateway.name,
    model: request.model,
    upstream_model: selected.upstreamModel,
    protocol: (sent ?? request.endpoint).protocol.name,
    translation,
    session: { id: identity.sessionId, source: identity.sessionSource },
    forwards_client_headers: selected.forwards,
    headers: headers.map(({ name, action, rule }) => ({ name, action, rule })),
    query: query.map(({ name, action, rule }) => ({ name, action, rule })),
    body,
    plan: plan.group.deployments.map((one) => one.config.id),
    fallbacks: plan.others.map(({ name }) => name),
    warnings: [
      ...identity.warnings,
      ...(chaos === null ? [] : [chaosNote(chaos)]),
      ...(sent === null ? [COUNTED_HERE] : []),
    ],
  };
}

const JSON_BODY = ['content-type', 'application/json'] as const;
/** null = none. */
const sessionModel = ({ body: { model } }: Question): string | null =>
  typeof model === 'string' ? model : null;

/** The handshake of a session names its model there. */
function sessionQuery(asked: Question): string {
  const named = `model=${encodeURIComponent(sessionModel(asked) ?? '')}`;
  return asked.query === '' ? named : `${named}&${asked.query}`;
}

const isOfSession = (body: Json): boolean =>
  Object.entries(body).every(([name, value]) => name === 'model' && typeof value === 'string');

/** @throws Fault invalid_parameter */
function callIn(asked: Question): Asked {
  const { endpoint, body } = asked;
  if (endpoint === REALTIME) return { is: 'session', model: sessionModel(asked) };
  const pathModel = endpoint.path.includes('{model}') ? modelIn(body) : null;
  return { is: 'call', endpoint, body: Buffer.from(JSON.stringify(body)), pathModel };
}

/** @throws Fault invalid_parameter for an entry that the call would never go to */
function selectedOf({ group }: CallPlan, id: string): SelectedDeployment {
  const deployment = group.deployments.find(({ config }) => config.id === id);
  if (deployment === undefined) throw wrong('body', 'names another model than the entry');
  return group.select(deployment);
}

/** Where the path of a call names the model, the body of the question does. */
function modelIn({ model }: Json): string {
  if (typeof model === 'string') return model;
  throw wrong('body', 'names the model in `model`');
}

/** @throws Fault invalid_parameter */
function askedIn({
  endpoint = 'chat/completions',
  body,
  headers = {},
  query = '',
  entry = null,
}: Json): Question {
  const found = EXPLAINED.find(({ path }) => path === endpoint);
  if (found === undefined)
    throw wrong('endpoint', `is one of ${EXPLAINED.map(({ path }) => path).join(', ')}`);
  if (!isObject(body)) throw wrong('body', 'is the body of the call: an object');
  if (found === REALTIME && !isOfSession(body))
    throw wrong(
      'body',
      'of a session is `{"model": NAME}`: a handshake has no body and names its model in the query',
    );
  if (!isObject(headers)) throw wrong('headers', 'is an object of names and texts');
  const flat = Object.entries(headers).flatMap(([name, value]) => {
    if (!FIELD_NAME.test(name) || typeof value !== 'string' || !FIELD_VALUE.test(value))
      throw wrong('headers', `has ${JSON.stringify(name.slice(0, 60))}, which is no header`);
    return [name, value];
  });
  if (typeof query !== 'string' || !QUERY.test(query))
    throw wrong('query', 'is a query without question mark');
  if (entry !== null && !isObject(entry)) throw wrong('entry', 'is an entry of a model_list: an object');
  return { endpoint: found, body, headers: flat, query, entry };
}

const wrong = (param: string, what: string): Fault =>
  new Fault('invalid_parameter', `The member ${param} ${what}.`, { param });
