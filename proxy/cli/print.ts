// What commands print that read lists: JSON for programs, a table for people.
import { textTable } from '../spend/report/text-table.ts';
import type { Terminal } from './terminal.ts';

export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** How rows are shown. */
interface Table<R> {
  readonly header: readonly string[];
  /** Which of the header stand above numbers. */
  readonly numbers: readonly string[];
  readonly cellsOf: (row: R) => readonly string[];
  /** Where there are no rows: `there are no ...`. */
  readonly none: string;
  /** Longer cells are cut. */
  readonly widest?: number;
}

export function printRows<R>(
  rows: readonly R[],
  { json }: { readonly json?: true | undefined },
  { header, numbers, cellsOf, none, widest }: Table<R>,
  terminal: Terminal,
): void {
  if (json === true) return terminal.out(jsonText(rows));
  if (rows.length === 0) return terminal.err(`there are no ${none}\n`);
  const right = header.map((name) => numbers.includes(name));
  terminal.out(textTable([header, ...rows.map(cellsOf)], right, false, widest));
}
