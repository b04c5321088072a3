// Die Seite models.
export const models = {};
