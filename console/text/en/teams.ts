// The page teams.
export const teams = {};
