// Die Seite keys.
export const keysPage = {};
