// Counts of the request path: plain numbers, added up at every request and turned into metrics when they are scraped.
// prom-client's own children look their labels up again at each observation: alone, seven of them took 0.7 us and 0.7 KB
// for what takes 0.05 us and 0.1 KB here.

import { Counter, type Registry } from 'prom-client';
import { BOUNDED_LABELS } from './label-names.ts';
import { OTHER, type LabelValues } from './label-values.ts';

/** A sample as prom-client's registry takes it. */
interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName: string;
}

/** One child of a histogram. */
export class Buckets {
  readonly #bounds: readonly number[];
  /** Not cumulative; the last one counts what is above all bounds. */
  readonly #counts: number[];
  #sum = 0;
  #observed = 0;

  /** @param bounds upper bounds, ascending; a value equal to one belongs to it. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = [...bounds.map(() => 0), 0];
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? Infinity)) at += 1;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += value;
    this.#observed += 1;
  }

  /** Values so far. */
  get observed(): number {
    return this.#observed;
  }

  /** How many of them fell into each bucket; the last one is above all bounds. */
  get counts(): readonly number[] {
    return this.#counts;
  }

  /** Counts what another one of the same bounds has counted. */
  add(other: Buckets): void {
    other.#counts.forEach((count, at) => (this.#counts[at] = (this.#counts[at] ?? 0) + count));
    this.#sum += other.#sum;
    this.#observed += other.#observed;
  }

  /** Begins anew. */
  reset(): void {
    this.#counts.fill(0);
    this.#sum = 0;
    this.#observed = 0;
  }

  get isEmpty(): boolean {
    return this.#observed === 0;
  }

  /** Cumulative, as the exposition format wants them. */
  samples(name: string, labels: Readonly<Record<string, string>>): Sample[] {
    let count = 0;
    const samples = this.#counts.map((one, i): Sample => {
      count += one;
      return {
        labels: { le: this.#bounds[i] ?? '+Inf', ...labels },
        value: count,
        metricName: `${name}_bucket`,
      };
    });
    samples.push({ labels, value: this.#sum, metricName: `${name}_sum` });
    samples.push({ labels, value: count, metricName: `${name}_count` });
    return samples;
  }
}

/** A histogram by one label, with the few members that prom-client's registry uses. What is observed of one value of the label
 * may be kept in parts, which are read one by one elsewhere; the metrics show them as one. */
export class LabelledHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #label: string;
  readonly #bounds: readonly number[];
  readonly #isShown: (value: string) => boolean;
  readonly #children = new Map<string, Map<string, Buckets>>();

  /** @param isShown of a value of the label */
  constructor(
    name: string,
    help: string,
    label: string,
    bounds: readonly number[],
    isShown: (value: string) => boolean = () => true,
  ) {
    this.name = name;
    this.help = help;
    this.#label = label;
    this.#bounds = bounds;
    this.#isShown = isShown;
  }

  /** The child of a value of the label; the caller keeps it. */
  of(value: string, part = ''): Buckets {
    const parts = this.#children.get(value) ?? new Map<string, Buckets>();
    this.#children.set(value, parts);
    const known = parts.get(part) ?? new Buckets(this.#bounds);
    parts.set(part, known);
    return known;
  }

  async get(): Promise<object> {
    // Of 10,000 models mostly a few are used; the others would be half a million lines of zeros.
    const values = [...this.#children].flatMap(([value, parts]) => {
      if (!this.#isShown(value)) return [];
      const whole = this.#whole(parts);
      return whole.isEmpty ? [] : whole.samples(this.name, { [this.#label]: value });
    });
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values };
  }

  #whole(parts: ReadonlyMap<string, Buckets>): Buckets {
    const [first] = parts.values();
    if (first !== undefined && parts.size === 1) return first;
    const whole = new Buckets(this.#bounds);
    for (const part of parts.values()) whole.add(part);
    return whole;
  }
}

/** A number that only grows. */
export class Tally {
  #value = 0;

  add(amount: number): void {
    this.#value += amount;
  }

  /** Begins anew. */
  reset(): void {
    this.#value = 0;
  }

  get value(): number {
    return this.#value;
  }
}

/** Gives the tally for values of labels. One of a bounded label must not be kept: it may end with a scrape. */
type TallyOf = (...values: string[]) => Tally;

/**
 * A counter that is added up in tallies. One that counted nothing is not shown.
 * @param bounded decides which values are shown where labels are bounded ones
 */
export function talliedCounter(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  bounded?: LabelValues,
): TallyOf {
  const tallies = new Map<string, { readonly labels: Record<string, string>; readonly tally: Tally }>();
  const boundedLabels = BOUNDED_LABELS.filter((label) => bounded !== undefined && labelNames.includes(label));
  const isShown = (labels: Readonly<Record<string, string>>): boolean =>
    boundedLabels.every((label) => bounded?.shows(label, labels[label] ?? '') !== false);
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, tally } of tallies.values())
        if (tally.value > 0 && isShown(labels)) this.inc(labels, tally.value);
    },
  });
  const tallyOf: TallyOf = (...values) => {
    const key = JSON.stringify(values);
    const known = tallies.get(key);
    if (known !== undefined) return known.tally;
    const tally = new Tally();
    const labels = Object.fromEntries(labelNames.map((label, i) => [label, values[i] ?? '']));
    tallies.set(key, { labels, tally });
    return tally;
  };
  bounded?.follow({
    fold: (label, values) => {
      for (const [key, { labels, tally }] of tallies) {
        if (!values.has(labels[label] ?? '')) continue;
        tallies.delete(key);
        tallyOf(...labelNames.map((one) => (one === label ? OTHER : (labels[one] ?? '')))).add(tally.value);
      }
    },
    forget: (label, values) => {
      for (const [key, { labels }] of tallies) if (values.has(labels[label] ?? '')) tallies.delete(key);
    },
  });
  return tallyOf;
}
