// The page explain.
export const explain = {};
