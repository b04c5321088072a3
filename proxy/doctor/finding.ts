// What a check says: passed, skipped because of something, or a finding. Texts go through `Redactor` before anyone sees
// them. Pure.
import type { Hop, Level } from './code-rule.ts';
import { CODES, type Code } from './codes.ts';

/** The parts of a run, in the order of dependence. */
export const AREAS = ['machine', 'configuration', 'data', 'proxy', 'gateway', 'call'] as const;
export type Area = (typeof AREAS)[number];

export interface Finding {
  readonly code: Code;
  readonly level: Level;
  readonly hop: Hop;
  /** What it is about: an entry, a gateway, a directory. */
  readonly subject: string;
  /** `gateway.yaml:14`; null = no line of a file. */
  readonly place: string | null;
  readonly seen: string;
  readonly meaning: string;
  readonly fix: string;
}

/** The result of one check. */
export type Outcome = { readonly area: Area; readonly check: string; readonly subject: string } & (
  | { readonly status: 'passed'; readonly seen: string }
  | { readonly status: 'skipped'; readonly because: string }
  | { readonly status: 'found'; readonly finding: Finding }
);

interface FindingDetails {
  readonly seen: string;
  readonly place?: string | null;
  /** Default: that of the code. */
  readonly fix?: string;
  readonly hop?: Hop;
  readonly level?: Level;
}

/** Takes the outcomes of one area about one subject. */
export class Reporter {
  readonly #take: (outcome: Outcome) => void;
  readonly #area: Area;
  readonly #subject: string;

  constructor(area: Area, subject: string, take: (outcome: Outcome) => void) {
    this.#area = area;
    this.#subject = subject;
    this.#take = take;
  }

  passed(check: string, seen: string): void {
    this.#take({ area: this.#area, check, subject: this.#subject, status: 'passed', seen });
  }

  skipped(check: string, because: string): void {
    this.#take({ area: this.#area, check, subject: this.#subject, status: 'skipped', because });
  }

  found(check: string, code: Code, details: FindingDetails, subject = this.#subject): void {
    const { level, hop, meaning, fix } = CODES[code];
    const finding: Finding = {
      code,
      level: details.level ?? level,
      hop: details.hop ?? hop,
      subject,
      place: details.place ?? null,
      seen: details.seen,
      meaning,
      fix: details.fix ?? fix,
    };
    this.#take({ area: this.#area, check, subject, status: 'found', finding });
  }

  /** The same area about something else. */
  about(subject: string): Reporter {
    return new Reporter(this.#area, subject, this.#take);
  }
}
