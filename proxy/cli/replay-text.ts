// What `throughline replay` prints: how far the call has come, and the comparison.
import { printable } from '../../config/printable.ts';
import type { Comparison } from '../capsule/replay/compare.ts';
import type { ReplayProgress } from '../capsule/replay/send-again.ts';
import { grouped, textTable } from '../spend/report/text-table.ts';

/** A line for each so many bytes: a long stream is seen to go on. */
const STEP_BYTES = 65_536;

/** @param err null = nobody is told */
export function progressTo(err: ((text: string) => void) | null): ReplayProgress {
  let next = STEP_BYTES;
  return {
    head: (status, atMs) => err?.(`  ${status} after ${Math.round(atMs)} ms\n`),
    bytes: (soFar) => {
      if (soFar < next) return;
      next = soFar + STEP_BYTES;
      err?.(`  ${grouped(soFar)} bytes\n`);
    },
  };
}

const VERDICTS: Readonly<Record<Comparison['verdict'], string>> = {
  same_bytes: 'The responses are the same, byte by byte.',
  same_events: 'The responses are the same but for ids and clocks.',
  different: 'The responses differ.',
};

export function comparisonText(comparison: Comparison & { readonly why: string | null }): string {
  const { verdict, status, headers, end, bytes, events, times, is_cut, why } = comparison;
  const rows = [
    ['', 'recorded', 'replayed'],
    row('status', status),
    row('end', end),
    ...headers.map((one) => row(one.name, one)),
    row('bytes', bytes),
    row('events', events),
    ...(['head_ms', 'first_byte_ms', 'last_byte_ms', 'longest_gap_ms', 'pieces'] as const).map((name) =>
      row(name.replaceAll('_', ' ').replace(/ ms$/, ', ms'), {
        recorded: times.recorded[name],
        replayed: times.replayed[name],
      }),
    ),
  ];
  const notes = [
    ...(why === null ? [] : [`The replayed response broke off: ${printable(why)}\n`]),
    ...(bytes.first_difference === null
      ? []
      : [`First different byte: offset ${grouped(bytes.first_difference)}\n`]),
    ...eventLines(events.first_difference),
    ...(is_cut ? ['The recording was cut at its bound; what follows is not compared.\n'] : []),
  ];
  return `${textTable(rows, [false, true, true])}\n${notes.join('')}${VERDICTS[verdict]}\n`;
}

const row = (name: string, both: { readonly recorded: Cell; readonly replayed: Cell }): string[] => [
  name,
  cell(both.recorded),
  cell(both.replayed),
];

type Cell = string | number | null;

const cell = (value: Cell): string => {
  if (value === null) return '-';
  return typeof value === 'number' ? grouped(value) : value;
};

function eventLines(difference: Comparison['events']['first_difference']): string[] {
  if (difference === null) return [];
  const { event, recorded, replayed } = difference;
  return [
    `First different event: ${event}\n`,
    `  recorded  ${recorded === null ? 'none' : printable(recorded)}\n`,
    `  replayed  ${replayed === null ? 'none' : printable(replayed)}\n`,
  ];
}
