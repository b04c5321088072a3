// A parsed request and a deployment -> the upstream request: path, headers, and the body with exactly the members changed
// that must be.
import { Buffer } from 'node:buffer';
import type { Deployment } from '../../config/snapshot.ts';
import { upstreamPath } from '../../config/upstream-path.ts';
import { Fault } from '../errors/fault.ts';
import { isControlMember } from '../active-config/read-members.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Observation } from '../relay/tap.ts';
import type { HeaderDecision } from '../headers/upstream-headers.ts';
import type { Cut } from '../bodies/splice.ts';
import type { Exchange } from './exchange.ts';
import { messageNameCuts } from './message-names.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { Identity } from './identity.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import { usagePricer } from './charge.ts';
import { pathWithQuery, type QueryDecision } from './upstream-query.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { TranslatedResponse } from '../relay/translated-response.ts';
import { mergedTags } from './identity.ts';
import { upstreamHeaders } from '../headers/upstream-headers.ts';
import { traceHeaders } from '../headers/trace-context.ts';
import type { FormEdit } from '../bodies/multipart.ts';
import { formCutsOf } from '../bodies/multipart.ts';
import type { Edit } from '../bodies/splice.ts';
import { cutsOf } from '../bodies/splice.ts';
import { sessionEdits, type SessionEdit } from './session-members.ts';
import { translateCall, withOwnSignatures, type Translated } from './translate-call.ts';
import { forProtocol, inPath, queryFor } from './translated-head.ts';
import { lastEventOf, noted, translatedResponse } from './translated-response.ts';
import { otherProtocol } from './upstream-protocol.ts';

/** One change to the body, as `explain` prints it. */
export interface BodyChange {
  readonly member: string;
  readonly change: 'replaced' | 'removed' | 'added';
  readonly why: string;
}

/** Protocols by name, and the members that were dropped: dotted paths. */
export interface TranslationNote {
  readonly from: string;
  readonly to: string;
  readonly dropped: readonly string[];
}

interface Explainer {
  readonly query: (decision: QueryDecision) => void;
  readonly header: (decision: HeaderDecision) => void;
  readonly body: (change: BodyChange) => void;
  /** Called where the upstream speaks another protocol than the caller. */
  readonly translated: (note: TranslationNote) => void;
}

/** What a further attempt may add to the body. */
interface BuildOptions {
  /** Another upstream may take over as long as nothing was sent to the client. */
  readonly replaceable?: boolean;
  readonly explainer?: Explainer;
  /** Of the deployment that is asked, where the plan has translated the call for it. */
  readonly translated?: Translated | null;
  /** Further changes to the body. */
  readonly cuts?: readonly Cut[];
}

/**
 * Builds the request to one deployment out of a request that names a model. The body must be as the client sent it; it is
 * changed, and a lease on it goes with the upstream request. @throws Fault invalid_header, duplicate_parameter
 */
export function buildUpstreamRequest(
  x: Exchange,
  request: ParsedRequest,
  identity: Identity,
  selected: SelectedDeployment,
  { replaceable = false, explainer, translated: made = null, cuts = [] }: BuildOptions = {},
): UpstreamRequest {
  const { endpoint, stream } = request;
  const to = otherProtocol(selected.deployment, endpoint, x.active.services.clock.mono);
  const isMade = made !== null && made.deployment === selected.deployment && made.to === to;
  let call = isMade ? made.call : null;
  if (!isMade && to !== null) call = translateCall(x, request, identity, selected, to, cuts);
  const cleaned = call === null ? withOwnSignatures(x, request, selected, cuts) : null;
  const going = call?.request ?? cleaned ?? request;
  const asksUsage = call === null && wantsUsageEvent(x, request, selected);
  const changes = bodyChanges(x, going, selected, asksUsage);
  for (const member of call?.unwanted ?? [])
    if (!changes.some((one) => one.member === member))
      changes.push({ member, change: 'removed', why: 'not asked for by the client' });
  const sessions = sessionsToMend(going, identity, selected);
  const nameCuts = selected.deployment.config.namesToolsAlone ? messageNameCuts(going) : NO_CUTS;
  if (explainer !== undefined) {
    if (nameCuts.length > 0)
      explainer.body({
        member: 'messages[].name',
        change: 'removed',
        why: 'taken in messages of tools alone',
      });
    if (call !== null)
      explainer.translated({
        from: endpoint.protocol.name,
        to: going.endpoint.protocol.name,
        dropped: call.translation.dropped,
      });
    changes.forEach((change) => explainer.body(change));
    for (const { member, change } of sessions)
      explainer.body({ member, change, why: 'stated another session than the one that is stamped' });
  }
  const { alwaysIncludeStreamUsage, costInStreamingUsage, estimateMissingUsage } = x.active.snapshot;
  const pricer = costInStreamingUsage && stream ? usagePricer(x, endpoint, selected, request.billable) : null;
  const priced = pricer === null ? null : noted(pricer);
  const response = translatedResponse(x, request, call, priced?.again ?? null);
  const observation: Observation = {
    stripUsage: asksUsage && alwaysIncludeStreamUsage !== true,
    keepText: estimateMissingUsage && endpoint.counted === 'prompt and answer',
    priceUsage: response === null ? pricer : (priced?.note ?? null),
    // A translated stream is over when its client has the last event of its own: see translated-sink.ts.
    lastEvent: response === null ? lastEventOf(request) : 'finish',
    expectsAnswer: true,
  };
  const further = going === request ? cuts : NO_CUTS;
  const bodyEdits = bodyCuts(going, changes, selected);
  going.body.edit(bodyEdits.concat(...sessions.map((one) => one.cuts), nameCuts, further));
  const { bytes, giveBack } = going.body.lease();
  const path = going.endpoint.path.replace('{model}', () => inPath(selected.upstreamModel));
  const own: Own = {
    body: bytes,
    bodySent: giveBack,
    observation,
    stream,
    replaceable,
    method: 'POST',
    path,
    translated: response,
  };
  const built = upstreamRequest(x, going.endpoint, selected, identity, own, explainer);
  return call === null ? built : forProtocol(built, selected, endpoint.protocol, explainer?.header);
}

const NO_CUTS: readonly Cut[] = Object.freeze([]);

/** Builds the request about a response that exists: no body of the client's, the id in the path. */
export function buildByIdRequest(
  x: Exchange,
  endpoint: Endpoint,
  identity: Identity,
  selected: SelectedDeployment,
  method: UpstreamRequest['method'],
  path: string,
): UpstreamRequest {
  return upstreamRequest(x, endpoint, selected, identity, {
    body: method === 'POST' ? Buffer.from('{}') : null,
    bodySent: () => undefined,
    observation: {
      stripUsage: false,
      keepText: false,
      priceUsage: null,
      lastEvent: 'done',
      expectsAnswer: !endpoint.returnsStored,
    },
    stream: false,
    replaceable: false,
    method,
    path,
    translated: null,
  });
}

/** The prefix of a deployment for the API that is spoken. */
function inProtocol(
  { pathPrefix, modelInPath }: Deployment,
  { protocol }: Endpoint,
): Pick<Deployment, 'pathPrefix' | 'modelInPath'> {
  return { pathPrefix: protocol.prefixOf?.(pathPrefix) ?? pathPrefix, modelInPath };
}

/** What differs between the two kinds of request. */
interface Own extends Pick<UpstreamRequest, 'body' | 'bodySent' | 'observation' | 'method'> {
  readonly stream: boolean;
  readonly replaceable: boolean;
  /** Below the prefix of the deployment. */
  readonly path: string;
  readonly translated: TranslatedResponse | null;
}

function upstreamRequest(
  x: Exchange,
  endpoint: Endpoint,
  selected: SelectedDeployment,
  identity: Identity,
  { body, bodySent, observation, stream, replaceable, method, path, translated }: Own,
  explainer?: Explainer,
): UpstreamRequest {
  const { config, pool } = selected.deployment;
  const { clocks } = config;
  const headers = headersFor(x, selected, identity, body !== null, explainer?.header);
  return {
    pool,
    origin: config.origin,
    apiBase: config.apiBase,
    method,
    path: pathWithQuery(
      upstreamPath(inProtocol(config, endpoint), path, selected.upstreamModel),
      queryFor(endpoint, x.query),
      { documented: endpoint.query, allowed: config.allowedQuery, own: config.upstreamQuery },
      (decision) => {
        if (decision.action === 'dropped') x.active.services.metrics.queryParameterDropped();
        explainer?.query(decision);
      },
    ),
    headers,
    body,
    bodySent,
    clocks,
    readOn: config.readsOn || x.res.keeps ? config.readOn : null,
    ...firstByteClock(x, stream, stream ? clocks.streamFirstByteMs : clocks.firstByteMs),
    firstTokenMs: stream ? clocks.firstTokenMs : 0,
    holdsHead: stream && (replaceable || clocks.firstTokenMs > 0),
    protocol: endpoint.protocol,
    translated,
    errors: endpoint.protocol.errors,
    gatherBytes: translated === null ? GATHER_BYTES : GATHER_TRANSLATED_BYTES,
    observation,
    answerNames: config.gateway,
    ownPrefix: x.active.snapshot.dialect.headerPrefix,
    apiKey: config.apiKey,
  };
}

/** Responses up to this size are gathered: head and body leave in one write, and the cost header can be exact. */
const GATHER_BYTES = 262_144;
/** What is translated has to be read as a whole. */
const GATHER_TRANSLATED_BYTES = 33_554_432;

const NO_EDITS: readonly SessionEdit[] = Object.freeze([]);

/** Where a session is stamped in a header, the body says no other. */
function sessionsToMend(
  request: ParsedRequest,
  identity: Identity,
  { deployment: { config }, forwards }: SelectedDeployment,
): readonly SessionEdit[] {
  const { session, sessionMembers } = config.gateway;
  const stamps = session !== null && (forwards || identity.keyHeaders !== null);
  if (!stamps || sessionMembers === null || config.stripsControlMembers) return NO_EDITS;
  return sessionEdits(request, sessionMembers, identity.sessionId);
}

/** The headers of a request to a deployment: one policy for calls and for the handshakes of sessions. Flat name, value list. */
export function headersFor(
  x: Exchange,
  selected: SelectedDeployment,
  identity: Identity,
  hasBody: boolean,
  explain?: (decision: HeaderDecision) => void,
): string[] {
  const { config, headers } = selected.deployment;
  const call = {
    forwards: selected.forwards,
    keyHeaders: identity.keyHeaders,
    identity: {
      sessionId: identity.sessionId,
      endUser: identity.endUser,
      tags: mergedTags(config.attribution.tags, identity.tags),
      metadata: identity.spendLogsMetadata,
    },
    trace: traceOf(x),
    hasBody,
  };
  return upstreamHeaders(x.active.rules, x.headers, headers, call, explain);
}

const UNTRACED: readonly string[] = Object.freeze([]);

function traceOf({ trace, headers, active }: Exchange): readonly string[] {
  const propagates = trace !== null && active.services.traces?.propagates === true;
  return propagates ? traceHeaders(trace, headers.tracestate) : UNTRACED;
}

/**
 * `x-<brand>-timeout`, for streams `x-<brand>-stream-timeout` before it: seconds, the client's own first-byte clock. Only
 * where it is shorter than the configured one does the client decide when the time is over.
 * @throws Fault invalid_header
 */
function firstByteClock(
  x: Exchange,
  stream: boolean,
  configuredMs: number,
): Pick<UpstreamRequest, 'firstByteMs' | 'firstByteOf'> {
  const { timeout, streamTimeout } = x.headers;
  const ofStream = stream && streamTimeout !== null;
  const text = ofStream ? streamTimeout : timeout;
  if (text === null) return { firstByteMs: configuredMs, firstByteOf: 'entry' };
  const seconds = Number(text);
  if (text.trim() !== '' && seconds > 0 && seconds < 1e6) {
    const firstByteMs = seconds * 1000;
    const isShorter = configuredMs === 0 || firstByteMs < configuredMs;
    return { firstByteMs, firstByteOf: isShorter ? 'client' : 'entry' };
  }
  const param = `${x.active.snapshot.dialect.headerPrefix}${ofStream ? 'stream-timeout' : 'timeout'}`;
  throw new Fault('invalid_header', `The header ${param} must be a number of seconds above 0.`, { param });
}

/** Streams without usage cannot be billed: ask for it where the client did not. */
function wantsUsageEvent(x: Exchange, request: ParsedRequest, { deployment }: SelectedDeployment): boolean {
  if (!request.stream || !request.endpoint.usageOnRequest) return false;
  if (deployment.config.refusedMembers.has('stream_options')) return false; // it states the usage unasked
  if (x.active.snapshot.alwaysIncludeStreamUsage === false) return false;
  return request.streamOptions?.['include_usage'] !== true;
}

function bodyChanges(
  x: Exchange,
  request: ParsedRequest,
  selected: SelectedDeployment,
  asksUsage: boolean,
): BodyChange[] {
  const changes: BodyChange[] = [];
  const { config } = selected.deployment;
  const { brand } = x.active.snapshot.dialect;
  const names =
    request.members.kind === 'json' ? request.members.peeked.members : request.members.peeked.fields;
  const has = (member: string): boolean => names.some(({ name }) => name === member);
  const isInPath = request.endpoint.path.includes('{model}');
  if (isInPath && has('model'))
    changes.push({ member: 'model', change: 'removed', why: 'the path names it' });
  else if (!isInPath && request.bodyModel !== selected.upstreamModel) {
    const why = request.bodyModel === null ? 'the path names it' : `upstream name of ${config.group}`;
    changes.push({ member: 'model', change: has('model') ? 'replaced' : 'added', why });
  }
  for (const { name } of names) {
    if (name === 'fallbacks' && request.ownFallbacks !== undefined)
      changes.push({ member: name, change: 'removed', why: 'names of this proxy, which falls back to them' });
    else if (name === 'user')
      changes.push({ member: name, change: 'removed', why: 'recorded as end user, not forwarded' });
    else if (config.refusedMembers.has(name))
      changes.push({ member: name, change: 'removed', why: `${config.provider} refuses it` });
    else if (config.stripsControlMembers && isControlMember(name, brand)) {
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

function valueOf(request: ParsedRequest, selected: SelectedDeployment, member: string): string {
  if (member === 'model') return selected.upstreamModel;
  return JSON.stringify({ ...request.streamOptions, include_usage: true });
}

function bodyCuts(
  request: ParsedRequest,
  changes: readonly BodyChange[],
  selected: SelectedDeployment,
): readonly Cut[] {
  const { members } = request;
  if (changes.length === 0) return [];
  if (members.kind === 'form') {
    const edits = changes.map(({ member, change }): FormEdit => {
      if (change === 'added')
        return { kind: 'append', name: member, value: valueOf(request, selected, member) };
      const field = members.peeked.fields.find((one) => one.name === member);
      if (field === undefined) throw new Error(`no field ${member}`);
      if (change === 'removed') return { kind: 'remove', field };
      return { kind: 'replace', field, value: valueOf(request, selected, member) };
    });
    return formCutsOf(members.peeked, edits);
  }
  const edits = changes.map(({ member, change }): Edit => {
    const text =
      member === 'model' ? JSON.stringify(selected.upstreamModel) : valueOf(request, selected, member);
    if (change === 'added') return { kind: 'append', name: member, value: text };
    const found = members.peeked.members.find((one) => one.name === member);
    if (found === undefined) throw new Error(`no member ${member}`);
    return change === 'removed'
      ? { kind: 'remove', member: found }
      : { kind: 'replace', member: found, value: text };
  });
  return cutsOf(members.peeked, edits);
}
