// A table as Markdown in the shape that prettier leaves alone, which is as readable in a terminal. Pure.
import type { Table } from './scenario.ts';

/** Title, aligned table, notes; no line end at the end. */
export function markdown(table: Table): string {
  const all = [table.columns, ...table.rows];
  const widths = table.columns.map((_, i) => Math.max(3, ...all.map((row) => (row[i] ?? '').length)));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, i) => (i === 0 ? (row[i] ?? '').padEnd(width) : (row[i] ?? '').padStart(width))).join(' | ')} |`;
  const rule = widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  const body = [line(table.columns), `| ${rule.join(' | ')} |`, ...table.rows.map(line)].join('\n');
  const notes = table.notes.length === 0 ? '' : `\n\n${table.notes.map((note) => `- ${note}`).join('\n')}`;
  return `**${table.title}**\n\n${body}${notes}`;
}
