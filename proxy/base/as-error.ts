// JavaScript throws values of any type; who wants a text or hands them on wants an Error.

/** Whatever was thrown, as an Error. */
export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));
