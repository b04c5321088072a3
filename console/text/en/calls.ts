// The page calls.
export const calls = {};
