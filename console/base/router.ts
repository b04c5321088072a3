// The address is the state: `ui/<page>?<filters>`. Links are ordinary links; this file takes the clicks on them.
import { signal } from '@preact/signals';
import { isHeld } from './leaving.ts';
import { PAGE_BASE } from './urls.ts';

export interface Place {
  /** '' = the first page. */
  readonly page: string;
  readonly params: URLSearchParams;
  /** Which entry of the history it is, counted from where the page was opened. */
  readonly at: number;
}

/** What an entry of the history holds. */
interface Kept {
  readonly at?: number;
  /** Where it was opened. */
  readonly from?: string;
}

export type Params = Readonly<Record<string, string | number | null | undefined>>;

export const place = signal<Place>(placeOf(new URL(location.href)));

function placeOf(url: URL): Place {
  return {
    page: decodeURIComponent(url.pathname.slice(PAGE_BASE.pathname.length).replace(/\/+$/, '')),
    params: url.searchParams,
    at: kept().at ?? 0,
  };
}

/** The address of a page; members that are null or '' are left out. */
export function hrefOf(page: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.size === 0 ? '' : `?${query}`;
  return `${PAGE_BASE.pathname}${page}${text}`;
}

/** The address of a place that the server names: `models?id=x`. */
export function hrefTo(link: string): string {
  const url = new URL(link, PAGE_BASE);
  // Whatever it says, it stays on this page.
  return url.href.startsWith(PAGE_BASE.href) ? url.pathname + url.search : PAGE_BASE.pathname;
}

/** The address of the present page with some members changed; null removes one. */
export function hrefWith(changes: Params): string {
  const { page, params } = place.value;
  return hrefOf(page, { ...Object.fromEntries(params), ...changes });
}

export function visit(href: string, { replace = false } = {}): void {
  const url = new URL(href, location.href);
  if (url.href === location.href) return;
  // What is replaced was opened from where it was before.
  if (replace) history.replaceState(history.state, '', url);
  else history.pushState({ at: place.peek().at + 1, from: location.href } satisfies Kept, '', url);
  place.value = placeOf(url);
}

/** Nothing for the first entry, and for a link to a part of the page. */
function kept(): Kept {
  return (history.state as Kept | null) ?? {};
}

/** Changes filters in the address. `replace`: without a step in the history, for what is typed. */
export function setParams(changes: Params, { replace = false } = {}): void {
  visit(hrefWith(changes), { replace });
}

/** Closes what `id` names: a step back where that opened it, so that Back does not open it again. */
export function closeEntry(): void {
  const url = new URL(hrefWith({ id: null }), location.href);
  if (url.href === location.href || kept().from !== url.href) return visit(url.href, { replace: true });
  const { page, params, at } = placeOf(url);
  place.value = { page, params, at: at - 1 };
  history.back();
}

/** A member of the address; '' when it is not there. Read within a component, it follows the address. */
export function param(name: string): string {
  return place.value.params.get(name) ?? '';
}

/** From here on clicks on links to the page's own places change the address without a load. */
export function takeLinks(): void {
  window.addEventListener('popstate', () => {
    const to = placeOf(new URL(location.href));
    const way = place.peek().at - to.at;
    // The step is made by now: what stays takes it back, which comes here once more.
    if (way !== 0 && isHeld()) history.go(way);
    else place.value = to;
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.hasAttribute('download')) return;
    const url = new URL(link.href);
    const isOwn = url.origin === location.origin && url.pathname.startsWith(PAGE_BASE.pathname);
    const rest = url.pathname.slice(PAGE_BASE.pathname.length);
    if (!isOwn || url.hash !== '' || rest.includes('/') || rest.includes('.')) return;
    event.preventDefault();
    visit(url.href);
  });
}
