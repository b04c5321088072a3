// A whole run as one document: what `--json` and `GET /doctor` give. schemas/doctor.json describes it; a member that
// changes its meaning gets another `schema`.
import { HOPS, type Hop, type Level } from './code-rule.ts';
import type { Code } from './codes.ts';
import { AREAS, type Area, type Finding, type Outcome } from './finding.ts';

export interface Report {
  readonly schema: 'throughline-doctor/1';
  readonly version: string;
  readonly at: string;
  readonly verdict: 'ok' | 'warnings' | 'errors';
  /** The hop at fault: that of the first error, as a call passes them. */
  readonly hop: Hop | null;
  readonly summary: string;
  readonly counts: Readonly<Record<'passed' | 'skipped' | 'muted' | Level, number>>;
  readonly findings: readonly (Finding & { readonly area: Area; readonly check: string })[];
  readonly skipped: readonly {
    readonly area: Area;
    readonly check: string;
    readonly subject: string;
    readonly because: string;
  }[];
  readonly passed: readonly {
    readonly area: Area;
    readonly check: string;
    readonly subject: string;
    readonly seen: string;
  }[];
}

const LEVELS: readonly Level[] = ['error', 'warning', 'info'];

export function reportOf(
  outcomes: readonly Outcome[],
  about: { readonly version: string; readonly atMs: number; readonly muted: ReadonlySet<string> },
): Report {
  const inOrder = outcomes.toSorted((a, b) => AREAS.indexOf(a.area) - AREAS.indexOf(b.area));
  const all = inOrder.flatMap((one) =>
    one.status === 'found' ? [{ ...one.finding, area: one.area, check: one.check }] : [],
  );
  const findings = all.filter(({ code }) => !about.muted.has(code)).toSorted(inOrderOfLines);
  const count = (level: Level): number => findings.filter((one) => one.level === level).length;
  const [errors, warnings] = [count('error'), count('warning')];
  const passed = inOrder.flatMap(({ area, check, subject, ...one }) =>
    one.status === 'passed' ? [{ area, check, subject, seen: one.seen }] : [],
  );
  const skipped = inOrder.flatMap(({ area, check, subject, ...one }) =>
    one.status === 'skipped' ? [{ area, check, subject, because: one.because }] : [],
  );
  const causes = findings.filter(({ level }) => level === (errors > 0 ? 'error' : 'warning'));
  const hop = errors > 0 ? (causes[0]?.hop ?? null) : null;
  return {
    schema: 'throughline-doctor/1',
    version: about.version,
    at: new Date(about.atMs).toISOString(),
    verdict: verdictOf(errors, warnings),
    hop,
    summary: summaryOf(errors, warnings, causes),
    counts: {
      passed: passed.length,
      skipped: skipped.length,
      muted: all.length - findings.length,
      error: errors,
      warning: warnings,
      info: count('info'),
    },
    findings,
    skipped,
    passed,
  };
}

type Placed = Report['findings'][number];

/** By level and area, then as the file has them: gateways are asked at once, and end in any order. */
function inOrderOfLines(a: Placed, b: Placed): number {
  const byLevel = LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level);
  const byArea = AREAS.indexOf(a.area) - AREAS.indexOf(b.area);
  return byLevel || byArea || (a.place ?? '').localeCompare(b.place ?? '', 'en', { numeric: true });
}

function verdictOf(errors: number, warnings: number): Report['verdict'] {
  if (errors > 0) return 'errors';
  return warnings > 0 ? 'warnings' : 'ok';
}

function summaryOf(errors: number, warnings: number, causes: readonly Finding[]): string {
  if (errors === 0 && warnings === 0) return 'no fault was found';
  const counted = [plural(errors, 'error'), plural(warnings, 'warning')]
    .filter((text) => text !== '')
    .join(', ');
  if (errors === 0) return `${counted}; nothing keeps calls from being served`;
  const perHop = Map.groupBy(causes, ({ hop }) => hop);
  const hops = HOPS.filter((hop) => perHop.has(hop)).map((hop) => {
    const codes = [...new Set<Code>((perHop.get(hop) ?? []).map(({ code }) => code))];
    return `${hop} (${codes.join(', ')})`;
  });
  return `${counted}; at fault: ${hops.join('; ')}`;
}

const plural = (count: number, word: string): string =>
  count === 0 ? '' : `${count} ${word}${count === 1 ? '' : 's'}`;
