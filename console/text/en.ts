// All texts in English: one file a page below en/.
import { budgets } from './en/budgets.ts';
import { calls } from './en/calls.ts';
import { common, keys, login, shell, states } from './en/common.ts';
import { explain } from './en/explain.ts';
import { keysPage } from './en/keys.ts';
import { models } from './en/models.ts';
import { overview } from './en/overview.ts';
import { pages } from './en/pages.ts';
import { platform } from './en/platform.ts';
import { sessions } from './en/sessions.ts';
import { spend } from './en/spend.ts';
import { system } from './en/system.ts';
import { teams } from './en/teams.ts';
import { users } from './en/users.ts';

export const en = {
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
