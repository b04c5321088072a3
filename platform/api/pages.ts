// Paging as the platform does it: `page_id` is the offset as text, and what is no number counts as the first page.

interface Page<T> {
  readonly items: readonly T[];
  readonly next_page_id: string | null;
}

interface PageRequest {
  readonly offset: number;
  readonly limit: number;
}

/** The part that a query asks for. */
export function pageRequestOf(query: Readonly<Record<string, unknown>>): PageRequest {
  const text = query['page_id'];
  const offset = typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return { offset, limit: Number(query['limit'] ?? 100) };
}

/** @param found one more than the limit, if there are so many */
export function pageOf<T>(found: readonly T[], { offset, limit }: PageRequest): Page<T> {
  const more = found.length > limit;
  return { items: found.slice(0, limit), next_page_id: more ? String(offset + limit) : null };
}
