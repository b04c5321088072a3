// CSV as RFC 4180 has it, both ways. Pure. Texts of callers may look like formulas; a spreadsheet must not run them.

/** What a spreadsheet takes for a formula. https://owasp.org/www-community/attacks/CSV_Injection */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** A cell of a line; null and undefined are empty. */
export type CsvCell = string | number | bigint | boolean | null | undefined;

/** One line with its line break. Texts that a spreadsheet would run get a `'` before them. */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: CsvCell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell !== 'string') return String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A CSV text is not one. The message says in which line and why. */
export class CsvError extends Error {
  override readonly name = 'CsvError';
}

/**
 * The records of a text with a header line, as objects by column name. A byte order mark is passed over.
 * @throws CsvError for a missing header, a quote without its end, and lines with other numbers of cells
 */
export function parseCsv(text: string): Record<string, string>[] {
  const [header, ...lines] = linesOf(text.replace(/^\ufeff/, ''));
  if (header === undefined) throw new CsvError('the file is empty - its first line must name the columns');
  return lines.map(({ number, cells }) => {
    if (cells.length !== header.cells.length) {
      throw new CsvError(`line ${number} has ${cells.length} cells, the header has ${header.cells.length}`);
    }
    return Object.fromEntries(header.cells.map((name, i) => [name, cells[i] as string]));
  });
}

interface Line {
  /** Counting from 1, where it begins. */
  readonly number: number;
  readonly cells: readonly string[];
}

// A cell in quotes (which may hold anything) or plain, and what ends it.
const CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let number = 1;
  let begins = 1;
  let cells: string[] = [];
  for (let at = 0; at < text.length || cells.length > 0;) {
    CELL.lastIndex = at;
    const match = CELL.exec(text);
    if (match === null)
      throw new CsvError(`line ${number} has a quote that does not end, or text beside one`);
    const [whole, quoted, plain = '', end] = match;
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    number += whole.split('\n').length - 1;
    at += whole.length;
    if (end === ',') continue;
    if (cells.length > 1 || cells[0] !== '') lines.push({ number: begins, cells });
    cells = [];
    begins = number;
  }
  return lines;
}
