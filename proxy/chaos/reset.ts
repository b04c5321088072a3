// How injected faults end a connection.

/** Silence ends after this time, where no timeout of the deployment ends it and the client waits on. */
export const LONGEST_SILENCE_MS = 600_000;

export const resetError = (): Error =>
  Object.assign(new Error('the connection was reset (chaos)'), { code: 'ECONNRESET' });

export const refusedError = (): Error =>
  Object.assign(new Error('the connection was refused (chaos)'), { code: 'ECONNREFUSED' });
