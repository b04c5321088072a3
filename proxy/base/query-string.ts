// Reads a query string in one way, that of the WHATWG URL standard (`&` separates, `+` is a space, names and values are
// percent-encoded UTF-8), and writes it so that every other reader finds the same parameters.

export type QueryParameter = readonly [name: string, value: string];

/** @param query without the question mark */
export function readQuery(query: string): readonly QueryParameter[] {
  return [...new URLSearchParams(`?${query}`)]; // without its own, a leading `?` of the name would be dropped
}

/** The inverse; `;`, `&`, `+`, brackets and everything beyond ASCII are encoded. */
export function writeQuery(parameters: readonly QueryParameter[]): string {
  return parameters
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');
}
