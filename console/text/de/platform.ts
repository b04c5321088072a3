// Die Seite platform.
export const platform = {};
