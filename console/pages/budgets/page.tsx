// Every budget, the one closest to its limit first. The order needs all of them, so all pages are read before it is final.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { BudgetRow } from '../../api/access.ts';
import { get } from '../../api/client.ts';
import { useResource } from '../../api/resource.ts';
import { messageOf } from '../../base/message.ts';
import { now } from '../../base/now.ts';
import { param } from '../../base/router.ts';
import { sortInAddress } from '../../base/sort.ts';
import { count, exactMoney, moneyOf, percent } from '../../format/numbers.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Bar } from '../../ui/bar.tsx';
import { Forecast, shareAtEnd, shareUsed, windowName } from '../../ui/budget.tsx';
import { Button } from '../../ui/button.tsx';
import { Chips, FilterBar, SearchFilter, SelectFilter } from '../../ui/filters.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { sorted, Table, type Column } from '../../ui/table.tsx';
import { placeOf } from './place.ts';
import './budgets.css';

interface BudgetsAnswer {
  readonly budgets: readonly BudgetRow[];
  readonly total_count: number;
  readonly total_pages: number;
}

const REFRESH_MS = 30_000;
const SIZE = 300;
/** The proxy sums each page over its rows: more than this is a question for an export. */
const MOST_PAGES = 20;
const NEAR = 0.8;

export function Page(): JSX.Element {
  const texts = t().budgets;
  const first = useResource<BudgetsAnswer>(`spend/budgets?size=${SIZE}`, { everyMs: REFRESH_MS });
  const kinds = ['key', 'team', 'user', 'member', 'organization', 'end_user', 'tag', 'model', 'proxy'];
  return (
    <div class="stacked">
      <FilterBar>
        <SearchFilter label={texts.find} />
        <SelectFilter
          name="kind"
          label={texts.kind}
          choices={[
            { value: '', label: t().common.all },
            ...kinds.map((value) => ({ value, label: texts.kinds[value] ?? value })),
          ]}
        />
        <SelectFilter
          name="state"
          label={texts.state}
          choices={[
            { value: '', label: t().common.all },
            { value: 'near', label: texts.states.near },
            { value: 'used', label: texts.states.used },
          ]}
        />
      </FilterBar>
      <Chips names={{ q: texts.find }} />
      <Loads from={first} lines={8}>
        {(answer) => <WithRest first={answer} />}
      </Loads>
    </div>
  );
}

/** How far the pages after the first were read. */
type Reading =
  | { readonly is: 'reading' | 'done'; readonly pages: number }
  | { readonly is: 'failed'; readonly page: number; readonly why: string };

/** The pages after the first, one after another; read anew when the first one comes anew. */
function WithRest({ first }: { first: BudgetsAnswer }): JSX.Element {
  const texts = t().budgets;
  const [rest, setRest] = useState<readonly BudgetRow[]>([]);
  const [reading, setReading] = useState<Reading>({ is: 'reading', pages: 1 });
  const [tries, setTries] = useState(0);
  const pages = Math.min(first.total_pages, MOST_PAGES);
  useEffect(() => {
    const abort = new AbortController();
    // The list of before stands, whole, while it is read again.
    const onReading = (next: Reading): void =>
      setReading((old) => (old.is === 'done' && next.is === 'reading' ? old : next));
    void readRest(pages, abort.signal, onReading).then((found) =>
      found === null ? undefined : setRest(found),
    );
    return () => abort.abort();
  }, [first, pages, tries]);
  const all = count(first.total_pages);
  const isPart = reading.is !== 'failed' && reading.pages < first.total_pages;
  return (
    <>
      {reading.is === 'failed' ? (
        <p class="budgets-failed" role="alert">
          <Badge tone="warn">{texts.pageFailed(count(reading.page), all)}</Badge>
          <span lang="en">{reading.why}</span> <span class="quiet">{texts.pageFailedWhy}</span>
          <Button onClick={() => setTries(tries + 1)}>{t().common.retry}</Button>
        </p>
      ) : null}
      <List
        budgets={[...first.budgets, ...rest]}
        note={isPart ? texts.readingPages(count(reading.pages), all) : ''}
      />
    </>
  );
}

/** @returns null = they could not be read, or nobody waits for them any more */
async function readRest(
  pages: number,
  signal: AbortSignal,
  onReading: (reading: Reading) => void,
): Promise<readonly BudgetRow[] | null> {
  const found: BudgetRow[] = [];
  for (let page = 2; page <= pages; page++) {
    onReading({ is: 'reading', pages: page - 1 });
    try {
      const answer = await get<BudgetsAnswer>(`spend/budgets?size=${SIZE}&page=${page}`, signal);
      found.push(...answer.budgets);
    } catch (thrown) {
      if (!signal.aborted) onReading({ is: 'failed', page, why: messageOf(thrown) });
      return null;
    }
    if (signal.aborted) return null;
  }
  onReading({ is: 'done', pages });
  return found;
}

const keyOf = ({ scope, scope_id: id, budget }: BudgetRow): string => `${scope} ${id} ${budget}`;

function matches(row: BudgetRow): boolean {
  const text = param('q').toLowerCase();
  const kind = param('kind');
  const state = param('state');
  const least = state === 'used' ? 1 : NEAR;
  return (
    (kind === '' || row.scope === kind) &&
    (state === '' || (shareUsed(row) ?? 0) >= least) &&
    [row.alias, row.scope_id].some((one) => (one ?? '').toLowerCase().includes(text))
  );
}

function List({ budgets, note }: { budgets: readonly BudgetRow[]; note: string }): JSX.Element {
  const texts = t().budgets;
  const shown = budgets.filter(matches);
  const { sort, onSort } = sortInAddress({ by: 'share', descending: true });
  const used = budgets.filter((one) => (shareUsed(one) ?? 0) >= 1).length;
  const notes = [count(shown.length), used === 0 ? '' : texts.usedUpCount(count(used)), note];
  return (
    <Panel title={t().pages.budgets.name} note={notes.filter((one) => one !== '').join(' · ')} flush>
      <Table
        label={t().pages.budgets.name}
        rows={sorted(shown, sort, (row) => valueOf(row, sort.by))}
        columns={columns()}
        keyOf={keyOf}
        sort={sort}
        onSort={onSort}
        empty={
          <Empty title={budgets.length === 0 ? texts.none : texts.nothingMatches} icon="gauge">
            {budgets.length === 0 ? texts.noneWhy : undefined}
          </Empty>
        }
      />
    </Panel>
  );
}

function valueOf(row: BudgetRow, column: string): string | number | null {
  switch (column) {
    case 'name':
      return row.alias ?? row.scope_id;
    case 'of':
      return t().budgets.kinds[row.scope] ?? row.scope;
    case 'spent':
      return row.current_spend;
    case 'limit':
      return row.max_budget ?? row.soft_budget;
    case 'forecast':
      return row.forecast?.used_up_at ?? null;
    case 'resets':
      return row.budget_reset_at;
    default:
      return shareUsed(row);
  }
}

function Name({ row }: { row: BudgetRow }): JSX.Element {
  const name = row.alias ?? (row.scope_id === '' ? (t().budgets.kinds['proxy'] ?? '') : row.scope_id);
  const href = placeOf(row);
  return href === null ? (
    <strong class="cut budget-name" title={name}>
      {name}
    </strong>
  ) : (
    <a class="cut budget-name" href={href} title={name}>
      {name}
    </a>
  );
}

function columns(): readonly Column<BudgetRow>[] {
  const texts = t().budgets;
  const names = texts.columns;
  return [
    { key: 'name', title: names.name, sorts: true, cell: (row) => <Name row={row} /> },
    {
      key: 'of',
      title: names.of,
      sorts: true,
      minor: true,
      cell: ({ scope }) => texts.kinds[scope] ?? scope,
    },
    {
      key: 'window',
      title: names.window,
      minor: true,
      cell: (row) => <span class="nowrap">{windowName(row)}</span>,
    },
    {
      key: 'share',
      title: names.share,
      sorts: true,
      width: '12rem',
      align: 'end',
      cell: (row) => (
        <span class="budget-share">
          <Bar share={shareUsed(row)} forecast={shareAtEnd(row)} label={row.alias ?? row.scope_id} />
          <span>{percent(shareUsed(row))}</span>
        </span>
      ),
    },
    {
      key: 'spent',
      title: names.spent,
      align: 'end',
      sorts: true,
      cell: ({ current_spend: spent, max_budget: most, soft_budget: soft }) => (
        <span title={exactMoney(spent)}>{moneyOf(spent, most ?? soft)}</span>
      ),
    },
    {
      key: 'limit',
      title: names.limit,
      align: 'end',
      sorts: true,
      minor: true,
      cell: (row) => exactMoney(row.max_budget ?? row.soft_budget),
    },
    {
      key: 'forecast',
      title: names.forecast,
      sorts: true,
      minor: true,
      cell: (row) => <Forecast usage={row} />,
    },
    {
      key: 'resets',
      title: names.resets,
      sorts: true,
      minor: true,
      cell: ({ budget_reset_at: at }) =>
        at === null ? (
          <span class="quiet">{t().keysPage.never}</span>
        ) : (
          <span class="nowrap" title={dateTime(at)}>
            {ago(at, now.value)}
          </span>
        ),
    },
  ];
}
