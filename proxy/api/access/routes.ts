// The calls about keys and users: their paths, and what the audit calls each.
import type { CallRow } from './call-row.ts';

export const KEY_ROUTES: readonly CallRow[] = [];
