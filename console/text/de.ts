// All texts in German: one file a page below de/.
import { budgets } from './de/budgets.ts';
import { calls } from './de/calls.ts';
import { common, keys, login, shell, states } from './de/common.ts';
import { explain } from './de/explain.ts';
import { keysPage } from './de/keys.ts';
import { models } from './de/models.ts';
import { overview } from './de/overview.ts';
import { pages } from './de/pages.ts';
import { platform } from './de/platform.ts';
import { sessions } from './de/sessions.ts';
import { spend } from './de/spend.ts';
import { system } from './de/system.ts';
import { teams } from './de/teams.ts';
import { users } from './de/users.ts';
import type { Texts } from './index.ts';

export const de: Texts = {
  common,
  states,
  shell,
  keys,
  login,
  pages,
  overview,
  calls,
  sessions,
  spend,
  budgets,
  models,
  explain,
  keysPage,
  teams,
  users,
  platform,
  system,
};
