// The page users.
export const users = {};
