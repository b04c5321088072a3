// Names and amounts of budgets and limits as the scripts take them, in JSON. The same ones come with every call of a key, so the texts
// are kept: quoting and writing them anew took a third of the time that a call spends on its counters.
import type { BudgetNeed } from '../budgets/budget-book.ts';
import type { CounterName } from '../counters.ts';
import type { LimitNeed } from '../limits/rate-book.ts';
import { partsOf } from './amounts.ts';

/** Letters of the kinds of limits in keys. */
const LETTERS: Readonly<Record<LimitNeed['kind'], string>> = {
  requests: 'r',
  tokens: 't',
  parallel: 'p',
  calls: 'n',
};

/** No cap of a budget is larger: 10^18 dollars. */
const MOST_PICO = 10n ** 30n - 1n;
/** Some 5 MB. The others are written again. */
const MOST_KEPT = 10_000;

interface BudgetText {
  readonly windowStartMs: number;
  readonly capPico: bigint;
  /** `"budget@window"` */
  readonly name: string;
  /** The same with the cap and whether what is free is let in. */
  readonly need: string;
}

interface LimitText {
  readonly most: number;
  /** All but the amount. */
  readonly need: string;
}

/** Part of the key of a counter. */
export const nameOf = ({ budget, windowStartMs }: CounterName): string => `${budget}@${windowStartMs}`;

export class JsonTexts {
  readonly #budgets = new Map<string, BudgetText>();
  readonly #limits = new Map<string, LimitText>();

  /** `nameOf` in quotes. */
  name(counter: CounterName): string {
    const known = this.#budgets.get(counter.budget);
    return known?.windowStartMs === counter.windowStartMs ? known.name : JSON.stringify(nameOf(counter));
  }

  /** `,name,hi,lo,letsFreeIn` */
  budget(need: BudgetNeed): string {
    const { budget, windowStartMs, capPico } = need;
    const known = this.#budgets.get(budget);
    if (known?.windowStartMs === windowStartMs && known.capPico === capPico) return known.need;
    const name = JSON.stringify(nameOf(need));
    const [hi, lo] = partsOf(within(capPico));
    const text = `,${name},${hi},${lo},${need.letsFreeIn === true ? '"1"' : '""'}`;
    keep(this.#budgets, budget, { windowStartMs, capPico, name, need: text });
    return text;
  }

  /** `,kind,name,most,amount` */
  limit(need: LimitNeed): string {
    const isCount = 'most' in need;
    const most = isCount ? need.most : need.perMinute;
    const known = this.#limits.get(need.limit);
    const text =
      known?.most === most ? known.need : `,"${LETTERS[need.kind]}",${JSON.stringify(need.limit)},${most},`;
    if (known?.most !== most) keep(this.#limits, need.limit, { most, need: text });
    return text + (isCount ? 1 : need.amount);
  }
}

function keep<T>(texts: Map<string, T>, name: string, text: T): void {
  if (texts.size >= MOST_KEPT) texts.clear();
  texts.set(name, text);
}

function within(pico: bigint): bigint {
  if (pico < 0n) return 0n;
  return pico > MOST_PICO ? MOST_PICO : pico;
}
