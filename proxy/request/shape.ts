// Ask + target -> the upstream call: path, headers, and the body with exactly the members changed that must be.
import { CONTROL_MEMBERS } from '../live.ts';
import type { Call } from '../upstream/relay.ts';
import { spliceMultipart, type FormEdit } from '../wire/multipart.ts';
import { splice, type Edit } from '../wire/splice.ts';
import { upstreamHeaders, type HeaderDecision } from '../wire/upstream-headers.ts';
import { Fault } from '../errors/fault.ts';
import type { Ask } from './ask.ts';
import type { Endpoint } from './endpoints.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { Picked } from './pick.ts';

/** One change to the body, as `explain` prints it. */
export interface BodyChange {
  readonly member: string;
  readonly change: 'replaced' | 'removed' | 'added';
  readonly why: string;
}

export interface Explainer {
  readonly header: (decision: HeaderDecision) => void;
  readonly body: (change: BodyChange) => void;
}

/** Shapes a call that names a model. */
export function shape(x: Exchange, ask: Ask, picked: Picked, explainer?: Explainer): Call {
  const asksUsage = wantsUsageEvent(x, ask);
  const changes = bodyChanges(x, ask, picked, asksUsage);
  if (explainer !== undefined) changes.forEach((change) => explainer.body(change));
  const stripUsage = asksUsage && x.live.snapshot.alwaysIncludeStreamUsage !== true;
  const more = { body: changedBody(ask, changes, picked), stripUsage, stream: ask.stream };
  return callFor(x, ask.endpoint, picked, ask.endpoint.path, ask.identity, more, explainer);
}

/** Shapes a call on a response that exists: no body of the client's, the id in the path. */
export function shapeById(
  x: Exchange,
  endpoint: Endpoint,
  picked: Picked,
  method: Call['method'],
  path: string,
  identity: Pick<Identity, 'sessionId' | 'keyHeaders'>,
): Call {
  const more = {
    body: method === 'POST' ? Buffer.from('{}') : null,
    stripUsage: false,
    stream: false,
    method,
  };
  return callFor(x, endpoint, picked, path, identity, more);
}

function callFor(
  x: Exchange,
  endpoint: Endpoint,
  picked: Picked,
  path: string,
  identity: Pick<Identity, 'sessionId' | 'keyHeaders'>,
  more: { body: Buffer | null; stripUsage: boolean; stream: boolean; method?: Call['method'] },
  explainer?: Explainer,
): Call {
  const { route, dispatcher, headers } = picked.target;
  const { dialect } = x.live.snapshot;
  const session = { name: dialect.sessionHeader, id: identity.sessionId };
  const policy = {
    apiKey: route.apiKey,
    forwardClientHeaders: picked.forwards,
    keyHeaders: identity.keyHeaders,
  };
  const list = upstreamHeaders(x.live.rules, x.headers, policy, headers, session, explainer?.header);
  if (more.body !== null && x.headers.contentType === null) list.push('content-type', 'application/json');
  const query = x.query === '' ? '' : `?${x.query}`;
  return {
    dispatcher,
    origin: route.origin,
    apiBase: route.apiBase,
    method: more.method ?? 'POST',
    path: `${route.pathPrefix}/${path}${query}`,
    headers: list,
    body: more.body,
    clocks: route.clocks,
    firstByteMs: firstByteMs(x, more.stream ? route.clocks.streamFirstByteMs : route.clocks.firstByteMs),
    family: endpoint.family,
    stripUsage: more.stripUsage,
    headerPrefix: dialect.headerPrefix,
    ownNames: x.live.ownNames,
  };
}

/** `x-<brand>-timeout`: seconds, the client's own first-byte clock. @throws Fault invalid_header. */
function firstByteMs(x: Exchange, configuredMs: number): number {
  const text = x.headers.timeout;
  if (text === null) return configuredMs;
  const seconds = Number(text);
  if (text.trim() !== '' && seconds > 0 && seconds < 1e6) return seconds * 1000;
  const param = `${x.live.snapshot.dialect.headerPrefix}timeout`;
  throw new Fault('invalid_header', `The header ${param} must be a number of seconds above 0.`, { param });
}

/** Streams without usage cannot be billed: ask for it where the client did not. */
function wantsUsageEvent(x: Exchange, ask: Ask): boolean {
  if (!ask.stream || !ask.endpoint.usageOnRequest) return false;
  if (x.live.snapshot.alwaysIncludeStreamUsage === false) return false;
  return ask.streamOptions?.['include_usage'] !== true;
}

function bodyChanges(x: Exchange, ask: Ask, picked: Picked, asksUsage: boolean): BodyChange[] {
  const changes: BodyChange[] = [];
  const { route } = picked.target;
  const { brand } = x.live.snapshot.dialect;
  const names = ask.body.kind === 'json' ? ask.body.peeked.members : ask.body.peeked.fields;
  const has = (member: string): boolean => names.some(({ name }) => name === member);
  if (ask.bodyModel !== picked.upstreamModel) {
    const why = ask.bodyModel === null ? 'the path names it' : `upstream name of ${route.group}`;
    changes.push({ member: 'model', change: has('model') ? 'replaced' : 'added', why });
  }
  for (const { name } of names) {
    if (name === 'user')
      changes.push({ member: name, change: 'removed', why: 'recorded as end user, not forwarded' });
    else if (route.stripsControlMembers && (CONTROL_MEMBERS.has(name) || name.startsWith(`${brand}_`))) {
      changes.push({
        member: name,
        change: 'removed',
        why: 'a control member; compat-type upstreams do not know it',
      });
    }
  }
  if (asksUsage) {
    const change = has('stream_options') ? 'replaced' : 'added';
    changes.push({ member: 'stream_options', change, why: 'asks for the usage event' });
  }
  return changes;
}

function valueOf(ask: Ask, picked: Picked, member: string): string {
  if (member === 'model') return picked.upstreamModel;
  return JSON.stringify({ ...ask.streamOptions, include_usage: true });
}

function changedBody(ask: Ask, changes: readonly BodyChange[], picked: Picked): Buffer {
  const { body } = ask;
  if (changes.length === 0) return body.bytes;
  if (body.kind === 'form') {
    const edits = changes.map(({ member, change }): FormEdit => {
      if (change === 'added') return { kind: 'append', name: member, value: valueOf(ask, picked, member) };
      const field = body.peeked.fields.find((one) => one.name === member);
      if (field === undefined) throw new Error(`no field ${member}`);
      if (change === 'removed') return { kind: 'remove', field };
      return { kind: 'replace', field, value: valueOf(ask, picked, member) };
    });
    return spliceMultipart(body.bytes, body.peeked, edits);
  }
  const edits = changes.map(({ member, change }): Edit => {
    const text = member === 'model' ? JSON.stringify(picked.upstreamModel) : valueOf(ask, picked, member);
    if (change === 'added') return { kind: 'append', name: member, value: text };
    const found = body.peeked.members.find((one) => one.name === member);
    if (found === undefined) throw new Error(`no member ${member}`);
    return change === 'removed'
      ? { kind: 'remove', member: found }
      : { kind: 'replace', member: found, value: text };
  });
  return splice(body.bytes, body.peeked, edits);
}
