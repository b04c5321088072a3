// What the page asks: which days, narrowed to what, divided by what. All of it stands in the address.
import { param } from '../../base/router.ts';
import { addDays, dayFromNow, daysIn } from '../../base/days.ts';

export const SPANS = ['today', '7d', '30d', 'month', '90d'] as const;
export type Span = (typeof SPANS)[number];

export const DIMENSIONS = [
  'model_group',
  'model',
  'team',
  'user',
  'api_key',
  'tag',
  'session',
  'end_user',
  'provider',
] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** A dimension as `GET /spend/sums` calls its filter. */
export const FILTER_OF: Readonly<Record<Dimension, string>> = {
  model_group: 'model_group',
  model: 'model',
  team: 'team_id',
  user: 'user_id',
  api_key: 'api_key',
  tag: 'tag',
  session: 'session_id',
  end_user: 'end_user',
  provider: 'provider',
};

export interface Question {
  readonly span: Span;
  readonly by: Dimension;
  readonly first: string;
  readonly last: string;
  /** As long, just before. */
  readonly before: { readonly first: string; readonly last: string };
  readonly filters: Readonly<Partial<Record<Dimension, string>>>;
}

const DAYS: Readonly<Record<Exclude<Span, 'month'>, number>> = { today: 1, '7d': 7, '30d': 30, '90d': 90 };

export function questionInAddress(): Question {
  const span = SPANS.find((one) => one === param('span')) ?? '30d';
  const by = DIMENSIONS.find((one) => one === param('by')) ?? 'model_group';
  const last = dayFromNow(0);
  const first = span === 'month' ? `${last.slice(0, 7)}-01` : addDays(last, 1 - DAYS[span]);
  const days = daysIn(first, last);
  const filters = Object.fromEntries(
    DIMENSIONS.map((one) => [one, param(one)] as const).filter(([, value]) => value !== ''),
  );
  return {
    span,
    by,
    first,
    last,
    before: { first: addDays(first, -days), last: addDays(first, -1) },
    filters,
  };
}

/** The path of the sums of some days. @param by names to group by, joined by commas; '' = the total alone */
export function pathOf(
  { filters }: Question,
  { first, last }: { readonly first: string; readonly last: string },
  by: string,
): string {
  const query = new URLSearchParams({ start_date: first, end_date: last, limit: '1000' });
  if (by !== '') query.set('by', by);
  for (const one of DIMENSIONS) {
    const value = filters[one];
    if (value !== undefined) query.set(FILTER_OF[one], value);
  }
  return `spend/sums?${query}`;
}
