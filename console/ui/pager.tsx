// Pages of a list that the server cuts; the number stands in the address.
import type { JSX } from 'preact';
import { hrefWith, param } from '../base/router.ts';
import { count } from '../format/numbers.ts';
import { t } from '../text/index.ts';
import { Empty } from './states.tsx';

/** The page in the address, from 1. */
export function pageInAddress(): number {
  const page = Number(param('page'));
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}

/** Where the last entries of a page were deleted, or an old address names it. */
export function PastEnd({ pages }: { pages: number }): JSX.Element {
  const texts = t().common;
  return (
    <Empty
      title={texts.pastEnd}
      action={<a href={hrefWith({ page: pages <= 1 ? null : pages })}>{texts.lastPage}</a>}
    />
  );
}

export function Pager({ pages }: { pages: number }): JSX.Element | null {
  const texts = t().common;
  const page = pageInAddress();
  if (page > pages || pages === 1) return null;
  return (
    <nav class="pager" aria-label={texts.pagesOfList}>
      {page > 1 ? <a href={hrefWith({ page: page === 2 ? null : page - 1 })}>{texts.previousPage}</a> : null}
      <span class="quiet">{texts.pageOf(count(page), count(pages))}</span>
      {page < pages ? <a href={hrefWith({ page: page + 1 })}>{texts.nextPage}</a> : null}
    </nav>
  );
}
