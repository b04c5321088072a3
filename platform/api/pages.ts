// Paging as the platform does it: `page_id` is the offset as text. What no page gave as its `next_page_id` is refused, so
// that a client which mixes ids up does not read the first page for ever.
import { validationFailed } from './refusal.ts';

interface Page<T> {
  readonly items: readonly T[];
  readonly next_page_id: string | null;
}

interface PageRequest {
  readonly offset: number;
  readonly limit: number;
}

/** The part that a query asks for. @throws Refusal 422 for a `page_id` that is none */
export function pageRequestOf(query: Readonly<Record<string, unknown>>): PageRequest {
  const limit = Number(query['limit'] ?? 100);
  const text = query['page_id'] ?? '';
  if (text === '') return { offset: 0, limit };
  if (typeof text === 'string' && /^\d{1,9}$/.test(text)) return { offset: Number(text), limit };
  throw validationFailed([
    {
      loc: ['query', 'page_id'],
      msg: 'Input should be the next_page_id of an earlier page, a whole number',
      type: 'int_parsing',
    },
  ]);
}

/** The page of a whole list that a query asks for. @throws Refusal as `pageRequestOf` */
export function pageOfList<T>(all: readonly T[], query: Readonly<Record<string, unknown>>): Page<T> {
  const cut = pageRequestOf(query);
  return pageOf(all.slice(cut.offset, cut.offset + cut.limit + 1), cut);
}

/** @param found one more than the limit, if there are so many */
export function pageOf<T>(found: readonly T[], { offset, limit }: PageRequest): Page<T> {
  const more = found.length > limit;
  return { items: found.slice(0, limit), next_page_id: more ? String(offset + limit) : null };
}
