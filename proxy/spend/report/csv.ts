// CSV (RFC 4180), both ways, with the `csv-stringify` and `csv-parse` packages. Texts of callers may look like formulas;
// a spreadsheet must not run them.
import { CsvError as ParserError, parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';

/** A cell of a line; null and undefined are empty. */
type CsvCell = string | number | bigint | boolean | null | undefined;

/** A number that begins with a minus is no formula. */
const asNumber = (value: number | bigint): { value: string; escape_formulas: boolean } => ({
  value: String(value),
  escape_formulas: false,
});

const OPTIONS = Object.freeze({
  record_delimiter: '\r\n',
  // https://owasp.org/www-community/attacks/CSV_Injection: a `'` goes before a text that begins like a formula.
  escape_formulas: true,
  // By itself the package quotes a cell only for the whole delimiter, and readers take a lone \n for one.
  quoted_match: /[\r\n]/,
  cast: { number: asNumber, bigint: asNumber, boolean: String },
});

/** One line with its line break. Texts that a spreadsheet would run get a `'` before them. */
export function csvLine(cells: readonly CsvCell[]): string {
  return stringify([[...cells]], OPTIONS);
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
  if (text.trim() === '') throw new CsvError('the file is empty - its first line must name the columns');
  try {
    return parse<Record<string, string>>(text, { bom: true, columns: true, skip_empty_lines: true });
  } catch (error) {
    throw error instanceof ParserError ? new CsvError(sentence(error)) : error;
  }
}

/** The package's own sentences quote cells, which may hold anything. */
function sentence(error: ParserError): string {
  const line = Number(error['lines']);
  switch (error.code) {
    case 'CSV_RECORD_INCONSISTENT_COLUMNS':
      return `line ${line} has another number of cells than the header`;
    case 'CSV_QUOTE_NOT_CLOSED':
      return `line ${line} has a quote that does not end`;
    default:
      return `line ${line} has text beside a quote`;
  }
}
