// Objects that state nothing but their id: what is not said of a key, a team or a user is this. Lists and mappings without
// members are shared, since nearly all objects have them.
import { NO_BUDGET, NO_LIMITS, type SignOut, type Team, type User, type VirtualKey } from './objects.ts';

export const EMPTY_LIST: readonly never[] = Object.freeze([]);
export const EMPTY_RECORD: Readonly<Record<string, never>> = Object.freeze({});

const common = (nowMs: number) => ({
  origin: 'store' as const,
  revision: 0,
  createdMs: nowMs,
  updatedMs: nowMs,
  createdBy: null,
  updatedBy: null,
  metadata: EMPTY_RECORD,
  kept: EMPTY_RECORD,
});

/** @param id lower-case hex SHA-256 of the key. @param lastFour of the key */
export const blankKey = (id: string, lastFour: string, nowMs: number): VirtualKey => ({
  kind: 'key',
  id,
  name: `sk-...${lastFour}`,
  alias: null,
  type: 'default',
  allowedRoutes: EMPTY_LIST,
  models: EMPTY_LIST,
  aliases: EMPTY_RECORD,
  teamId: null,
  needsTeam: false,
  userId: null,
  organizationId: null,
  budgetId: null,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
  tags: EMPTY_LIST,
  blocked: false,
  expiresMs: null,
  former: EMPTY_LIST,
  ...common(nowMs),
});

export const blankTeam = (id: string, nowMs: number): Team => ({
  kind: 'team',
  id,
  alias: null,
  organizationId: null,
  models: EMPTY_LIST,
  modelAliases: EMPTY_RECORD,
  members: EMPTY_LIST,
  memberBudgetId: null,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
  tags: EMPTY_LIST,
  blocked: false,
  ...common(nowMs),
});

export const blankUser = (id: string, nowMs: number): User => ({
  kind: 'user',
  id,
  alias: null,
  email: null,
  role: 'internal_user',
  models: EMPTY_LIST,
  budgetId: null,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
  ...common(nowMs),
});

/** That a session of the console is ended. */
export const signOutOf = (id: string, nowMs: number): SignOut => ({ kind: 'sign_out', id, ...common(nowMs) });
