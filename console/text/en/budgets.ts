// The page budgets.
export const budgets = {};
