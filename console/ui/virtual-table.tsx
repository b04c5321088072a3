// A table of any length: only the rows that are seen are in the page. Needs rows of one height.
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useRoving, type Roving } from './roving.ts';
import { callWith, classOf, HeadingText, idAt, isOnControl, type Column, type TableProps } from './table.tsx';

const ROW_PX = 32;
const OVERSCAN = 12;
/** So close to an end the next rows are asked for. */
const NEAR_END = 20;

export interface VirtualTableProps<T> extends Omit<TableProps<T>, 'foot'> {
  /** Called when the last rows come into view. */
  readonly onEnd?: () => void;
  /** Called when the first rows come into view, and there are others above that are not here. */
  readonly onStart?: (() => void) | undefined;
  /** Called for the keys Home and End. @returns whether other rows will be here in a moment: then it goes on there */
  readonly onJump?: (to: 'first' | 'last') => boolean;
  /** Another number: to the first row. */
  readonly toTop?: number;
  /** Called with whether the first row is in view: a live list waits while somebody reads further down. */
  readonly onTop?: (isAtTop: boolean) => void;
  /** Under the last row: "reading more", "these are all". */
  readonly end?: ComponentChildren;
}

export function VirtualTable<T>(props: VirtualTableProps<T>): JSX.Element {
  const { label, rows, columns, keyOf, onOpen, selected = null, empty, onEnd, onStart, onTop, end } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer(scroller, rows.length);
  const jumps = useRef<'first' | 'last' | null>(null);
  const open = onOpen === undefined ? null : (index: number) => callWith(rows[index], onOpen);
  const roving = useRoving({
    count: rows.length,
    open,
    idOf: (index) => idAt(rows, index, keyOf),
    reveal: (index) => virtualizer.scrollToIndex(index),
    jump: (to) => {
      if (props.onJump?.(to) !== true) return false;
      jumps.current = to;
      return true;
    },
  });
  useAnchor({ rows, keyOf, virtualizer, scroller, roving, jumps });
  useEffect(() => {
    if (scroller.current !== null && props.toTop !== 0) scroller.current.scrollTop = 0;
  }, [props.toTop]);
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const isNearEnd = rows.length > 0 && last >= rows.length - NEAR_END;
  useEffect(() => {
    if (isNearEnd) onEnd?.();
  }, [isNearEnd, rows.length]);
  const isNearStart = onStart !== undefined && (items[0]?.index ?? 0) < NEAR_END - OVERSCAN;
  useEffect(() => {
    if (isNearStart) onStart();
  }, [isNearStart, rows]);
  const isAtTop = (virtualizer.scrollOffset ?? 0) < ROW_PX;
  useEffect(() => onTop?.(isAtTop), [isAtTop]);

  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const tracks = {
    '--columns': tracksOf(columns),
    '--columns-of-window': tracksOf(columns.filter(({ extra }) => extra !== true)),
    '--columns-of-phone': tracksOf(columns.filter(({ minor }) => minor !== true)),
  };
  return (
    <div class="virtual" ref={scroller} style={tracks}>
      <div
        role="table"
        aria-label={label}
        aria-rowcount={onStart === undefined && end === undefined ? rows.length + 1 : -1}
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

/** Rows that come or go above do not move what is seen, unless the first row is: new ones are seen there. */
function useAnchor<T>({
  rows,
  keyOf,
  virtualizer,
  scroller,
  roving,
  jumps,
}: {
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly virtualizer: Scrolled;
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly roving: Roving;
  readonly jumps: RefObject<'first' | 'last' | null>;
}): void {
  const [, redraw] = useState(0);
  const before = useRef(rows);
  useLayoutEffect(() => {
    const old = before.current;
    before.current = rows;
    const element = scroller.current;
    if (old === rows || element === null) return;
    if (jumps.current !== null) {
      roving.move(jumps.current === 'first' ? 0 : rows.length - 1);
      jumps.current = null;
      return;
    }
    const movedBy = (index: number): number => {
      const row = old[index];
      const now = row === undefined ? -1 : rows.findIndex((one) => keyOf(one) === keyOf(row));
      return now === -1 ? 0 : now - index;
    };
    roving.shift(movedBy(roving.current));
    const by = element.scrollTop < ROW_PX ? 0 : movedBy(Math.floor(element.scrollTop / ROW_PX));
    if (by === 0) return;
    element.scrollTop += by * ROW_PX;
    virtualizer.scrollOffset = element.scrollTop; // its own event comes after the next picture
    redraw((n) => n + 1);
  }, [rows]);
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
