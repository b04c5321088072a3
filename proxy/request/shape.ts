// Ask + target -> the upstream call: path, headers, and the body with exactly the members changed that must be.
import { CONTROL_MEMBERS } from '../live.ts';
import type { Call } from '../upstream/call.ts';
import type { Observation } from '../relay/tap.ts';
import { headroomOf } from '../wire/headroom.ts';
import { traceHeaders } from '../headers/trace-context.ts';
import { upstreamHeaders, type HeaderDecision } from '../headers/upstream-headers.ts';
import { formCutsOf, type FormEdit } from '../bodies/multipart.ts';
import { applyCuts, cutsOf, undoing, type Cut, type Edit } from '../bodies/splice.ts';
import { Fault } from '../errors/fault.ts';
import type { Ask } from './ask.ts';
import { usagePricer } from './charge.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { Exchange } from './exchange.ts';
import { mergedTags, type Identity } from './identity.ts';
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

/** A call, and how to have the client's bytes again for another one. */
export interface Shaped extends Call {
  /** What makes of `body` the client's again; null when those bytes are as they were, or nobody will ask for them. */
  readonly undo: readonly Cut[] | null;
}

/**
 * Shapes a call that names a model. The bytes of `ask` may be changed in place: `unshaped` gives them back.
 * @param replaceable another upstream may take over as long as nothing was sent to the client
 * @param more further changes to the body
 */
export function shape(
  x: Exchange,
  ask: Ask,
  picked: Picked,
  replaceable = false,
  explainer?: Explainer,
  more: readonly Cut[] = [],
): Shaped {
  const asksUsage = wantsUsageEvent(x, ask);
  const changes = bodyChanges(x, ask, picked, asksUsage);
  if (explainer !== undefined) changes.forEach((change) => explainer.body(change));
  const { alwaysIncludeStreamUsage, costInStreamingUsage, estimateMissingUsage } = x.live.snapshot;
  const observation: Observation = {
    stripUsage: asksUsage && alwaysIncludeStreamUsage !== true,
    keepText: estimateMissingUsage && ask.endpoint.counted === 'prompt and answer',
    priceUsage:
      costInStreamingUsage && ask.stream ? usagePricer(x, ask.endpoint, picked, ask.measures) : null,
  };
  const cuts = [...bodyCuts(ask, changes, picked), ...more];
  const mustUndo = replaceable && cuts.length > 0 && headroomOf(ask.body.bytes) > 0;
  const undo = mustUndo ? undoing(ask.body.bytes, cuts) : null;
  const body = cuts.length === 0 ? ask.body.bytes : applyCuts(ask.body.bytes, cuts);
  const parts = { body, undo, observation, stream: ask.stream, replaceable };
  return callFor(x, ask.endpoint, picked, ask.endpoint.path, ask.identity, parts, explainer);
}

/**
 * The ask with its bytes as the client sent them, after `shaped` was made of it. They have no room before them any more:
 * a connection of the attempt that failed may still read the memory, so nothing is written into it.
 */
export function unshaped(ask: Ask, { body, undo }: Shaped): Ask {
  const bytes = undo === null || body === null ? ask.body.bytes.subarray() : applyCuts(body.subarray(), undo);
  return { ...ask, body: { ...ask.body, bytes } };
}

/** Shapes a call on a response that exists: no body of the client's, the id in the path. */
export function shapeById(
  x: Exchange,
  endpoint: Endpoint,
  picked: Picked,
  method: Call['method'],
  path: string,
  identity: Identity,
): Call {
  const more = {
    body: method === 'POST' ? Buffer.from('{}') : null,
    undo: null,
    observation: { stripUsage: false, keepText: false, priceUsage: null },
    stream: false,
    replaceable: false,
    method,
  };
  return callFor(x, endpoint, picked, path, identity, more);
}

function callFor(
  x: Exchange,
  endpoint: Endpoint,
  picked: Picked,
  path: string,
  identity: Identity,
  more: {
    body: Buffer | null;
    undo: Shaped['undo'];
    observation: Observation;
    stream: boolean;
    replaceable: boolean;
    method?: Call['method'];
  },
  explainer?: Explainer,
): Shaped {
  const { route, pool, headers } = picked.target;
  const { gateway } = route;
  const { keyHeaders } = identity;
  const call = {
    forwards: picked.forwards,
    keyHeaders,
    identity: {
      sessionId: identity.sessionId,
      endUser: identity.endUser,
      tags: mergedTags(route.attribution.tags, identity.tags),
      metadata: identity.spendLogsMetadata,
    },
    trace: traceOf(x),
    hasBody: more.body !== null,
  };
  const list = upstreamHeaders(x.live.rules, x.headers, headers, call, explainer?.header);
  const query = x.query === '' ? '' : `?${x.query}`;
  return {
    pool,
    origin: route.origin,
    apiBase: route.apiBase,
    method: more.method ?? 'POST',
    path: `${route.pathPrefix}/${path}${query}`,
    headers: list,
    body: more.body,
    undo: more.undo,
    clocks: route.clocks,
    readOn: route.readsOn || x.res.keeps ? route.readOn : null,
    firstByteMs: firstByteMs(x, more.stream ? route.clocks.streamFirstByteMs : route.clocks.firstByteMs),
    firstTokenMs: more.stream ? route.clocks.firstTokenMs : 0,
    holdsHead: more.stream && (more.replaceable || route.clocks.firstTokenMs > 0),
    protocol: endpoint.protocol,
    observation: more.observation,
    answerNames: gateway,
    ownNames: x.live.ownNames,
  };
}

const UNTRACED: readonly string[] = Object.freeze([]);

function traceOf({ trace, headers, live }: Exchange): readonly string[] {
  const isTold = trace !== null && live.house.traces?.propagates === true;
  return isTold ? traceHeaders(trace, headers.tracestate) : UNTRACED;
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

function bodyCuts(ask: Ask, changes: readonly BodyChange[], picked: Picked): readonly Cut[] {
  const { body } = ask;
  if (changes.length === 0) return [];
  if (body.kind === 'form') {
    const edits = changes.map(({ member, change }): FormEdit => {
      if (change === 'added') return { kind: 'append', name: member, value: valueOf(ask, picked, member) };
      const field = body.peeked.fields.find((one) => one.name === member);
      if (field === undefined) throw new Error(`no field ${member}`);
      if (change === 'removed') return { kind: 'remove', field };
      return { kind: 'replace', field, value: valueOf(ask, picked, member) };
    });
    return formCutsOf(body.peeked, edits);
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
  return cutsOf(body.peeked, edits);
}
