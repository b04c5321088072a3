// The page sessions.
export const sessions = {};
