// Google's words for what went wrong (google.rpc.Code) and their statuses (cloud.google.com/apis/design/errors#handling_errors).

/** Of several words for one status the first is the one that is written. */
const WORDS: readonly (readonly [string, number])[] = [
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['OUT_OF_RANGE', 400],
  ['UNAUTHENTICATED', 401],
  ['PERMISSION_DENIED', 403],
  ['NOT_FOUND', 404],
  ['ABORTED', 409],
  ['ALREADY_EXISTS', 409],
  ['RESOURCE_EXHAUSTED', 429],
  ['CANCELLED', 499],
  ['INTERNAL', 500],
  ['DATA_LOSS', 500],
  ['UNKNOWN', 500],
  ['UNIMPLEMENTED', 501],
  ['UNAVAILABLE', 503],
  ['DEADLINE_EXCEEDED', 504],
];
const STATUSES: ReadonlyMap<string, number> = new Map(WORDS);
const BY_STATUS: ReadonlyMap<number, string> = new Map(
  WORDS.toReversed().map(([word, status]) => [status, word]),
);

/** The status that a word of Google stands for; null: it is none. */
export const statusOfWord = (word: string | null): number | null => STATUSES.get(word ?? '') ?? null;

export const wordOfStatus = (status: number): string =>
  BY_STATUS.get(status) ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
