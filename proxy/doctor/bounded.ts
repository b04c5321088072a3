// A limit of time for what has none of its own.

/** It took longer than it may. */
export class TookTooLong extends Error {
  override readonly name = 'TookTooLong';
}

/** @throws TookTooLong, or as the promise rejects */
export async function bounded<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new TookTooLong(`no answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
