// Errors of Node say by a code what went wrong; JavaScript throws values of any type.

/** The code of an error, `ENOENT` say; undefined = it has none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
