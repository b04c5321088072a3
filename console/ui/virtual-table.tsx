// A table of any length: only the rows that are seen are in the page. Needs rows of one height.
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useRoving } from './roving.ts';
import { callWith, classOf, HeadingText, idAt, isOnControl, type Column, type TableProps } from './table.tsx';

const ROW_PX = 32;
const OVERSCAN = 12;
/** So close to the end the next rows are asked for. */
const NEAR_END = 20;

export interface VirtualTableProps<T> extends Omit<TableProps<T>, 'foot'> {
  /** Called when the last rows come into view. */
  readonly onEnd?: () => void;
  /** Called with whether the first row is in view: a live list waits while somebody reads further down. */
  readonly onTop?: (isAtTop: boolean) => void;
  /** Under the last row: "reading more", "these are all". */
  readonly end?: ComponentChildren;
}

export function VirtualTable<T>(props: VirtualTableProps<T>): JSX.Element {
  const { label, rows, columns, keyOf, onOpen, selected = null, empty, onEnd, onTop, end } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer(scroller, rows.length);
  const open = onOpen === undefined ? null : (index: number) => callWith(rows[index], onOpen);
  const roving = useRoving({
    count: rows.length,
    open,
    idOf: (index) => idAt(rows, index, keyOf),
    reveal: (index) => virtualizer.scrollToIndex(index),
  });
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const isNearEnd = rows.length > 0 && last >= rows.length - NEAR_END;
  useEffect(() => {
    if (isNearEnd) onEnd?.();
  }, [isNearEnd, rows.length]);
  const isAtTop = (virtualizer.scrollOffset ?? 0) < ROW_PX;
  useEffect(() => onTop?.(isAtTop), [isAtTop]);

  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const tracks = {
    '--columns': tracksOf(columns),
    '--columns-of-phone': tracksOf(columns.filter(({ minor }) => minor !== true)),
  };
  return (
    <div class="virtual" ref={scroller} style={tracks}>
      <div
        role="table"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        ref={roving.list as never}
        onKeyDown={roving.onKeyDown}
      >
        <div role="row" class="head" aria-rowindex={1}>
          {columns.map((column) => (
            <div
              key={column.key}
              role="columnheader"
              class={classOf(column)}
              title={column.hint}
              aria-sort={sortOf(column.key, props.sort)}
            >
              <HeadingText column={column} {...pick(props)} />
            </div>
          ))}
        </div>
        <div role="rowgroup" class="rows" style={{ height: `${virtualizer.getTotalSize()}px` }}>
          {items.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const key = keyOf(row);
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={index + 2}
                data-row={index}
                tabIndex={Number(index === roving.current) - 1}
                class={key === selected ? 'row selected' : 'row'}
                style={{ transform: `translateY(${start}px)` }}
                onFocus={() => roving.onFocus(index)}
                onClick={(event) => {
                  if (open !== null && !isOnControl(event)) open(index);
                }}
              >
                {columns.map((column) => (
                  <div key={column.key} role="cell" class={classOf(column)}>
                    {column.cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {end === undefined ? null : <div class="end-note">{end}</div>}
    </div>
  );
}

function tracksOf<T>(columns: readonly Column<T>[]): string {
  return columns.map(({ width }) => width ?? 'minmax(6rem, 1fr)').join(' ');
}

function pick<T>({
  sort,
  onSort,
}: Pick<TableProps<T>, 'sort' | 'onSort'>): Pick<TableProps<T>, 'sort' | 'onSort'> {
  return { ...(sort === undefined ? {} : { sort }), ...(onSort === undefined ? {} : { onSort }) };
}

function sortOf(key: string, sort: TableProps<never>['sort']): 'ascending' | 'descending' | undefined {
  if (sort?.by !== key) return undefined;
  return sort.descending ? 'descending' : 'ascending';
}

type Scrolled = Virtualizer<HTMLDivElement, HTMLDivElement>;

function useVirtualizer(scroller: { readonly current: HTMLDivElement | null }, count: number): Scrolled {
  const [, redraw] = useState(0);
  const options: VirtualizerOptions<HTMLDivElement, HTMLDivElement> = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    // Before the first measure: a screen's worth.
    initialRect: { width: 1000, height: 800 },
    onChange: () => redraw((n) => n + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
