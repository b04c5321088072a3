// How long the steps of a stop may take once running requests are to end. Whoever waits from outside waits longer than all of
// them together: the supervisor of workers, the chart (charts/throughline/templates/_config.tpl), and the 30 s of
// docs/operating.md.

/** To tell every client of a running request that the proxy stops; a client that reads slowly is cut then. */
export const TELL_MS = 5_000;
/** To settle their records afterwards. Counting the tokens of a broken stream takes 2 s at most (spend/estimate/estimator.ts). */
export const SETTLE_MS = 5_000;
/** For all parts that use the records, before these are closed. What is not closed by then goes on beside the records. */
export const PARTS_MS = 5_000;
/** To ship the last records. */
export const RECORDS_MS = 10_000;
/** To export the last spans, beside the records; a collector that is down must not delay a restart. */
export const SPANS_MS = 3_000;

/** All steps. */
export const STOP_MS = TELL_MS + SETTLE_MS + PARTS_MS + RECORDS_MS;
