// Walking a list by keys: one tab stop for the whole list; arrows or `j` and `k` move, Enter opens, `c` copies the id.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { copyText } from './copy.tsx';
import { isTyping } from '../base/typing.ts';

export interface Roving {
  /** The row that has the tab stop. */
  readonly current: number;
  readonly list: RefObject<HTMLElement | null>;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  readonly onFocus: (index: number) => void;
  /** Focuses a row, which need not be drawn yet. */
  readonly move: (to: number) => void;
  /** Rows came or went above: the tab stop stays with its row. */
  readonly shift: (by: number) => void;
}

export function useRoving({
  count,
  open,
  idOf,
  reveal,
  jump,
}: {
  readonly count: number;
  readonly open: ((index: number) => void) | null;
  readonly idOf: (index: number) => string;
  /** Brings a row that is not drawn into view. */
  readonly reveal?: (index: number) => void;
  /** Home and End of a list of which a part is here. @returns whether it sees to it */
  readonly jump?: ((to: 'first' | 'last') => boolean) | undefined;
}): Roving {
  const [current, setCurrent] = useState(0);
  const list = useRef<HTMLElement>(null);
  /** The row that is to have the focus as soon as it is drawn. */
  const wanted = useRef<number | null>(null);
  const at = Math.min(current, Math.max(0, count - 1));

  useEffect(() => {
    if (wanted.current !== at) return;
    const row = list.current?.querySelector<HTMLElement>(`[data-row="${at}"]`);
    if (row === null || row === undefined) return;
    wanted.current = null;
    row.focus({ preventScroll: false });
  });

  const move = (to: number): void => {
    const next = Math.max(0, Math.min(count - 1, to));
    wanted.current = next;
    reveal?.(next);
    setCurrent(next);
  };

  return {
    current: at,
    list,
    onFocus: setCurrent,
    move,
    shift: (by) => setCurrent((index) => Math.max(0, index + by)),
    onKeyDown: (event) => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event)) return;
      const step = STEPS[event.key];
      if (step !== undefined) move(at + step);
      else if (event.key === 'Home' && jump?.('first') !== true) move(0);
      else if (event.key === 'End' && jump?.('last') !== true) move(count - 1);
      else if (event.key === 'Home' || event.key === 'End') event.preventDefault();
      else if (event.key === 'Enter' && event.target === rowOf(list.current, at)) open?.(at);
      else if (event.key === 'c') void copyText(idOf(at));
      else return;
      event.preventDefault();
    },
  };
}

const STEPS: Readonly<Record<string, number | undefined>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  j: 1,
  k: -1,
  PageDown: 15,
  PageUp: -15,
};

function rowOf(list: HTMLElement | null, index: number): Element | null {
  return list?.querySelector(`[data-row="${index}"]`) ?? null;
}
