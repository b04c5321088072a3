// How long the doctor waits for what has no limit of time of its own.
import { within } from '../base/within.ts';

/** It took longer than it may. */
export class TookTooLong extends Error {
  override readonly name = 'TookTooLong';
}

/** @throws TookTooLong, or as the promise rejects */
export function bounded<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return within(timeoutMs, promise, () => {
    throw new TookTooLong(`no answer within ${timeoutMs} ms`);
  });
}
