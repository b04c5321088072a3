// What the ledger tells about itself, as metrics. A table: names, texts and where the figures come from.

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
  ['gauge', 'throughline_spend_rows_at_risk', 'Records held in memory alone.', (f) => f.rowsAtRisk],
  [
    'counter',
    'throughline_spend_rows_lost_total',
    'Records given up for want of memory in an outage; stays 0.',
    (f) => f.rowsLost,
  ],
  [
    'state',
    'throughline_store_reachable',
    '1 while the store takes rows over.',
    (f) => Number(f.storeReachable),
  ],
  ['gauge', 'throughline_spend_rows_open', 'Requests begun in the journal and not settled.', (f) => f.open],
  [
    'gauge',
    'throughline_journal_backlog_bytes',
    'Written to the journal, not yet in the store.',
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
    'Records taken into the store since the start.',
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
