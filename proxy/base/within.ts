// A limit of time for what has none of its own.

/**
 * Settles as `task` does, or when `ms` are over before. What `task` comes to then is left unseen. The timer never outlives the
 * wait.
 * @param late the value that stands for what has not come, or throws
 */
export async function within<T, Late>(
  ms: number,
  task: Promise<T>,
  late: () => Late,
): Promise<T | Awaited<Late>> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.max(0, ms)); // what is left of a deadline may be less than nothing
  try {
    return await Promise.race([task, over.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for `task`, at most so long, where its end matters and what it comes to is reported elsewhere. */
export const atMost = (ms: number, task: Promise<unknown>): Promise<unknown> =>
  within(ms, task.catch(nothing), nothing);

const nothing = (): void => undefined;
