// Waiting for something on behalf of a client: for a place, for another call, for time. Nobody waits for a client that has
// left, nor for a proxy that stops. This is the only place that knows how a step hears of either.
import { Fault } from '../errors/fault.ts';
import type { DownstreamResponse } from '../downstream/downstream-response.ts';

/** What is waited for. */
export interface Awaited<T> {
  readonly done: Promise<T>;
  /** Called at once when nobody waits any more, before anything else happens. */
  readonly abandon?: () => void;
}

/** `left`: why nobody waits any more, `client_gone` or `shutting_down`. */
export type WaitEnd<T> =
  { readonly kind: 'done'; readonly value: T } | { readonly kind: 'left'; readonly why: Fault };

/**
 * Waits for `awaited`, or until the client has left or the proxy stops.
 * @param during for the fault's text: `The client left while <during>.`
 */
export async function untilClientLeaves<T>(
  reply: Pick<DownstreamResponse, 'watcher' | 'destroyed' | 'interrupted'>,
  awaited: Awaited<T>,
  during: string,
): Promise<WaitEnd<T>> {
  const { promise: left, resolve } = Promise.withResolvers<WaitEnd<T>>();
  const leave = (): void => {
    awaited.abandon?.();
    const why = reply.interrupted ?? new Fault('client_gone', `The client left while ${during}.`);
    resolve({ kind: 'left', why });
  };
  reply.watcher = { onClose: leave, onDrain: () => undefined, onInterrupt: leave };
  if (reply.destroyed || reply.interrupted !== null) leave();
  try {
    return await Promise.race([left, awaited.done.then((value): WaitEnd<T> => ({ kind: 'done', value }))]);
  } finally {
    reply.watcher = null;
  }
}
