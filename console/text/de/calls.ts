// Die Seite calls.
export const calls = {};
