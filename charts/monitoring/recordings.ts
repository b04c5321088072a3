// The recording rules: how fast each objective's error budget burns, over several windows. An objective is a share of calls
// that must be good over 30 days; 1 = the budget lasts exactly as long.

interface Recording {
  readonly record: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
}

const WINDOWS = ['5m', '30m', '1h', '6h', '3d'] as const;
const BY = 'namespace, job';

/** Share of calls that may fail, of all but those that fail by their callers. */
const FAULTS = [
  { slo: 'chain', sides: 'proxy|upstream', budget: 0.01 },
  { slo: 'proxy', sides: 'proxy', budget: 0.001 },
] as const;
/** Share of calls whose first byte may come later than the edge of a bucket. */
const SLOW = { slo: 'first_byte', edgeSeconds: 10, budget: 0.05 } as const;

/** Calls a second, without those that fail by their callers. A rate first, then a sum: instances restart one by one. */
const callsOver = (window: string): string => {
  const all = `sum by (${BY}) (rate(throughline_requests_total[${window}]))`;
  const callers = `sum by (${BY}) (rate(throughline_faults_total{side="client"}[${window}]))`;
  return `clamp_min(${all} - (${callers} or 0 * ${all}), 0)`;
};

function recordingsOver(window: string): Recording[] {
  const calls = `job:throughline_calls:rate${window}`;
  const burn = `job:throughline_error_budget_burn:rate${window}`;
  const faults = FAULTS.map(({ slo, sides, budget }): Recording => ({
    record: burn,
    expr:
      `(sum by (${BY}) (rate(throughline_faults_total{side=~"${sides}"}[${window}])) or 0 * ${calls})\n` +
      `/ (${calls} > 0) / ${budget}`,
    labels: { slo },
  }));
  const count = `sum by (${BY}) (rate(throughline_first_byte_seconds_count[${window}]))`;
  const inTime = `sum by (${BY}) (rate(throughline_first_byte_seconds_bucket{le="${SLOW.edgeSeconds}"}[${window}]))`;
  return [
    { record: calls, expr: callsOver(window) },
    ...faults,
    {
      record: burn,
      expr: `clamp_min(1 - ${inTime} / (${count} > 0), 0) / ${SLOW.budget}`,
      labels: { slo: SLOW.slo },
    },
  ];
}

export const RECORDINGS: readonly Recording[] = WINDOWS.flatMap(recordingsOver);
