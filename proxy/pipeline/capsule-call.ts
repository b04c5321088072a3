// Calls that an administrator has asked capsules of: what of a call goes into its capsule, step by step. All other calls meet
// the first line of `openCapsule` and nothing else.
import type { AuthenticatedCaller } from '../access/caller.ts';
import { VERSION } from '../active-config/version.ts';
import type { OpenCapsule } from '../capsule/capsules.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { dollarsOf } from '../spend/record/cost.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import type { AttemptStart } from './attempt-log.ts';
import type { Exchange } from './exchange.ts';
import { isSessionId, type Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';

/** null: the call gets none. */
export function openCapsule(
  x: Exchange,
  caller: AuthenticatedCaller,
  endpoint: Endpoint,
): OpenCapsule | null {
  const { capsules, clock } = x.active.services;
  if (capsules === null) return null;
  const { snapshot } = x.active;
  // Most calls say their conversation in a header, and need not be looked at any further.
  const stated = caller.identity?.sessionId ?? x.headers.session?.trim() ?? '';
  const capsule = capsules.begin(caller.keyHash, isSessionId(stated) ? stated : null, () => ({
    id: x.id,
    startMs: x.startMs,
    startedAt: x.startedAt,
    mono: clock.mono,
    proxy: VERSION,
    config: snapshot.version,
    endpoint: endpoint.path,
    headers: x.headers.raw,
    credentials: x.headers.credentials,
    ownPrefix: snapshot.dialect.headerPrefix,
  }));
  if (capsule === null) return null;
  x.res.observer = capsule.recording;
  capsule.recording.note({
    key_hash: caller.keyHash,
    key_alias: caller.keyName ?? null,
    team_id: caller.teamId ?? null,
    user_id: caller.userId ?? null,
  });
  return capsule;
}

/** What is called, as the request says. Of a call on a stored response, its method and its path. */
type Called = ParsedRequest | { readonly method: string; readonly path: string };

const noteOf = (called: Called): Readonly<Record<string, unknown>> =>
  'endpoint' in called ? { model: called.model, stream: called.stream } : called;

/** Says whose call it is, by ids. @returns null when its conversation is none of those that get capsules */
export function identifyCapsule(
  x: Exchange,
  capsule: OpenCapsule,
  called: Called,
  { sessionId, sessionSource, endUser }: Identity,
): OpenCapsule | null {
  if (x.active.services.capsules?.identified(capsule, sessionId) !== true) {
    x.res.observer = null;
    return null;
  }
  capsule.recording.note({
    ...noteOf(called),
    end_user: x.active.snapshot.access.recordsEndUsers ? endUser : null,
    session_id: sessionId,
    session_source: sessionSource,
  });
  return capsule;
}

/** The request of an attempt, over connections that are listened to. */
export function attemptInCapsule(
  { recording }: OpenCapsule,
  call: UpstreamRequest,
  { selected: { deployment, upstreamModel } }: AttemptStart,
  { keyHeaders }: Pick<Identity, 'keyHeaders'>,
): UpstreamRequest {
  const { id, apiKey, staticHeaders } = deployment.config;
  const secrets = [
    ...(apiKey === null ? [] : [apiKey.reveal()]),
    ...[...staticHeaders, ...(keyHeaders ?? [])].map(([, value]) => value.reveal()),
  ];
  return recording.attempt(call, { deployment: id, model: upstreamModel }, secrets);
}

/** @param record null where it could not be settled */
export function endCapsule(x: Exchange, capsule: OpenCapsule, record: SpendRecord | null): void {
  x.res.observer = null;
  x.active.services.capsules?.ended(capsule, record === null ? {} : endOf(record), x.res.destroyed);
}

const endOf = (record: SpendRecord): Readonly<Record<string, unknown>> => ({
  end_reason: record.endReason,
  status: record.status,
  http_status: record.httpStatus,
  error_code: record.errorCode,
  error_source: record.errorSource,
  why: record.errorText,
  attempts: record.attempts,
  prompt_tokens: record.tokens.prompt,
  completion_tokens: record.tokens.completion,
  spend_usd: record.spendPico === null ? null : dollarsOf(record.spendPico),
  upstream_id: record.upstreamId,
  upstream_call_id: record.upstreamCallId,
  warnings: record.warnings,
});
