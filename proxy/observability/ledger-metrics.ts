// The metrics of the ledger, as a table: name, help text and where the figure comes from.

/** Read when metrics are scraped. */
export interface LedgerFigures {
  readonly writable: boolean;
  readonly rowsAtRisk: number;
  readonly rowsLost: number;
  readonly storeReachable: boolean;
  readonly open: number;
  readonly pendingShip: number;
  readonly written: number;
  readonly shipped: number;
  readonly recovered: number;
  readonly damaged: number;
  readonly removed: number;
  readonly reserveBytes: number;
}

/** `state`: of several workers the worst one's counts; others are added up. */
type Row = readonly [
  kind: 'gauge' | 'state' | 'counter',
  name: string,
  help: string,
  read: (figures: LedgerFigures) => number,
];

export const LEDGER_METRICS: readonly Row[] = [
  [
    'state',
    'throughline_journal_writable',
    '1 while spend records reach the journal.',
    (f) => Number(f.writable),
  ],
  [
    'gauge',
    'throughline_journal_reserve_bytes',
    'Disk space kept for the rows of running calls; 0 while it is in use.',
    (f) => f.reserveBytes,
  ],
  ['gauge', 'throughline_spend_rows_at_risk', 'Records that are in memory only.', (f) => f.rowsAtRisk],
  [
    'counter',
    'throughline_spend_rows_lost_total',
    'Records lost because memory ran out during an outage; should stay 0.',
    (f) => f.rowsLost,
  ],
  [
    'state',
    'throughline_store_reachable',
    '1 while the store accepts rows.',
    (f) => Number(f.storeReachable),
  ],
  [
    'gauge',
    'throughline_spend_rows_open',
    'Requests that have begun in the journal and are not settled.',
    (f) => f.open,
  ],
  [
    'gauge',
    'throughline_journal_backlog_bytes',
    'Bytes written to the journal that are not in the store yet.',
    (f) => f.pendingShip,
  ],
  [
    'counter',
    'throughline_spend_rows_written_total',
    'Settled records written since the start.',
    (f) => f.written,
  ],
  [
    'counter',
    'throughline_spend_rows_shipped_total',
    'Records shipped to the store since the start.',
    (f) => f.shipped,
  ],
  [
    'counter',
    'throughline_spend_rows_recovered_total',
    'Interrupted requests found at the start.',
    (f) => f.recovered,
  ],
  [
    'counter',
    'throughline_journal_damaged_lines_total',
    'Unreadable journal lines set aside at the start.',
    (f) => f.damaged,
  ],
  [
    'counter',
    'throughline_spend_rows_removed_total',
    'Rows removed since the start because they were older than the retention period.',
    (f) => f.removed,
  ],
];
