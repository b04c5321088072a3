// The clocks of one exchange: which of them has run out, and in what words. Pure; relay.ts asks at every tick.
import type { Clocks } from '../../config/snapshot.ts';
import { Fault } from '../errors/fault.ts';

/** What a call says of its clocks; all in ms, 0 = off. */
export interface Clocked {
  readonly apiBase: string;
  readonly clocks: Clocks;
  readonly firstByteMs: number;
  readonly firstByteOf: 'entry' | 'client';
  readonly firstTokenMs: number;
}

/** What an exchange waits for, and since when (monotonic ms). `holding`: the head is there, the first token is not. */
export type Waits =
  | { readonly is: 'connecting'; readonly since: number }
  | { readonly is: 'waiting'; readonly sentAt: number }
  | { readonly is: 'gathering'; readonly response: LastHeard }
  | { readonly is: 'holding'; readonly response: LastHeard; readonly sentAt: number }
  | { readonly is: 'flowing'; readonly response: LastHeard; readonly isPaused: boolean };

interface LastHeard {
  readonly lastByteAt: number;
}

/** The fault of the clock that has run out, or null. @param now monotonic ms, as `startedAt` */
export function overdue(
  { apiBase, clocks, firstByteMs, firstByteOf, firstTokenMs }: Clocked,
  waits: Waits,
  now: number,
  startedAt: number,
): Fault | null {
  if (isOver(now, clocks.totalMs, startedAt)) {
    const text = `Response timed out: the answer of ${apiBase} was not complete within ${clocks.totalMs} ms.`;
    return new Fault('total_timeout', text);
  }
  if (waits.is === 'connecting') {
    if (!isOver(now, clocks.connectMs, waits.since)) return null;
    const text = `No connection to the upstream ${apiBase} within ${clocks.connectMs} ms.`;
    return new Fault('connect_timeout', text);
  }
  if (waits.is === 'waiting' && isOver(now, firstByteMs, waits.sentAt)) {
    const text = `The upstream ${apiBase} sent no answer within ${firstByteMs} ms`;
    return firstByteOf === 'client'
      ? new Fault('client_timeout', `${text}, the time that the client gave it.`)
      : new Fault('first_byte_timeout', `${text}.`);
  }
  if ((waits.is === 'waiting' || waits.is === 'holding') && isOver(now, firstTokenMs, waits.sentAt)) {
    const text = `The upstream ${apiBase} sent no token within ${firstTokenMs} ms.`;
    return new Fault('first_token_timeout', text);
  }
  if (waits.is === 'waiting') return null;
  const isOurs = waits.is === 'flowing' && waits.isPaused; // nothing is read while the client is slow
  if (!isOurs && isOver(now, clocks.idleMs, waits.response.lastByteAt)) {
    const text = `Response timed out: the upstream ${apiBase} fell silent for ${clocks.idleMs} ms within its answer.`;
    return new Fault('idle_timeout', text);
  }
  return null;
}

/** A function of its own: a closure would be made for every stream at every tick. */
const isOver = (now: number, limitMs: number, since: number): boolean => limitMs > 0 && now - since > limitMs;
