// Die Seite sessions.
export const sessions = {};
