// Results of `summarySql`, combined by day: rows by day, model, end user and key become one object a day. Pure.
import { picoOf, wholeOf } from './spend-sql.ts';
import type { DaySpend } from '../store.ts';

type Row = Readonly<Record<string, unknown>>;

/** One object per day, in the order of the rows. */
export function daysOf(rows: Iterable<Row>): DaySpend[] {
  const days = new Map<string, DaySum>();
  for (const row of rows) {
    const day = String(row['day']);
    const sum = days.get(day) ?? new DaySum(day);
    days.set(day, sum);
    sum.add(row);
  }
  return Array.from(days.values(), (sum) => sum.result());
}

class DaySum {
  readonly #day: string;
  readonly #byModel = new Map<string, bigint>();
  readonly #byEndUser = new Map<string, bigint>();
  readonly #byApiKey = new Map<string, bigint>();
  #requests = 0;
  #pico = 0n;

  constructor(day: string) {
    this.#day = day;
  }

  add(row: Row): void {
    const pico = picoOf(wholeOf(row['usd']), wholeOf(row['pico']));
    this.#requests += Number(row['requests']);
    this.#pico += pico;
    for (const [sums, name] of [
      [this.#byModel, row['model']],
      [this.#byEndUser, row['end_user']],
      [this.#byApiKey, row['api_key']],
    ] as const) {
      const key = typeof name === 'string' ? name : '';
      sums.set(key, (sums.get(key) ?? 0n) + pico);
    }
  }

  result(): DaySpend {
    return {
      day: this.#day,
      requests: this.#requests,
      spendPico: this.#pico,
      byModel: Object.fromEntries(this.#byModel),
      byEndUser: Object.fromEntries(this.#byEndUser),
      byApiKey: Object.fromEntries(this.#byApiKey),
    };
  }
}
