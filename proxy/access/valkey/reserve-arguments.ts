// What a call reserves, as the script takes it, and what the script answers.
import type { ReserveResult, ReservingCall } from '../counters.ts';
import { partsOf, picoOf } from './amounts.ts';
import type { JsonTexts } from './json-texts.ts';

/**
 * What a call reserves, as the scripts take it: JSON, flat, because many short texts in one argument cost a command less than so
 * many arguments.
 */
export function reserveText(
  server: string,
  { requestId, pico, budgets, limits }: ReservingCall,
  texts: JsonTexts,
): string {
  const [hi, lo] = partsOf(pico);
  let text = `["","","${server}",${JSON.stringify(requestId)},${hi},${lo},${budgets.length}`;
  for (const budget of budgets) text += texts.budget(budget);
  text += `,${limits.length}`;
  for (const limit of limits) text += texts.limit(limit);
  return `${text}]`;
}

/** Names of the limits whose places a call holds. */
export function placesOf(call: ReservingCall): string[] {
  return call.limits.filter(({ kind }) => kind === 'parallel').map(({ limit }) => limit);
}

/** What the script said; a text where it did not decide: `generation`, `closed`, `ended`. */
export function resultOf(call: ReservingCall, reply: readonly unknown[]): ReserveResult | string {
  const [kind] = reply;
  if (kind === 'reserved') {
    const remaining: number[] = [];
    for (let i = 1; i < reply.length; i += 1) remaining.push(Number(reply[i]));
    return { kind, remaining };
  }
  const rest = reply.slice(1);
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
    const [index = -1, waitUs, ...left] = rest.map(Number);
    const need = call.limits[index];
    if (need === undefined) return 'unknown';
    const waitMs = waitUs === undefined || waitUs < 0 ? null : waitUs / 1000;
    return { kind: 'over_limit', refusal: { need, waitMs, remaining: left[index] ?? 0, left } };
  }
  return String(kind);
}
