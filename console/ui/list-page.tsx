// The page of a list that the server filters, sorts and cuts: filters, the list, the open entry, the form of a new one.
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useResource } from '../api/resource.ts';
import { param, setParams } from '../base/router.ts';
import { sortInAddress, type Sort } from '../base/sort.ts';
import { count } from '../format/numbers.ts';
import { Button } from './button.tsx';
import { Chips, FilterBar } from './filters.tsx';
import { pageInAddress, Pager, PastEnd } from './pager.tsx';
import { Panel } from './panel.tsx';
import { Loads } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

const REFRESH_MS = 20_000;
/** Rows of one page. */
export const LIST_SIZE = 50;

interface ListProps<Answer, Row> extends Pick<TableProps<Row>, 'columns' | 'keyOf' | 'empty'> {
  readonly title: string;
  /** The order that the list begins with. */
  readonly first: Sort;
  /** @param query the page and the order, as every list takes them */
  readonly pathOf: (query: URLSearchParams) => string;
  readonly rowsOf: (answer: Answer) => readonly Row[];
  readonly totalOf: (answer: Answer) => number;
}

interface ListPageProps<Answer, Row> extends ListProps<Answer, Row> {
  readonly filters: ComponentChildren;
  /** The members of the address that narrow the list, and what they are called. */
  readonly chips: Readonly<Record<string, string>>;
  /** null: whoever is signed in makes none. */
  readonly create: { readonly label: string; readonly form: (close: () => void) => JSX.Element } | null;
  readonly entry: (id: string) => JSX.Element;
}

export function ListPage<Answer extends { readonly total_pages: number }, Row>({
  filters,
  chips,
  create,
  entry,
  ...list
}: ListPageProps<Answer, Row>): JSX.Element {
  const [isMaking, setMaking] = useState(false);
  const id = param('id');
  return (
    <div class="stacked">
      <FilterBar>
        {filters}
        {create === null ? null : (
          <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
            {create.label}
          </Button>
        )}
      </FilterBar>
      <Chips names={chips} />
      <List {...list} selected={id} />
      {id === '' ? null : entry(id)}
      {create !== null && isMaking ? create.form(() => setMaking(false)) : null}
    </div>
  );
}

function List<Answer extends { readonly total_pages: number }, Row>({
  title,
  first,
  pathOf,
  rowsOf,
  totalOf,
  selected,
  ...table
}: ListProps<Answer, Row> & { readonly selected: string }): JSX.Element {
  const { sort, onSort } = sortInAddress(first, ['page']);
  const query = new URLSearchParams({
    page: String(pageInAddress()),
    sort_by: sort.by,
    sort_order: sort.descending ? 'desc' : 'asc',
  });
  const found = useResource<Answer>(pathOf(query), { everyMs: REFRESH_MS });
  const isPastEnd = (answer: Answer): boolean => rowsOf(answer).length === 0 && totalOf(answer) > 0;
  return (
    <Loads from={found} lines={8} dims>
      {(answer) => (
        <Panel title={title} note={count(totalOf(answer))} flush>
          <Table
            {...table}
            label={title}
            rows={rowsOf(answer)}
            selected={selected}
            onOpen={(row) => setParams({ id: table.keyOf(row) })}
            sort={sort}
            onSort={onSort}
            {...(isPastEnd(answer) ? { empty: <PastEnd pages={answer.total_pages} /> } : {})}
          />
          <Pager pages={answer.total_pages} />
        </Panel>
      )}
    </Loads>
  );
}
