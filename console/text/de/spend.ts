// Die Seite spend.
export const spend = {};
