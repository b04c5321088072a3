// Which pages this person has, at this proxy.
import { computed } from '@preact/signals';
import { GROUPS, PAGES, isPage, type GroupName, type Page, type PageName } from './pages.ts';
import { features, may } from './session.ts';

export interface VisiblePage {
  readonly name: PageName;
  readonly page: Page;
}

export const visiblePages = computed<readonly VisiblePage[]>(() =>
  Object.entries(PAGES).flatMap(([name, page]) => (isPage(name) && isShown(page) ? [{ name, page }] : [])),
);

export const groups = computed<
  readonly { readonly group: GroupName; readonly pages: readonly VisiblePage[] }[]
>(() =>
  GROUPS.map((group) => ({
    group,
    pages: visiblePages.value.filter(({ page }) => page.group === group),
  })).filter(({ pages }) => pages.length > 0),
);

export function isShown({ needs, feature }: Page): boolean {
  if (needs !== null && !may(needs)) return false;
  return feature === undefined || features.value?.[feature] === true;
}

/** Nobody has it here, whatever their role. */
export function isSwitchedOff({ feature }: Page): boolean {
  return feature !== undefined && features.value?.[feature] !== true;
}

/** What is shown at the root: the overview, or the first page of those who may not see it. */
export const homePage = computed<PageName>(() => visiblePages.value[0]?.name ?? 'overview');
