// The page spend.
export const spend = {};
