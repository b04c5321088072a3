// The page platform.
export const platform = {};
