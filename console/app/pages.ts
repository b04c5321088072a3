// The pages: one line each. The first part of an address picks one; its script is fetched when it is first shown.
import type { JSX } from 'preact';
import type { Features, Permission } from '../api/types.ts';
import type { IconName } from '../ui/icon.tsx';
import type { Texts } from '../text/index.ts';

export type PageName = keyof Texts['pages'];
export type GroupName = keyof Texts['shell']['groups'];

export interface Page {
  readonly group: GroupName;
  readonly icon: IconName;
  /** `g` and this letter. */
  readonly key: string;
  /** Who may not is not shown the link. */
  readonly needs: Permission | null;
  /** What must be switched on at this proxy. */
  readonly feature?: keyof Features;
  readonly load: () => Promise<{ readonly Page: () => JSX.Element }>;
}

// prettier-ignore
export const PAGES: Readonly<Partial<Record<PageName, Page>>> = {
  overview: { group: 'watch', icon: 'activity', key: 'o', needs: 'chain', load: () => import('../pages/overview/page.tsx') },
  calls: { group: 'watch', icon: 'calls', key: 'c', needs: 'rows', load: () => import('../pages/calls/page.tsx') },
  sessions: { group: 'watch', icon: 'sessions', key: 's', needs: 'rows', load: () => import('../pages/sessions/page.tsx') },
  spend: { group: 'money', icon: 'money', key: 'p', needs: 'spend', load: () => import('../pages/spend/page.tsx') },
  budgets: { group: 'money', icon: 'gauge', key: 'b', needs: 'see_all', load: () => import('../pages/budgets/page.tsx') },
  models: { group: 'serve', icon: 'box', key: 'm', needs: null, load: () => import('../pages/models/page.tsx') },
  explain: { group: 'serve', icon: 'arrow', key: 'e', needs: 'change', load: () => import('../pages/explain/page.tsx') },
  keys: { group: 'access', icon: 'key', key: 'k', needs: null, load: () => import('../pages/keys/page.tsx') },
  teams: { group: 'access', icon: 'users', key: 't', needs: null, load: () => import('../pages/teams/page.tsx') },
  users: { group: 'access', icon: 'user', key: 'u', needs: null, load: () => import('../pages/users/page.tsx') },
  platform: { group: 'machine', icon: 'cpu', key: 'a', needs: 'platform', feature: 'platform', load: () => import('../pages/platform/page.tsx') },
  system: { group: 'machine', icon: 'system', key: 'y', needs: 'config', load: () => import('../pages/system/page.tsx') },
};

export const GROUPS: readonly GroupName[] = ['watch', 'money', 'serve', 'access', 'machine'];

export function pageOf(name: string): Page | null {
  return isPage(name) ? (PAGES[name] ?? null) : null;
}

export function isPage(name: string): name is PageName {
  return Object.hasOwn(PAGES, name);
}
