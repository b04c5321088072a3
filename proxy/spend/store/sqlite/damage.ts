// Whether an error of SQLite says that its file is damaged. Space, locks and rights are other matters: a damaged file stays so.

// https://www.sqlite.org/rescode.html
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false;
  const code = Number(error.errcode) & 0xff; // the rest says where it was found
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}
