// Die Seite teams.
export const teams = {};
