// The runaway brake for people: what it saw in a conversation, in words; which conversations it has noticed or stopped; and
// letting one go on. `GET /conversations/{id}/brake`, `GET /conversations/braked`, `POST /conversations/{id}/brake/resume`.
import type { BrakeReport } from '../../access/brake/brake.ts';
import { wordsOf } from '../../access/brake/rules.ts';
import { holderOf, type AuthenticatedCaller } from '../../access/caller.ts';
import { Fault } from '../../errors/fault.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { sendJson } from '../../pipeline/respond.ts';
import { dollarsOf } from '../../spend/record/cost.ts';
import { AdminAttempt } from '../audit.ts';

/** Of one conversation; a key sees its own, administrators see all. */
export async function conversationBrake(x: Exchange, caller: AuthenticatedCaller, id: string): Promise<void> {
  checkOn(x);
  const all = await x.active.services.peers.brake({ conversation: id, resumes: false });
  const own = all.filter(({ holder }) => caller.role === 'admin' || holder === holderOf(caller));
  if (own.length === 0) throw unknown(id);
  sendJson(x, shownConversation(id, own, x));
}

/** Those that were noticed or stopped, the last one first. */
export async function brakedConversations(x: Exchange): Promise<void> {
  checkOn(x);
  const all = await x.active.services.peers.brake({ conversation: null, resumes: false });
  const ids = [...new Set(all.toSorted((a, b) => b.lastMs - a.lastMs).map((one) => one.conversation))];
  const conversations = ids.map((id) =>
    shownConversation(
      id,
      all.filter((one) => one.conversation === id),
      x,
    ),
  );
  sendJson(x, { conversations });
}

/** An administrator lets a conversation go on. Each attempt leaves its audit line. */
export async function resumeConversation(
  x: Exchange,
  caller: AuthenticatedCaller,
  id: string,
): Promise<void> {
  const attempt = new AdminAttempt(x, 'brake_resume', caller.keyHash);
  attempt.details({ conversation: id });
  try {
    checkOn(x);
    const resumed = await x.active.services.peers.brake({ conversation: id, resumes: true });
    if (resumed.length === 0) throw unknown(id);
    attempt.applied(false);
    sendJson(x, shownConversation(id, resumed, x));
  } catch (thrown) {
    if (thrown instanceof Fault) attempt.refused(thrown);
    throw thrown;
  }
}

/** The caller may not resume. */
export function resumeDenied(x: Exchange, fault: Fault): void {
  new AdminAttempt(x, 'brake_resume', null).refused(fault);
}

function checkOn(x: Exchange): void {
  if (x.active.snapshot.brake !== null) return;
  throw new Fault('brake_off', 'The runaway brake is off: the configuration has no section `brake`.');
}

const unknown = (id: string): Fault =>
  new Fault(
    'conversation_not_found',
    `The brake knows no conversation ${JSON.stringify(id.slice(0, 256))} of this key. It knows those that have called since the start of the proxy and were not idle for too long (brake.idle_minutes).`,
  );

const isoTime = (ms: number): string => new Date(ms).toISOString();

/** One conversation; several parts when several workers or keys serve it. */
function shownConversation(id: string, parts: readonly BrakeReport[], x: Exchange): object {
  const { brake: settings } = x.active.snapshot;
  const { directory } = x.active.services.access;
  const isStopped = parts.some(({ state }) => state === 'stopped');
  const isNoticed = parts.some(({ state }) => state === 'noticed');
  const sum = (read: (one: BrakeReport) => number): number =>
    parts.reduce((total, one) => total + read(one), 0);
  const calm = isNoticed ? 'noticed' : 'running';
  return {
    conversation: id,
    state: isStopped ? 'stopped' : calm,
    mode: settings?.enforces === true ? 'enforce' : 'observe',
    explanation: parts.flatMap((one) => explanationOf(one)),
    how_to_resume: isStopped
      ? `Write a new message in the conversation, or POST /conversations/${encodeURIComponent(id)}/brake/resume with the master key.`
      : null,
    calls: sum(({ calls }) => calls),
    refused: sum(({ refused }) => refused),
    spend: dollarsOf(sum(({ spendPico }) => spendPico)),
    parts: parts.map((one) => ({
      api_key: directory.keyOfCredential(one.holder, 0)?.id ?? one.holder,
      state: one.state,
      since: isoTime(one.sinceMs),
      last_request: isoTime(one.lastMs),
      stopped:
        one.stopped === null
          ? null
          : { rule: one.stopped.rule, count: one.stopped.count, at: isoTime(one.stopped.atMs) },
      rules: one.findings.map(({ rule, count, level, from }) => ({ rule, count, level, from })),
      calls_this_minute: one.pace.calls,
      usual_calls_per_minute: one.pace.usualCalls,
      spend_this_minute: dollarsOf(one.pace.pico),
      usual_spend_per_minute: one.pace.usualPico === null ? null : dollarsOf(one.pace.usualPico),
    })),
  };
}

function explanationOf({ stopped, findings, calls, refused }: BrakeReport): string[] {
  const sentences = findings.map(
    (finding) =>
      `${capital(wordsOf(finding))} (rule ${finding.rule}: ${finding.level} from ${finding.from} on).`,
  );
  if (stopped !== null) {
    sentences.unshift(
      `It was stopped at ${isoTime(stopped.atMs)} because ${wordsOf(stopped)} (rule ${stopped.rule}). ` +
        `Requests refused since then: ${refused}; passed on before: ${calls}.`,
    );
  }
  return sentences.length === 0 ? ['No rule is reached.'] : sentences;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
