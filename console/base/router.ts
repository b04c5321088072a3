// The address is the state: `ui/<page>?<filters>`. Links are ordinary links; this file takes the clicks on them.
import { signal } from '@preact/signals';
import { PAGE_BASE } from './urls.ts';

export interface Place {
  /** '' = the first page. */
  readonly page: string;
  readonly params: URLSearchParams;
}

export type Params = Readonly<Record<string, string | number | null | undefined>>;

export const place = signal<Place>(placeOf(new URL(location.href)));

function placeOf(url: URL): Place {
  return {
    page: decodeURIComponent(url.pathname.slice(PAGE_BASE.pathname.length).replace(/\/+$/, '')),
    params: url.searchParams,
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
  else history.pushState({ from: location.href }, '', url);
  place.value = placeOf(url);
}

/** Changes filters in the address. `replace`: without a step in the history, for what is typed. */
export function setParams(changes: Params, { replace = false } = {}): void {
  visit(hrefWith(changes), { replace });
}

/** Closes what `id` names: a step back where that opened it, so that Back does not open it again. */
export function closeEntry(): void {
  const url = new URL(hrefWith({ id: null }), location.href);
  const state = history.state as { readonly from?: string } | null;
  if (url.href === location.href || state?.from !== url.href) return visit(url.href, { replace: true });
  place.value = placeOf(url);
  history.back();
}

/** A member of the address; '' when it is not there. Read within a component, it follows the address. */
export function param(name: string): string {
  return place.value.params.get(name) ?? '';
}

/** From here on clicks on links to the page's own places change the address without a load. */
export function takeLinks(): void {
  window.addEventListener('popstate', () => {
    place.value = placeOf(new URL(location.href));
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
