// A parsed request and a deployment -> the upstream request: path, headers, and the body with exactly the members changed
// that must be.
import { Buffer } from 'node:buffer';
import type { Deployment } from '../../config/snapshot.ts';
import { upstreamPath } from '../../config/upstream-path.ts';
import { Fault } from '../errors/fault.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Observation } from '../relay/tap.ts';
import type { HeaderDecision } from '../headers/upstream-headers.ts';
import type { Cut } from '../bodies/splice.ts';
import { askedOf, tierAsked } from './asked-of.ts';
import { billableIn } from './billable-units.ts';
import { bodyChanges, bodyCuts, type BodyChange } from './body-changes.ts';
import { CONSOLE_PATH } from './console-session.ts';
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
import { sessionEdits, type SessionEdit } from './session-members.ts';
import { statedChanges, type SetMember } from './stated-members.ts';
import { translateCall, withOwnSignatures, type Translated, type TranslatedCall } from './translate-call.ts';
import { forProtocol, inPath, queryFor } from './translated-head.ts';
import { lastEventOf, noted, translatedResponse } from './translated-response.ts';
import { otherProtocol, servingOf } from './upstream-protocol.ts';

/** Protocols by name, and the members that were dropped: dotted paths. */
export interface TranslationNote {
  readonly from: string;
  readonly to: string;
  readonly dropped: readonly string[];
}

/** Is told what becomes of each part of a request that is explained, not sent. */
export interface Explainer {
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
  const { endpoint, stream, streamOptions } = request;
  const call = callFor(x, request, identity, selected, made, cuts);
  const going = call?.request ?? withOwnSignatures(x, request, selected, cuts) ?? request;
  const asksUsage = call === null && wantsUsageEvent(x, request, selected);
  const stated = statedChanges(going, selected, call);
  const changes = bodyChanges(x, going, selected, asksUsage, call?.unwanted ?? [], stated);
  const sessions = otherSessions(going, identity, selected, stated);
  const nameCuts = selected.deployment.config.namesToolsAlone ? messageNameCuts(going) : NO_CUTS;
  if (explainer !== undefined) {
    if (nameCuts.length > 0) explainer.body(NAME_REMOVED);
    if (call !== null)
      explainer.translated({
        from: endpoint.protocol.name,
        to: going.endpoint.protocol.name,
        dropped: call.translation.dropped,
      });
    for (const { member, change, why } of changes) explainer.body({ member, change, why });
    for (const { member, change } of sessions)
      explainer.body({ member, change, why: 'stated another session than the one that is stamped' });
  }
  const { alwaysIncludeStreamUsage, costInStreamingUsage, estimateMissingUsage } = x.active.snapshot;
  const tier = tierAsked(endpoint, selected, request.billable.serviceTier);
  const billable = billableIn(going.endpoint.protocol, endpoint, request.billable, tier);
  const pricer = costInStreamingUsage && stream ? usagePricer(x, endpoint, selected, billable) : null;
  const priced = pricer === null ? null : noted(pricer);
  const translatedTo = translatedResponse(x, request, call, priced?.again ?? null);
  const observation: Observation = {
    stripUsage: asksUsage && alwaysIncludeStreamUsage !== true,
    keepText: estimateMissingUsage && endpoint.counted === 'prompt and answer',
    priceUsage: translatedTo === null ? pricer : (priced?.note ?? null),
    // What is translated states it anyway.
    askedModel: call === null && selected.deployment.config.statesAskedModel ? request.asked : null,
    // A translated stream is over when its client has the last event of its own: see translated-sink.ts.
    lastEvent:
      translatedTo === null ? lastEventOf(askedOf(request, selected).isSingle, streamOptions) : 'finish',
    expectsAnswer: true,
  };
  const all = [...bodyCuts(going, changes)];
  for (const one of sessions) all.push(...one.cuts);
  all.push(...nameCuts, ...(going === request ? cuts : NO_CUTS));
  going.body.edit(all);
  const { bytes, giveBack } = going.body.lease();
  const parts: RequestParts = {
    body: bytes,
    bodySent: giveBack,
    observation,
    stream,
    replaceable,
    method: 'POST',
    path: going.endpoint.path.replace('{model}', () => inPath(selected.upstreamModel)),
    translated: translatedTo,
  };
  const built = upstreamRequest(x, going.endpoint, selected, identity, parts, explainer);
  return call === null ? built : forProtocol(built, selected, endpoint.protocol, explainer?.header);
}

const NO_CUTS: readonly Cut[] = Object.freeze([]);
const NAME_REMOVED: BodyChange = {
  member: 'messages[].name',
  change: 'removed',
  why: 'taken in messages of tools alone',
};

/** The call in the protocol of its upstream; null: it goes as it is. @param made a translation that may be for this deployment */
function callFor(
  x: Exchange,
  request: ParsedRequest,
  identity: Identity,
  selected: SelectedDeployment,
  made: Translated | null,
  cuts: readonly Cut[],
): TranslatedCall | null {
  const to = otherProtocol(servingOf(x, selected), request.endpoint, x.active.services.clock.mono);
  if (to === null) return null;
  const isMade = made?.deployment === selected.deployment && made.to === to;
  return isMade ? made.call : translateCall(x, request, identity, { selected, to }, cuts);
}

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
      askedModel: null, // what its caller asked for is not known any more
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
interface RequestParts extends Pick<UpstreamRequest, 'body' | 'bodySent' | 'observation' | 'method'> {
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
  { body, bodySent, observation, stream, replaceable, method, path, translated }: RequestParts,
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
        if (explainer !== undefined) explainer.query(decision);
        else if (decision.action === 'dropped') x.active.services.metrics.queryParameterDropped();
      },
    ),
    headers,
    body,
    bodySent,
    clocks,
    readOn: config.readsOn || x.res.keeps ? config.readOn : null,
    ...firstByteClock(x, stream, stream ? clocks.streamFirstByteMs : clocks.firstByteMs),
    firstTokenMs: stream ? clocks.firstTokenMs : 0,
    wantsStream: stream,
    holdsHead: stream && (replaceable || clocks.firstTokenMs > 0),
    protocol: endpoint.protocol,
    translated,
    errors: endpoint.protocol.errors,
    gatherBytes: translated === null ? GATHER_BYTES : GATHER_TRANSLATED_BYTES,
    observation,
    answerNames: config.gateway,
    ownPrefix: x.active.snapshot.dialect.headerPrefix,
    isForThePage: x.path.startsWith(`${CONSOLE_PATH}/`),
    apiKey: config.apiKey,
  };
}

/** Responses up to this size are gathered: head and body leave in one write, and the cost header can be exact. */
const GATHER_BYTES = 262_144;
/** What is translated has to be read as a whole. */
const GATHER_TRANSLATED_BYTES = 33_554_432;

const NO_EDITS: readonly SessionEdit[] = Object.freeze([]);

/** Members that state another session than the one that is stamped in a header. */
function otherSessions(
  request: ParsedRequest,
  identity: Identity,
  { deployment: { config }, forwards }: SelectedDeployment,
  stated: readonly SetMember[],
): readonly SessionEdit[] {
  const { session, sessionMembers } = config.gateway;
  const stamps = session !== null && (forwards || identity.keyHeaders !== null);
  if (!stamps || sessionMembers === null || config.stripsControlMembers) return NO_EDITS;
  const edits = sessionEdits(request, sessionMembers, identity.sessionId);
  // What the operator states of a member is not changed again.
  return edits.filter(({ member }) => !stated.some((one) => member.split('.', 1)[0] === one.member));
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
