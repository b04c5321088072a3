// Where this page and the API are. The page is served at `<prefix>/ui/`, and each of its places is one level deep
// (`ui/models?...`), so that relative addresses of files hold behind any prefix and no `<base>` is needed.

/** `https://host/prefix/ui/` */
export const PAGE_BASE = new URL('.', location.href);

/** `https://host/prefix/` */
export const API_BASE = new URL('..', PAGE_BASE);

export function apiUrl(path: string): string {
  return new URL(path.replace(/^\//, ''), API_BASE).href;
}

/** A text as one word of a shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
