// The page keys.
export const keysPage = {};
