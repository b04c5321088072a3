// Rows and columns. `Table` draws some hundreds of rows, and more on request. `VirtualTable` draws those that are seen: for the rest.
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Sort } from '../base/sort.ts';
import { count } from '../format/numbers.ts';
import { t } from '../text/index.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { useRoving } from './roving.ts';

/** So many rows are drawn at first, and with each step further: all that are there are drawn again with each answer. */
const DRAWN = 500;

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Figures stand at the end, so that digits stand under digits. */
  readonly align?: 'end';
  /** A track of CSS grid: `8rem`, `minmax(8rem, 2fr)`. `Table` takes it as a width. */
  readonly width?: string;
  /** Whether a click on the heading sorts by it. */
  readonly sorts?: boolean;
  /** Left out where the list is narrow: on a phone. */
  readonly minor?: boolean;
  /** Left out earlier: in a small window already. For `VirtualTable`. */
  readonly extra?: boolean;
  /** The explanation of the heading. */
  readonly hint?: string;
}

export interface TableProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  /** A click or Enter on a row. */
  readonly onOpen?: (row: T) => void;
  /** The key of the row that is open beside the list. */
  readonly selected?: string | null;
  readonly sort?: Sort;
  readonly onSort?: (sort: Sort) => void;
  /** Instead of rows when there are none. */
  readonly empty?: ComponentChildren;
  /** A row at the end: sums. */
  readonly foot?: readonly ComponentChildren[];
}

export function Table<T>(props: TableProps<T>): JSX.Element {
  const { label, rows: all, columns, keyOf, onOpen, selected = null, empty, foot } = props;
  const [most, setMost] = useState(DRAWN);
  const rows = all.length > most ? all.slice(0, most) : all;
  const open = onOpen === undefined ? null : (index: number) => callWith(rows[index], onOpen);
  const roving = useRoving({ count: rows.length, open, idOf: (index) => idAt(rows, index, keyOf) });
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <>
      <div class="table-scroll" ref={roving.list as never}>
        <table class="table" aria-label={label}>
          <thead>
            <tr>
              {columns.map((column) => (
                <Heading key={column.key} column={column} {...props} />
              ))}
            </tr>
          </thead>
          <tbody onKeyDown={roving.onKeyDown}>
            {rows.map((row, index) => {
              const key = keyOf(row);
              return (
                <tr
                  key={key}
                  data-row={index}
                  tabIndex={open === null ? undefined : Number(index === roving.current) - 1}
                  class={open === null ? '' : 'opens'}
                  aria-selected={key === selected ? true : undefined}
                  onFocus={() => roving.onFocus(index)}
                  onClick={(event) => {
                    if (open !== null && !isOnControl(event)) open(index);
                  }}
                >
                  {columns.map((column) => (
                    <td key={column.key} class={classOf(column)}>
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
          {foot === undefined ? null : (
            <tfoot>
              <tr>
                {columns.map((column, index) => (
                  <td key={column.key} class={classOf(column)}>
                    {foot[index]}
                  </td>
                ))}
              </tr>
            </tfoot>
          )}
        </table>
      </div>
      {rows.length === all.length ? null : (
        <p class="pager">
          <span class="quiet">{t().common.firstOf(count(rows.length), count(all.length))}</span>
          <Button kind="quiet" onClick={() => setMost(most + DRAWN)}>
            {t().common.showMore}
          </Button>
        </p>
      )}
    </>
  );
}

function Heading<T>({
  column,
  sort,
  onSort,
}: { column: Column<T> } & Pick<TableProps<T>, 'sort' | 'onSort'>): JSX.Element {
  const isSorted = sort?.by === column.key;
  const order = sort?.descending === true ? 'descending' : 'ascending';
  const style = column.width === undefined ? {} : { width: column.width };
  return (
    <th
      scope="col"
      class={classOf(column)}
      style={style}
      title={column.hint}
      aria-sort={isSorted ? order : undefined}
    >
      <HeadingText
        column={column}
        {...(sort === undefined ? {} : { sort })}
        {...(onSort === undefined ? {} : { onSort })}
      />
    </th>
  );
}

/** The title of a column; a button where it sorts. */
export function HeadingText<T>({
  column,
  sort,
  onSort,
}: { column: Column<T> } & Pick<TableProps<T>, 'sort' | 'onSort'>): JSX.Element {
  if (column.sorts !== true || onSort === undefined) return <>{column.title}</>;
  const isSorted = sort?.by === column.key;
  return (
    <button
      type="button"
      class={isSorted ? 'sort on' : 'sort'}
      title={t().common.sortBy(column.title)}
      onClick={() =>
        onSort({ by: column.key, descending: isSorted ? !sort.descending : column.align === 'end' })
      }
    >
      {column.title}
      <span class={isSorted && !sort.descending ? 'turned' : ''}>
        <Icon name="down" size={12} />
      </span>
    </button>
  );
}

export function classOf<T>({ align, minor, extra }: Column<T>): string {
  return [align === 'end' ? 'end' : '', minor === true ? 'minor' : '', extra === true ? 'extra' : '']
    .filter(Boolean)
    .join(' ');
}

export function idAt<T>(rows: readonly T[], index: number, keyOf: (row: T) => string): string {
  const row = rows[index];
  return row === undefined ? '' : keyOf(row);
}

export function callWith<T>(row: T | undefined, act: (row: T) => void): void {
  if (row !== undefined) act(row);
}

/** A button or a link in a row does what it says, and does not open the row. */
export function isOnControl(event: MouseEvent): boolean {
  return (
    event.target instanceof Element && event.target.closest('a, button, input, select, summary') !== null
  );
}

/** Rows in the order of a column; for lists that are whole. */
export function sorted<T>(
  rows: readonly T[],
  { descending }: Sort,
  valueOf: (row: T) => string | number | null,
): readonly T[] {
  const factor = descending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [left, right] = [valueOf(a), valueOf(b)];
    if (left === right) return 0;
    if (left === null) return 1; // what is not known is last, either way
    if (right === null) return -1;
    if (typeof left === 'string' || typeof right === 'string')
      return factor * String(left).localeCompare(String(right), undefined, { numeric: true });
    return factor * (left - right);
  });
}
