// Builds the begin and settle entries of the spend journal from the values of the steps. Pure.
// Members are listed one by one: V8 takes four times as long for a spread in the middle of a literal (0.27 us in place of 0.07).
import { ownText } from '../../config/own-text.ts';
import type { Fault } from '../errors/fault.ts';
import type { Estimate } from '../spend/estimate/estimator.ts';
import type { Cost } from '../spend/record/cost.ts';
import { NO_ANSWER } from '../spend/record/record.ts';
import type { Attempt, EndReason, SpendBegin, SpendRecord } from '../spend/record/record.ts';
import { FREE, priceOf, wholeCost } from '../spend/record/reprice.ts';
import type { Outcome, ReadOnEnd } from '../relay/outcome.ts';
import { cleanText } from '../bodies/text.ts';
import { NO_TOKENS, sumOfTokens } from '../protocols/usage.ts';
import type { AttemptStart } from './attempt-log.ts';
import type { ScopedRecord } from '../access/budgets/scopes.ts';
import type { Caller } from './authenticate.ts';
import type { BillableUnits } from './billable-units.ts';
import { pricesFor, statedPico, usedBy, type Used } from './charge.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { Ended } from './classify.ts';
import { withoutCredentials } from '../headers/request-headers.ts';
import { nowOf, timeOf, type Exchange } from './exchange.ts';
import { mergedTags, type Identity } from './identity.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import type { KeptResponse } from '../downstream/kept-response.ts';

/** What a record states of a call before its end. */
interface CallFacts {
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  /** '' while the call has named none. */
  readonly model: string;
  readonly identity: Identity;
  readonly stream: boolean;
  readonly requestBytes: number;
  /** What it reserved of its budgets; null = it has none. */
  readonly reservedPico?: number | null;
  /** What there is to say of that; null = nothing. */
  readonly warning?: string | null;
  /** null before a deployment is selected. */
  readonly selected: SelectedDeployment | null;
}

const TEXT = 512; // clients choose these texts; rows stay small
/** What a client chose, or what a message quotes of it, as it is recorded. */
const recorded = ({ headers }: Exchange, text: string | null): string | null =>
  text === null ? null : cleanText(withoutCredentials(text, headers.credentials), TEXT);

/** The product of a user agent: `claude-cli/1.0 (external)` is `claude-cli`, `OpenAI/JS 7.55.0` is `OpenAI/JS`. */
function programOf(userAgent: string | null): string | null {
  const product = userAgent === null ? '' : (/^[^\s();,]{1,128}/.exec(userAgent)?.[0] ?? '');
  return ownText(product.replace(/\/v?\d.*$/, '')) || null;
}

/** The columns that say where a request went, and whom its key, else the deployment, attributes it to. */
export function destinationOf(
  x: Exchange,
  caller: Caller,
  selected: SelectedDeployment | null,
  identity: Identity,
): Pick<SpendBegin, 'model' | 'modelId' | 'provider' | 'apiBase' | 'teamId' | 'userId' | 'profile' | 'tags'> {
  const deployment = selected?.deployment.config ?? null;
  return {
    model: recorded(x, selected?.upstreamModel ?? null) ?? '',
    modelId: deployment?.id ?? null,
    provider: deployment?.provider ?? null,
    apiBase: deployment?.apiBase ?? null,
    teamId: caller.teamId ?? deployment?.attribution.teamId ?? null,
    userId: caller.userId ?? deployment?.attribution.userId ?? null,
    profile: deployment?.attribution.profile ?? null,
    tags: mergedTags(deployment?.attribution.tags ?? [], mergedTags(caller.tags ?? [], identity.tags)),
  };
}

/** What the scopes of a call follow from, as its record will state it. */
export function scopedOf(
  x: Exchange,
  { caller, model, identity, selected }: Pick<CallFacts, 'caller' | 'model' | 'identity' | 'selected'>,
): ScopedRecord {
  const { teamId, userId, profile, tags, modelId, provider } = destinationOf(x, caller, selected, identity);
  return {
    apiKeyHash: caller.keyHash,
    teamId,
    userId,
    profile,
    tags,
    modelId,
    provider,
    modelGroup: recorded(x, model) ?? '',
    sessionId: identity.sessionId,
    sessionSource: identity.sessionSource,
    endUser: x.active.snapshot.access.recordsEndUsers ? identity.endUser : null,
  };
}

/** The begin entry: all that is known before the first byte goes upstream. */
export function beginOf(x: Exchange, facts: CallFacts): SpendBegin {
  const { caller, identity, selected, reservedPico, warning } = facts;
  const userAgent = recorded(x, x.headers.userAgent);
  const modelGroup = recorded(x, facts.model) ?? '';
  const { model, modelId, provider, apiBase, teamId, userId, profile, tags } = destinationOf(
    x,
    caller,
    selected,
    identity,
  );
  const begin: Mutable<SpendBegin> = {
    requestId: x.id,
    callType: facts.endpoint.callType,
    startMs: x.startMs,
    apiKeyHash: caller.keyHash,
    model: selected === null ? modelGroup : model, // as LiteLLM's failure rows have it
    modelId,
    provider,
    apiBase,
    teamId,
    userId,
    profile,
    tags,
    modelGroup,
    sessionId: identity.sessionId,
    sessionSource: identity.sessionSource,
    endUser: x.active.snapshot.access.recordsEndUsers ? identity.endUser : null,
    spendLogsMetadata: identity.spendLogsMetadata,
    clientCallId: recorded(x, x.headers.callId),
    clientAddress: x.clientAddress,
    userAgent,
    client: programOf(userAgent),
    stream: facts.stream,
    requestBytes: facts.requestBytes,
    warnings: typeof warning === 'string' ? [...identity.warnings, warning] : identity.warnings,
  };
  if (caller.keyName !== undefined) begin.keyName = caller.keyName;
  if (typeof reservedPico === 'number') begin.reservedPico = reservedPico;
  if (x.trace !== null) begin.trace = x.trace;
  return begin;
}

/** An object that is not handed out yet. */
type Mutable<T> = { -readonly [name in keyof T]: T[name] };

/** An attempt that got a response. */
interface AnsweredAttempt {
  readonly endpoint: Endpoint;
  readonly selected: SelectedDeployment;
  readonly outcome: Outcome;
  readonly billable: BillableUnits;
  /** Counts of what the upstream did not state; null = none were needed. */
  readonly estimate: Estimate | null;
}

/** What a response used and what it cost. */
function chargeOf(x: Exchange, answered: AnsweredAttempt): { readonly used: Used; readonly cost: Cost } {
  const { endpoint, selected, outcome } = answered;
  const used = usedBy(endpoint, answered.billable, outcome, answered.estimate);
  if (endpoint.returnsStored || endpoint.countAnswer !== undefined) return { used, cost: FREE };
  const stated = statedPico(selected.deployment.config.gateway, outcome.upstreamCost, outcome.reading.usage);
  const priceable = { ...used, endReason: outcome.end, model: selected.upstreamModel };
  return { used, cost: priceOf(priceable, stated, pricesFor(x, selected)) };
}

/** The cost of an attempt that ended with a fault: 0 when it never reached the upstream, else unknown (null). */
function faultPico(fault: Fault): number | null {
  const { code } = fault;
  return code === 'upstream_unreachable' || code === 'connect_timeout' || code === 'overloaded' ? 0 : null;
}

/** The settle entry of a call that got a response from its upstream. */
export function settleOf(x: Exchange, begin: SpendBegin, answered: AnsweredAttempt): SpendRecord {
  const { outcome } = answered;
  const { used, cost } = chargeOf(x, answered);
  return {
    ...begin,
    endMs: nowOf(x),
    firstByteMs: outcome.firstByteAt === null ? null : timeOf(x, outcome.firstByteAt),
    status: outcome.end === 'complete' ? 'success' : 'failure',
    endReason: outcome.end,
    httpStatus: outcome.status,
    errorCode: outcome.fault?.code ?? (outcome.end === 'client_gone' ? 'client_gone' : null),
    errorText: recorded(x, outcome.fault?.message ?? null),
    errorSource: errorSourceOf(outcome),
    attempts: 1,
    attemptLog: [],
    responseBytes: outcome.responseBytes,
    upstreamId: recorded(x, outcome.reading.id),
    upstreamCallId: recorded(x, outcome.upstreamCallId),
    usage: used.usage,
    usageSource: used.usageSource,
    tokens: used.tokens,
    estimatedBy: used.estimatedBy,
    units: used.units,
    serviceTier: used.serviceTier,
    warnings: withWarnings(begin, used.warnings, outcome.readOn),
    spendPico: cost.spendPico,
    costSource: cost.costSource,
    costReason: cost.costReason,
    costs: cost.costs,
    priceVersion: cost.priceVersion,
  };
}

function errorSourceOf({ end, fault }: Outcome): SpendRecord['errorSource'] {
  if (end === 'complete') return null;
  return end === 'client_gone' ? 'client' : (fault?.source ?? 'upstream');
}

const READ_ON: Readonly<Record<ReadOnEnd, string>> = {
  whole: 'the client left; the answer was read on to its end',
  broken: 'the client left; the answer was read on until it broke off',
  given_up: 'the client left; the answer was read on for as long as allowed, and had not ended',
};

function withWarnings(
  begin: SpendBegin,
  used: readonly string[],
  readOn: ReadOnEnd | null,
): readonly string[] {
  if (used.length === 0 && readOn === null) return begin.warnings;
  return [...begin.warnings, ...used, ...(readOn === null ? [] : [READ_ON[readOn]])];
}

/** The settle entry of a call that got the response of an earlier one. */
export function settleRepeated(
  x: Exchange,
  begin: SpendBegin,
  id: string,
  response: KeptResponse,
): SpendRecord {
  return {
    ...begin,
    ...NO_ANSWER,
    ...FREE,
    endMs: nowOf(x),
    status: response.status < 400 ? 'success' : 'failure',
    endReason: 'replayed',
    httpStatus: response.status,
    errorCode: null,
    errorText: null,
    errorSource: null,
    attempts: 0,
    responseBytes: response.body.length,
    warnings: [...begin.warnings, `the answer of call ${id} was given again`],
  };
}

/** The settle entry of a call whose tokens were counted here. @param by what counted them */
export function settleCounted(
  x: Exchange,
  begin: SpendBegin,
  answered: { readonly bytes: number; readonly by: string; readonly attempts: number },
): SpendRecord {
  return {
    ...begin,
    ...NO_ANSWER,
    ...FREE,
    endMs: nowOf(x),
    status: 'success',
    endReason: 'complete',
    httpStatus: 200,
    errorCode: null,
    errorText: null,
    errorSource: null,
    attempts: answered.attempts,
    responseBytes: answered.bytes,
    warnings: [...begin.warnings, `counted here (${answered.by}): the gateway does not count tokens`],
  };
}

/** The settle entry of a call that ended with a fault before a response was sent. */
export function settleFault(x: Exchange, begin: SpendBegin, fault: Fault, reached: boolean): SpendRecord {
  const end = endOf(fault);
  const cost = reached ? faultPico(fault) : 0;
  return {
    ...begin,
    ...NO_ANSWER,
    ...FREE,
    endMs: nowOf(x),
    status: 'failure',
    endReason: end,
    httpStatus: end === 'client_gone' ? null : fault.status,
    errorCode: fault.code,
    errorText: recorded(x, fault.message),
    errorSource: fault.source,
    attempts: reached ? 1 : 0,
    responseBytes: 0,
    spendPico: cost,
    costReason: cost === null ? 'the upstream gave no answer' : '',
  };
}

/** The columns of an attempt that follow from its start. */
function attemptAt(
  { selected, sentMs }: AttemptStart,
  endMs: number,
): Omit<Attempt, 'status' | 'error' | 'usage' | 'spendPico'> {
  const { id, apiBase } = selected.deployment.config;
  return { modelId: id, model: selected.upstreamModel, apiBase, startMs: sentMs, durationMs: endMs - sentMs };
}

/** An attempt that was replaced by another one. @param error why, in one word */
export function replacedAttempt(
  x: Exchange,
  start: AttemptStart,
  ended: Ended,
  error: string,
  { endpoint, billable }: Pick<AnsweredAttempt, 'endpoint' | 'billable'>,
): Attempt {
  const at = attemptAt(start, nowOf(x));
  if (ended.outcome === undefined) {
    const { fault } = ended;
    return { ...at, status: null, error: fault.code, usage: null, spendPico: faultPico(fault) };
  }
  const { outcome } = ended;
  const { used, cost } = chargeOf(x, {
    endpoint,
    billable,
    selected: start.selected,
    outcome,
    estimate: null,
  });
  return { ...at, status: outcome.status, error, usage: used.usage, spendPico: cost.spendPico };
}

/** An attempt whose stream the next one continued. */
export function partOf(x: Exchange, start: AttemptStart, answered: AnsweredAttempt): Attempt {
  const { outcome } = answered;
  const { used, cost } = chargeOf(x, answered);
  const upstreamId = recorded(x, outcome.reading.id);
  return {
    ...attemptAt(start, nowOf(x)),
    status: outcome.status,
    error: outcome.fault?.code ?? outcome.end,
    usage: used.usage,
    spendPico: cost.spendPico,
    continued: true,
    ...(upstreamId === null ? {} : { upstreamId }),
    tokens: used.tokens,
    ...(used.estimatedBy === null ? {} : { estimatedBy: used.estimatedBy }),
  };
}

/** The record with the attempts beside the last one, oldest first: what is known of their cost is part of what the request cost. */
export function withReplaced(
  record: SpendRecord,
  replaced: readonly Attempt[],
  last: AttemptStart,
): SpendRecord {
  const failed = record.status === 'failure';
  const attempt: Attempt = {
    ...attemptAt(last, record.endMs),
    status: record.errorCode === null ? record.httpStatus : null,
    error: failed ? (record.errorCode ?? record.endReason) : null,
    usage: record.usage,
    spendPico: record.spendPico,
  };
  const whole = {
    ...record,
    ...wholeCost(record, replaced),
    attempts: replaced.length + 1,
    attemptLog: [...replaced, attempt],
  };
  const parts = replaced.filter(({ continued }) => continued === true);
  return parts.length === 0 ? whole : withParts(whole, parts, attempt);
}

/** The record of a response that several attempts wrote: the tokens of all, and which attempt wrote each part. */
function withParts(record: SpendRecord, parts: readonly Attempt[], last: Attempt): SpendRecord {
  const estimatedBy =
    record.estimatedBy ?? parts.find((part) => part.estimatedBy !== undefined)?.estimatedBy ?? null;
  const ends = parts.map(
    ({ modelId, error }, i) =>
      `the stream of ${modelId} broke off (${error}); ${(parts[i + 1] ?? last).modelId} went on with it`,
  );
  const own = {
    tokens: record.tokens,
    ...(record.estimatedBy === null ? {} : { estimatedBy: record.estimatedBy }),
  };
  return {
    ...record,
    tokens: [...parts.map(({ tokens }) => tokens ?? NO_TOKENS), record.tokens].reduce(sumOfTokens),
    usageSource: estimatedBy === null ? record.usageSource : 'estimate',
    estimatedBy,
    warnings: [...record.warnings, ...ends],
    attemptLog: [...record.attemptLog.slice(0, -1), { ...last, ...own }],
  };
}

function endOf(fault: Fault): EndReason {
  if (fault.code === 'client_gone') return 'client_gone';
  if (fault.code === 'internal_error') return 'proxy_error';
  if (fault.code === 'shutting_down') return 'stopped';
  if (fault.source !== 'upstream' && fault.code !== 'client_timeout') return 'refused';
  return fault.type === 'timeout_error' ? 'timeout' : 'upstream_broken';
}
