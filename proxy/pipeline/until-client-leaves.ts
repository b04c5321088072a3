// Waits for something on behalf of a client: a slot, another call, a pause. The wait ends at once when the client leaves or
// the proxy stops. The only place that knows how a step learns of either.
import { Fault } from '../errors/fault.ts';
import type { DownstreamResponse } from '../downstream/downstream-response.ts';

/** What to wait for. */
interface Awaited<T> {
  readonly done: Promise<T>;
  /** Called synchronously when the wait is given up, before anything else happens. */
  readonly abandon?: () => void;
}

/** `left`: the wait was given up, because of `client_gone` or `shutting_down`. */
type WaitEnd<T> =
  { readonly kind: 'done'; readonly value: T } | { readonly kind: 'left'; readonly why: Fault };

/** Waits for so long, or until the client leaves or the proxy stops. @returns why it ended early; null: it did not */
export async function pause(
  response: Pick<DownstreamResponse, 'watcher' | 'destroyed' | 'interrupted'>,
  ms: number,
  during: string,
): Promise<Fault | null> {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const end = await untilClientLeaves(response, { done, abandon: () => clearTimeout(timer) }, during);
  return end.kind === 'left' ? end.why : null;
}

/**
 * Waits for `awaited`, or until the client has left or the proxy stops.
 * @param during for the fault's text: `The client left while <during>.`
 */
export async function untilClientLeaves<T>(
  response: Pick<DownstreamResponse, 'watcher' | 'destroyed' | 'interrupted'>,
  awaited: Awaited<T>,
  during: string,
): Promise<WaitEnd<T>> {
  const { promise: left, resolve } = Promise.withResolvers<WaitEnd<T>>();
  const leave = (): void => {
    awaited.abandon?.();
    const why = response.interrupted ?? new Fault('client_gone', `The client left while ${during}.`);
    resolve({ kind: 'left', why });
  };
  response.watcher = { onClose: leave, onDrain: () => undefined, onInterrupt: leave };
  if (response.destroyed || response.interrupted !== null) leave();
  try {
    return await Promise.race([left, awaited.done.then((value): WaitEnd<T> => ({ kind: 'done', value }))]);
  } finally {
    response.watcher = null;
  }
}
