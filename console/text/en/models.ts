// The page models.
export const models = {};
