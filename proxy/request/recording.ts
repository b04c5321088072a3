// From the values of the steps to the begin and settle entries of the spend journal. Pure.
import type { Fault } from '../errors/fault.ts';
import { costOf } from '../record/cost.ts';
import type { Attempt, EndReason, SpendBegin, SpendRecord } from '../record/record.ts';
import type { Outcome } from '../upstream/relay.ts';
import { NO_TOKENS, readTokens } from '../wire/usage.ts';
import type { Caller } from './authenticate.ts';
import type { Endpoint } from './endpoints.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { Picked } from './pick.ts';

/** What the steps have found out so far; later ones are null when a fault came first. */
export interface Found {
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly identity: Identity;
  readonly stream: boolean;
  readonly requestBytes: number;
  readonly picked: Picked | null;
}

const TEXT = 512; // clients choose these texts; rows stay small
const clip = (text: string | null): string | null =>
  text !== null && text.length > TEXT ? text.slice(0, TEXT) : text;

/** The columns that tell where a request went. */
export function placeOf(
  picked: Picked | null,
): Pick<SpendBegin, 'model' | 'modelId' | 'provider' | 'apiBase'> {
  const route = picked?.target.route ?? null;
  return {
    model: picked?.upstreamModel ?? '',
    modelId: route?.id ?? null,
    provider: route?.provider ?? null,
    apiBase: route?.apiBase ?? null,
  };
}

/** The begin entry: all that is known before the first byte goes upstream. */
export function beginOf(x: Exchange, found: Found): SpendBegin {
  const { identity, picked } = found;
  return {
    requestId: x.id,
    callType: found.endpoint.callType,
    startMs: x.startMs,
    apiKeyHash: found.caller.keyHash,
    ...placeOf(picked),
    modelGroup: clip(found.model) ?? '',
    sessionId: identity.sessionId,
    sessionSource: identity.sessionSource,
    endUser: identity.endUser,
    tags: identity.tags,
    spendLogsMetadata: identity.spendLogsMetadata,
    clientCallId: clip(x.headers.callId),
    clientAddress: x.req.clientAddress,
    userAgent: clip(x.headers.userAgent),
    stream: found.stream,
    requestBytes: found.requestBytes,
    warnings: identity.warnings,
  };
}

/** What an answer used and what it cost. */
export type Charge = Pick<SpendRecord, 'usage' | 'tokens' | 'spendPico' | 'costSource' | 'costReason'>;

export function chargeOf(x: Exchange, endpoint: Endpoint, picked: Picked, outcome: Outcome): Charge {
  const { route } = picked.target;
  const usage = endpoint.retells ? null : outcome.reading.usage;
  const tokens = readTokens(usage);
  const known = route.group.includes('*')
    ? (x.live.house.catalogue.lookUp(picked.upstreamModel)?.prices ?? null)
    : route.cataloguePrices;
  const cost = costOf(tokens, route.prices, outcome.upstreamCost, known, picked.upstreamModel);
  // A failed answer costs nothing unless the upstream says otherwise by usage or by its cost header.
  const free =
    endpoint.retells || (outcome.end === 'upstream_error' && usage === null && cost.costSource === 'none');
  return { usage, tokens, ...(free ? { spendPico: 0, costSource: 'none', costReason: '' } : cost) };
}

/** What is owed for an attempt that ended with a fault: nothing when it never reached the upstream, else who knows. */
export function faultPico(fault: Fault): number | null {
  return fault.code === 'upstream_unreachable' || fault.code === 'connect_timeout' ? 0 : null;
}

/** The settle entry of an exchange that reached its upstream and got an answer. */
export function settleOf(
  x: Exchange,
  begin: SpendBegin,
  endpoint: Endpoint,
  picked: Picked,
  outcome: Outcome,
): SpendRecord {
  const charge = chargeOf(x, endpoint, picked, outcome);
  const ended = x.live.house.clock.now();
  return {
    ...begin,
    endMs: ended,
    // Rounded down and bounded: of two clocks read one after the other, the first byte must not come after the end.
    firstByteMs:
      outcome.firstByteAt === null
        ? null
        : Math.min(ended, begin.startMs + Math.floor(outcome.firstByteAt - x.startedAt)),
    status: outcome.end === 'complete' ? 'success' : 'failure',
    endReason: outcome.end,
    httpStatus: outcome.status,
    errorCode: outcome.fault?.code ?? (outcome.end === 'client_gone' ? 'client_gone' : null),
    errorSource:
      outcome.end === 'complete'
        ? null
        : outcome.end === 'client_gone'
          ? 'client'
          : (outcome.fault?.source ?? 'upstream'),
    attempts: 1,
    attemptLog: [],
    responseBytes: outcome.responseBytes,
    upstreamId: clip(outcome.reading.id),
    upstreamCallId: clip(outcome.upstreamCallId),
    ...charge,
    usageSource: charge.usage === null ? 'none' : 'upstream',
  };
}

/** The settle entry of an exchange that ended with a fault before an answer was sent. */
export function settleFault(x: Exchange, begin: SpendBegin, fault: Fault, reached: boolean): SpendRecord {
  const end = endOf(fault);
  const cost = reached ? faultPico(fault) : 0;
  return {
    ...begin,
    endMs: x.live.house.clock.now(),
    firstByteMs: null,
    status: 'failure',
    endReason: end,
    httpStatus: end === 'client_gone' ? null : fault.status,
    errorCode: fault.code,
    errorSource: fault.source,
    attempts: reached ? 1 : 0,
    attemptLog: [],
    responseBytes: 0,
    upstreamId: null,
    upstreamCallId: null,
    usage: null,
    usageSource: 'none',
    tokens: NO_TOKENS,
    spendPico: cost,
    costSource: 'none',
    costReason: cost === null ? 'the upstream gave no answer' : '',
  };
}

/** The record with the attempts that were replaced: what is known of their cost is part of what the request cost. */
export function withReplaced(
  record: SpendRecord,
  replaced: readonly Attempt[],
  last: { readonly picked: Picked; readonly startMs: number },
): SpendRecord {
  const failed = record.status === 'failure';
  const attempt: Attempt = {
    modelId: last.picked.target.route.id,
    model: last.picked.upstreamModel,
    apiBase: last.picked.target.route.apiBase,
    startMs: last.startMs,
    durationMs: record.endMs - last.startMs,
    status: record.errorCode === null ? record.httpStatus : null,
    error: failed ? (record.errorCode ?? record.endReason) : null,
    usage: record.usage,
    spendPico: record.spendPico,
  };
  const known = replaced.reduce((sum, { spendPico }) => sum + (spendPico ?? 0), 0);
  const unknown = replaced.filter(({ spendPico }) => spendPico === null).length;
  return {
    ...record,
    attempts: replaced.length + 1,
    attemptLog: [...replaced, attempt],
    spendPico: record.spendPico === null ? null : record.spendPico + known,
    costReason:
      record.costReason === '' && unknown > 0
        ? `of ${unknown} replaced ${unknown === 1 ? 'attempt' : 'attempts'} the cost is not known`
        : record.costReason,
  };
}

function endOf(fault: Fault): EndReason {
  if (fault.code === 'client_gone') return 'client_gone';
  if (fault.code === 'internal_error') return 'proxy_error';
  if (fault.code === 'shutting_down') return 'stopped';
  if (fault.source !== 'upstream') return 'refused';
  return fault.type === 'timeout_error' ? 'timeout' : 'upstream_broken';
}
