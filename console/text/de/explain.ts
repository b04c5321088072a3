// Die Seite explain.
export const explain = {};
