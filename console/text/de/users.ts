// Die Seite users.
export const users = {};
