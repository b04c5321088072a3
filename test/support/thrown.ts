// What a call was rejected with, for clients whose errors `t.rejects` cannot tell apart.
import type { Test } from 'tap';

/** @throws Error when it was not rejected */
export async function thrown(of: PromiseLike<unknown>): Promise<unknown> {
  try {
    await of;
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

/**
 * What a broken stream raises. The proxy leaves its error event 250 ms to be read before it breaks the connection, and
 * fetch() drops what was not read by then: a reader that the machine has held up for longer asks again.
 */
export async function raised(read: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    const error = await thrown(read());
    if (!(error instanceof TypeError && error.message === 'terminated')) return error;
  }
}

/** Not t.rejects, because the errors of some clients all have the name "Error". */
export async function failsAs(
  t: Test,
  call: PromiseLike<unknown>,
  type: new (...given: never[]) => Error,
): Promise<void> {
  const error = await thrown(call);
  t.ok(error instanceof type, `${type.name}, got ${String(error)}`);
}
