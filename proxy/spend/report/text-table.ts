// A table for terminals: columns as wide as their widest cell, numbers to the right. Pure.

/** Longer texts are cut with an ellipsis, so that one odd tag does not push all numbers off the screen. */
const WIDEST = 48;
const CONTROL = /[\p{Cc}\p{Cf}]/gu;

/**
 * The table, each line with its line break. A rule stands below the header, and above the last line when it is a sum.
 * @param lines the header first; cells that are texts of callers may hold anything
 * @param right which columns hold numbers
 */
export function textTable(
  lines: readonly (readonly string[])[],
  right: readonly boolean[],
  hasSum = false,
  widest = WIDEST,
): string {
  const shown = lines.map((line) => line.map((cell) => plain(cell, widest)));
  const widths = right.map((_, i) => Math.max(...shown.map((line) => line[i]?.length ?? 0)));
  const texts = shown.map((line) =>
    line
      .map((cell, i) => (right[i] === true ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  texts.splice(1, 0, rule);
  if (hasSum) texts.splice(-1, 0, rule);
  return `${texts.join('\n')}\n`;
}

/** Control characters would move the cursor of whoever looks at a report. */
function plain(cell: string, widest: number): string {
  const text = cell.replaceAll(CONTROL, '\ufffd');
  return text.length > widest ? `${text.slice(0, widest - 1)}…` : text;
}

/** `1234567` as `1,234,567`. */
export function grouped(count: number | bigint): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}
