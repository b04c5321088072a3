// Metrics of several workers as one text. Counts of a worker that ended are kept, because a counter that goes back looks
// like a restart of the whole proxy. Knows no processes: figures and worker numbers are passed in.
import { AggregatorRegistry, Registry, type MetricObjectWithValues, type MetricValue } from 'prom-client';
import { LabelNames, type LabelWishes, type NamedValues } from './label-names.ts';
import { addProcessMetrics, scrapedCounter, scrapedGauge } from './scraped-metrics.ts';

/** All metrics of one worker; plain values. */
export type Figures = MetricObjectWithValues<MetricValue<string>>[];

/** Of one scrape: what has names, and what has lost its series. */
interface Naming {
  readonly named: NamedValues;
  readonly gone: GoneValues;
}

/** By label. */
type GoneValues = Readonly<Record<string, readonly string[]>>;

/** The supervisor's own figures; read at every scrape. */
interface SupervisorFigures {
  /** Workers that there should be. */
  readonly configured: number;
  /** Workers that serve. */
  readonly serving: number;
  /** Workers that ended unexpectedly. */
  readonly lost: number;
}

/** The figures of the whole. */
export class WorkerFigures {
  /** The last figures of each running worker. */
  readonly #last = new Map<number, Figures>();
  #ended: Promise<Figures> = Promise.resolve([]);
  readonly #own = new Registry();
  readonly #names = new LabelNames();

  constructor(read: () => SupervisorFigures) {
    scrapedGauge(this.#own, 'throughline_workers', 'Workers that serve.', () => read().serving, 'sum');
    scrapedGauge(
      this.#own,
      'throughline_workers_configured',
      'Workers that there should be.',
      () => read().configured,
      'sum',
    );
    scrapedCounter(
      this.#own,
      'throughline_workers_lost_total',
      'Workers that ended unexpectedly and were replaced.',
      () => read().lost,
    );
    addProcessMetrics(this.#own); // the supervisor's share of two sums over all processes
  }

  /** Keeps the counts of a worker, which is not scraped any more. `worker` is a number that no other one ever gets. */
  ended(worker: number): void {
    const last = counts(this.#last.get(worker) ?? []);
    this.#last.delete(worker);
    this.#ended = this.#ended.then((before) => summed([before, last]).getMetricsAsJSON());
  }

  /** Decides before a scrape which values of labels have names. What others have counted by a name that is free again is forgotten. */
  name(wishes: readonly LabelWishes[]): Naming {
    const lost = this.#names.decide(wishes);
    const gone = { ...lost, model_id: wishes.flatMap(({ goneDeployments }) => goneDeployments) };
    if (hasValues(gone)) {
      for (const [worker, figures] of this.#last) this.#last.set(worker, without(figures, gone));
      this.#ended = this.#ended.then((figures) => without(figures, gone));
    }
    return { named: this.#names.named, gone };
  }

  /**
   * The text of `/metrics`, of the workers that run now. Of one that did not reply (null), the last counts are
   * shown, and no gauges.
   * @param gone is not shown, also where a worker does not know it yet: a part of its counts would look like a restart
   */
  async scrape(answers: ReadonlyMap<number, Figures | null>, gone: GoneValues = {}): Promise<string> {
    const ended = this.#ended; // read before the first await: a worker that ends meanwhile must not count twice
    const all = [...answers].map(([worker, figures]) => {
      if (figures === null) return counts(this.#last.get(worker) ?? []);
      const shown = hasValues(gone) ? without(figures, gone) : figures;
      this.#last.set(worker, shown);
      return shown;
    });
    return summed([...all, await ended, await this.#own.getMetricsAsJSON()]).metrics();
  }
}

const summed = (all: readonly Figures[]): Registry => AggregatorRegistry.aggregate([...all]);

const hasValues = (gone: GoneValues): boolean => Object.values(gone).some((values) => values.length > 0);

function without(figures: Figures, gone: GoneValues): Figures {
  const sets = Object.entries(gone).map(([label, values]) => [label, new Set(values)] as const);
  const isLost = (labels: MetricValue<string>['labels']): boolean =>
    sets.some(([label, values]) => values.has(String(labels[label] ?? '')));
  return figures.map((one) => ({ ...one, values: one.values.filter(({ labels }) => !isLost(labels)) }));
}

function counts(figures: Figures): Figures {
  return figures.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
}
