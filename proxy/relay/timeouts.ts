// The clocks of one exchange: which of them has run out, and in what words. Pure; relay.ts asks at every tick.
import type { Clocks } from '../../config/snapshot.ts';
import { Fault } from '../errors/fault.ts';

/** What a call says of its clocks; all in ms, 0 = off. */
export interface Clocked {
  readonly apiBase: string;
  readonly clocks: Clocks;
  readonly firstByteMs: number;
  readonly firstTokenMs: number;
}

/** Where an exchange stands. `holding`: the head is there, the first token is not. */
export type Phase = 'connecting' | 'waiting' | 'gathering' | 'holding' | 'flowing' | 'ended';

/**
 * The fault of the clock that has run out, or null. All times are monotonic ms.
 * @param silentSince the last byte of the upstream; infinite while its silence is not its own
 */
export function overdue(
  { apiBase, clocks, firstByteMs, firstTokenMs }: Clocked,
  phase: Phase,
  now: number,
  startedAt: number,
  sentAt: number,
  silentSince: number,
): Fault | null {
  const over = (limitMs: number, since: number): boolean => limitMs > 0 && now - since > limitMs;
  if (over(clocks.totalMs, startedAt)) {
    return new Fault(
      'total_timeout',
      `The answer of ${apiBase} was not complete within ${clocks.totalMs} ms.`,
    );
  }
  if (phase === 'connecting' && over(clocks.connectMs, startedAt)) {
    const text = `No connection to the upstream ${apiBase} within ${clocks.connectMs} ms.`;
    return new Fault('connect_timeout', text);
  }
  if (phase === 'waiting' && over(firstByteMs, sentAt)) {
    return new Fault(
      'first_byte_timeout',
      `The upstream ${apiBase} sent no answer within ${firstByteMs} ms.`,
    );
  }
  if ((phase === 'waiting' || phase === 'holding') && over(firstTokenMs, sentAt)) {
    return new Fault(
      'first_token_timeout',
      `The upstream ${apiBase} sent no token within ${firstTokenMs} ms.`,
    );
  }
  if (over(clocks.idleMs, silentSince)) {
    const text = `The upstream ${apiBase} fell silent for ${clocks.idleMs} ms within its answer.`;
    return new Fault('idle_timeout', text);
  }
  return null;
}
