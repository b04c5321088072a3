// Die Seite budgets.
export const budgets = {};
