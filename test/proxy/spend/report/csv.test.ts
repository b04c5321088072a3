// CSV both ways, the text table, the tolerance of dollars as texts, and Parquet read back by another reader.
import { join } from 'node:path';
import fc from 'fast-check';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import t from 'tap';
import { dollarText, picoOfDollarText, roundedDollars } from '../../../../proxy/spend/record/dollars.ts';
import { csvCell, jsonValue, ROW_COLUMNS } from '../../../../proxy/spend/report/columns.ts';
import { CsvError, csvLine, parseCsv } from '../../../../proxy/spend/report/csv.ts';
import { writeParquet } from '../../../../proxy/spend/report/parquet.ts';
import { grouped, textTable } from '../../../../proxy/spend/report/text-table.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';
import { folder } from '../../../support/cli.ts';

t.test('what is written as CSV is read back as it was, but for the mark of formulas', (t) => {
  const cell = fc.string({ unit: 'grapheme' });
  // Full-width signs begin a formula, too.
  const marked = (text: string): string =>
    /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text;
  fc.assert(
    fc.property(fc.array(fc.tuple(cell, cell, cell), { maxLength: 10 }), (lines) => {
      const text = [['a', 'b', 'c'], ...lines].map(csvLine).join('');
      t.strictSame(
        parseCsv(text).map(({ a, b, c }) => [a, b, c]),
        lines.map((line) => line.map(marked)),
      );
    }),
    { examples: [[[['=', '\uff0d1', 'x\uff0d']]], [[['\t', "'", '\r']]]] },
  );
  t.end();
});

t.test('a text that a spreadsheet would run is only text', (t) => {
  t.equal(
    csvLine(['=1+1', '+x', '-x', '@x', '\tx', -1, null, true, 2n]),
    "'=1+1,'+x,'-x,'@x,'\tx,-1,,true,2\r\n",
  );
  t.equal(csvLine(['=HYPERLINK("x")']), `"'=HYPERLINK(""x"")"\r\n`);
  t.equal(csvLine(['a\nb', 'a\rb', 'a,b']), '"a\nb","a\rb","a,b"\r\n');
  t.end();
});

t.test(
  'CSV as others write it: byte order mark, plain line ends, line breaks in cells; nonsense is refused',
  (t) => {
    t.same(parseCsv('\ufeffa,b\n1,"x\ny"\n\n2,\n'), [
      { a: '1', b: 'x\ny' },
      { a: '2', b: '' },
    ]);
    t.same(parseCsv('a\n'), []);
    for (const [text, says] of [
      ['', /the file is empty/],
      ['a,b\n1\n', /line 2 has another number of cells than the header/],
      ['a,b\n1,"x\ny"\n3,4,5\n', /line 4 has another number/],
      ['a\n"x', /line 2 has a quote that does not end/],
      ['a\n"x"y\n', /text beside a quote/],
      ['a\nx"y\n', /line 2/],
    ] as const) {
      t.throws(() => parseCsv(text), { name: 'CsvError', message: says });
    }
    t.ok(new CsvError('x') instanceof Error);
    t.end();
  },
);

t.test('dollars are exact both ways, and rounded half away from zero for people', (t) => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (pico) => {
      t.equal(picoOfDollarText(dollarText(pico)), pico);
      t.notMatch(dollarText(pico), /e|\.$|\.\d*0$/);
    }),
  );
  t.equal(dollarText(22_000_000n), '0.000022');
  t.equal(dollarText(-1_500_000_000_000n), '-1.5');
  t.equal(roundedDollars(1_499_999n, 6), '0.000001');
  t.equal(roundedDollars(1_500_000n, 6), '0.000002');
  t.equal(roundedDollars(-1_500_000n, 6), '-0.000002');
  t.equal(roundedDollars(999_999_999_999n, 2), '1.00');
  t.equal(roundedDollars(1_500_000_000_000n, 0), '2');
  t.end();
});

t.test('a table is aligned, and odd texts stay in their cell', (t) => {
  const long = 'x'.repeat(60);
  const lines = [
    ['who', 'n'],
    ['\u202eevil\u001b', '1'],
    [long, '1,000'],
  ];
  t.equal(
    textTable(lines, [false, true], true),
    `who${' '.repeat(51)}n\n${'-'.repeat(48)}  -----\n\ufffdevil\ufffd${' '.repeat(48)}1\n${'-'.repeat(48)}  -----\n${'x'.repeat(47)}…  1,000\n`,
  );
  t.equal(grouped(1_234_567), '1,234,567');
  t.end();
});

t.test('rows as Parquet are the rows, exact, whoever reads the file', async (t) => {
  const path = join(folder(t), 'rows.parquet');
  const full = settleOf(beginOf('id-1', { teamId: 'blue' }), { spendPico: 9_007_199_254_740_991 });
  const bare = settleOf(beginOf('id-2', { teamId: null, endUser: null, spendLogsMetadata: null, tags: [] }), {
    usage: null,
    spendPico: null,
    firstByteMs: null,
    httpStatus: null,
  });
  const many = Array.from({ length: 45_000 }, (_, i) => settleOf(beginOf(`more-${i}`), { spendPico: i }));
  const rows = async function* (): AsyncGenerator<typeof full> {
    yield* [full, bare, ...many];
  };
  await writeParquet(path, ROW_COLUMNS, rows());
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  t.equal(metadata.num_rows, 45_002n);
  t.equal(metadata.row_groups.length, 3);
  const spend = metadata.schema.find(({ name }) => name === 'spend');
  t.match(spend, { converted_type: 'DECIMAL', scale: 12, precision: 38 });
  const read = await parquetReadObjects({ file, rowEnd: 3 });
  t.match(read[0], {
    request_id: 'id-1',
    team_id: 'blue',
    startTime: new Date(full.startMs),
    prompt_tokens: 100n,
    stream: true,
    request_tags: '["team:blue","type:agent"]',
  });
  t.equal(Number(read[0]?.['spend']).toFixed(9), '9007.199254741');
  t.match(read[1], { spend: null, usage: null, end_user: null, team_id: null, http_status: null });
  t.match(read[2], { request_id: 'more-0', spend: 0 });
});

t.test('every column has a value for CSV and JSON', (t) => {
  const row = settleOf(beginOf('id-1'), { startMs: 1e17 });
  for (const column of ROW_COLUMNS) {
    t.not(csvCell(column, row), undefined, column.name);
    t.not(jsonValue(column, row), undefined, column.name);
  }
  t.equal(
    jsonValue(ROW_COLUMNS[2] ?? t.bailout('no column') ?? (ROW_COLUMNS[0] as never), row),
    '9999-12-31T23:59:59.999Z',
  );
  t.end();
});
