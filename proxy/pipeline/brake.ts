// The step of the runaway brake: a conversation whose agent goes in circles is noted, slowed down or stopped before
// anything is paid for. Off unless configured.
import type { BrakeSettings } from '../../config/brake-settings.ts';
import type { BrakeVerdict } from '../access/brake/brake.ts';
import { holderOf, type AuthenticatedCaller } from '../access/caller.ts';
import { wordsOf, type Finding } from '../access/brake/rules.ts';
import type { Range } from '../bodies/elements.ts';
import { memberNamed, statesValue, type Member } from '../bodies/members.ts';
import { Fault } from '../errors/fault.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import type { BrakedCall } from './braked-call.ts';
import type { Exchange } from './exchange.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { ReadCall } from './read-call.ts';
import { pause } from './until-client-leaves.ts';

/** @returns null where it is off, or says nothing of such calls */
export function checkBrake(
  x: Exchange,
  caller: AuthenticatedCaller,
  { request, identity }: ReadCall,
): BrakedCall | null {
  const { services, snapshot } = x.active;
  const { brake: settings } = snapshot;
  if (settings === null) return null;
  const { protocol, counted } = request.endpoint;
  if (protocol.conversation === undefined || counted !== 'prompt and answer') return null;
  const { conversation: rules } = protocol;
  const check = {
    holder: holderOf(caller),
    keyHash: caller.keyHash,
    sessionId: identity.sessionSource === 'generated' ? null : identity.sessionId,
    body: request.body.bytes,
    messages: rangeOf(request, rules.member),
    instructions: firstRange(request, rules.instructions),
    rules,
    isContinued: rules.stored.some((name) => continues(request, name)),
    atMs: x.startMs,
  };
  return guarded(x, settings, () =>
    brakedCall(x, services.brake.check(check, settings, x.active.isExemptTool), settings),
  );
}

/** A mistake in what only watches may not cost a call: where nothing is enforced it is logged. */
function guarded<T>(x: Exchange, { enforces }: BrakeSettings, what: () => T): T | null {
  if (enforces) return what();
  try {
    return what();
  } catch (err) {
    x.active.services.log.error({ call_id: x.id, err }, 'the brake has failed; the call goes on');
    return null;
  }
}

/** Slows the call down, or ends it. @throws Fault conversation_stopped, client_gone, shutting_down */
export async function obeyBrake({ res }: Exchange, { stop, waitedMs }: BrakedCall): Promise<void> {
  if (stop !== null) throw stop;
  const left = waitedMs === 0 ? null : await pause(res, waitedMs, 'its conversation was slowed down');
  if (left !== null) throw left;
}

const memberOf = ({ members }: ParsedRequest, name: string): Member | undefined =>
  members.kind === 'json' ? memberNamed(members.peeked, name) : undefined;

function rangeOf(request: ParsedRequest, name: string): Range | null {
  const member = memberOf(request, name);
  return member === undefined ? null : { start: member.valueStart, end: member.valueEnd };
}

function firstRange(request: ParsedRequest, names: readonly string[]): Range | null {
  for (const name of names) {
    const range = rangeOf(request, name);
    if (range !== null) return range;
  }
  return null;
}

function continues(request: ParsedRequest, name: string): boolean {
  const member = memberOf(request, name);
  return member !== undefined && statesValue(request.body.bytes, member);
}

function brakedCall(x: Exchange, verdict: BrakeVerdict, settings: BrakeSettings): BrakedCall {
  const { findings, action } = verdict;
  const { brake } = x.active.services;
  const shown = findings.filter(({ rule, count }) => count >= settings.rules[rule].header);
  const value = [
    ...shown.map(({ rule, count }) => `${rule}=${count}`),
    ...(action === 'pass' ? [] : [action]),
  ];
  const headers = value.length === 0 ? [] : [x.active.headerNames.brake, value.join('; ')];
  return {
    notes: findings
      .filter(({ rule, count, level }) => count >= settings.rules[rule].note || level === 'stop')
      .map((finding) => noteOf(finding, settings)),
    headers,
    waitedMs: action === 'slow' ? settings.slowMs : 0,
    stop: action === 'stop' ? stopFault(verdict, headers) : null,
    ended: (record) => {
      if (action === 'stop') return;
      const { spendPico, endMs: atMs } = record;
      const isUnanswered = endedUnanswered(record);
      const end = { error: errorOf(record), isUnanswered, pico: spendPico ?? 0, atMs };
      guarded(x, settings, () => brake.ended(verdict, end, settings));
    },
  };
}

function noteOf(finding: Finding, { enforces }: BrakeSettings): string {
  const { rule, level } = finding;
  const done = enforces ? ACTED[level] : WOULD[level];
  return `brake: in this conversation ${wordsOf(finding)} (${rule}${done ?? ''})`;
}

type ByLevel = Readonly<Partial<Record<Finding['level'], string>>>;
const ACTED: ByLevel = { slow: '; slowed down', stop: '; stopped' };
const WOULD: ByLevel = { slow: '; would be slowed down', stop: '; would be stopped' };

/** null = success; undefined: the end says nothing of the model or its gateway. */
function errorOf({ status, endReason, errorCode, httpStatus }: SpendRecord): string | null | undefined {
  if (status === 'success') return null;
  if (endReason === 'client_gone' || endReason === 'stopped' || endReason === 'replayed') return undefined;
  return errorCode ?? `http_${httpStatus ?? 0}`;
}

/** Below 500: a client that was too slow for the gateway, a conflict, too early, rate limits. SDKs send such a call again. */
const TRY_AGAIN: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** An outage, a time limit, or a client that did not wait for it: what was sent may well be right. What has cost something counts. */
function endedUnanswered({ status, httpStatus, spendPico, endReason }: SpendRecord): boolean {
  if (status === 'success' || (spendPico ?? 0) > 0) return false;
  const code = httpStatus ?? 0;
  return code < 400 || code >= 500 || TRY_AGAIN.has(code) || endReason === 'client_gone';
}

function stopFault({ conversation, findings }: BrakeVerdict, headers: readonly string[]): Fault {
  const { stopped, id } = conversation;
  if (stopped === null) throw new Error('a conversation that runs is not refused');
  const { rule } = stopped;
  const now = findings.find((one) => one.rule === rule && one.count >= stopped.count);
  const text =
    `The runaway brake has stopped this conversation: ${wordsOf(now ?? stopped)} (rule ${rule}). ` +
    'To go on, write a new message in the conversation, and say what the agent should do differently; ' +
    `or ask the operator to resume it: POST /conversations/${encodeURIComponent(id)}/brake/resume.`;
  const [name, value] = headers;
  const own = name === undefined || value === undefined ? [] : [[name, value] as const];
  return new Fault('conversation_stopped', text, { headers: [...own, ['x-should-retry', 'false']] });
}
