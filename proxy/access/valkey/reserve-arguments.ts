// What a call reserves, as the script takes it, and what the script answers.
import type { ReserveResult, ReservingCall, CounterName } from '../counters.ts';
import type { LimitNeed } from '../limits/rate-book.ts';
import { partsOf, picoOf } from './amounts.ts';

/** Letters of the kinds of limits in keys. */
const LETTERS: Readonly<Record<LimitNeed['kind'], string>> = {
  requests: 'r',
  tokens: 't',
  parallel: 'p',
  calls: 'n',
};

/** No cap of a budget is larger: 10^18 dollars. */
const MOST_PICO = 10n ** 30n - 1n;

/** What a call reserves, as the scripts take it, flat: many short texts in one JSON cost a command less than so many arguments. */
export function reserveArguments(server: string, call: ReservingCall): (string | number)[] {
  const { requestId, budgets, limits } = call;
  const [hi, lo] = partsOf(call.pico);
  const args: (string | number)[] = ['', '', server, requestId, hi, lo, budgets.length];
  for (const budget of budgets) {
    const [capHi, capLo] = partsOf(within(budget.capPico));
    args.push(nameOf(budget), capHi, capLo, budget.letsFreeIn === true ? '1' : '');
  }
  args.push(limits.length);
  for (const limit of limits) {
    args.push(LETTERS[limit.kind], limit.limit);
    if ('most' in limit) args.push(limit.most, 1);
    else args.push(limit.perMinute, limit.amount);
  }
  return args;
}

/** Part of the key of a counter. */
export function nameOf({ budget, windowStartMs }: CounterName): string {
  return `${budget}@${windowStartMs}`;
}

/** Names of the limits whose places a call holds. */
export function placesOf(call: ReservingCall): string[] {
  return call.limits.filter(({ kind }) => kind === 'parallel').map(({ limit }) => limit);
}

/** What the script said; a text where it did not decide: `generation`, `closed`, `ended`. */
export function resultOf(call: ReservingCall, reply: readonly unknown[]): ReserveResult | string {
  const [kind, ...rest] = reply;
  if (kind === 'admitted') return { kind, remaining: rest.map(Number) };
  if (kind === 'unseeded') {
    const counters = rest.map((index) => call.budgets[Number(index)]).filter((one) => one !== undefined);
    return { kind, counters };
  }
  if (kind === 'budget') {
    const [index, spentLo, spentHi, reservedLo, reservedHi] = rest.map(String);
    const need = call.budgets[Number(index)];
    if (need === undefined) return 'unknown';
    const spentPico = picoOf(spentLo ?? '0', spentHi ?? '0');
    const reservedPico = picoOf(reservedLo ?? '0', reservedHi ?? '0');
    const leftPico = need.capPico - spentPico - reservedPico;
    const refusal = { need, spentPico, reservedPico, leftPico: leftPico > 0n ? leftPico : 0n };
    return { kind: 'over_budget', refusal };
  }
  if (kind === 'limit') {
    const [index, waitUs, remaining] = rest.map(Number);
    const need = call.limits[index ?? -1];
    if (need === undefined) return 'unknown';
    const waitMs = waitUs === undefined || waitUs < 0 ? null : waitUs / 1000;
    return { kind: 'over_limit', refusal: { need, waitMs, remaining: remaining ?? 0 } };
  }
  return String(kind);
}

function within(pico: bigint): bigint {
  if (pico < 0n) return 0n;
  return pico > MOST_PICO ? MOST_PICO : pico;
}
