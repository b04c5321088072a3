// A reconciliation as people read it: the verdict first, then where the difference lies, then the calls. Pure.
import { picoOfDollarText, roundedDollars } from '../record/dollars.ts';
import type { Difference, Part, Reconciliation } from './reconcile.ts';
import { grouped, textTable } from './text-table.ts';

/** What was compared, for the head of the report. */
export interface Compared {
  readonly here: string;
  readonly there: string;
  /** UTC days, both included. */
  readonly start_date: string;
  readonly end_date: string;
  /** As it was given. */
  readonly tolerance: string;
}

const SHOWN = 20;
const PLACES = 6;

const PARTS = [
  ['model', 'by_model'],
  ['day', 'by_day'],
  ['tag', 'by_tag'],
  ['session', 'by_session'],
] as const;

const KINDS: Readonly<Record<Difference['kind'], string>> = {
  cost: 'cost differs',
  tokens: 'tokens differ',
  only_here: 'only here',
  only_there: 'only there',
};

/** The report; ends with a line break. */
export function reconciliationText(result: Reconciliation, compared: Compared): string {
  const { total, without_cost: silent, differences, joined_by: by } = result;
  const verdict = result.agrees
    ? `The ledgers agree: no difference above ${compared.tolerance} a call.`
    : `The ledgers DIFFER: ${grouped(differences.length)} ${differences.length === 1 ? 'call' : 'calls'} above ${compared.tolerance}.`;
  const head = [
    `Spend of ${compared.start_date} to ${compared.end_date} (UTC), US dollars`,
    `  here   ${compared.here}`,
    `  there  ${compared.there}`,
    '',
    verdict,
    '',
  ];
  const foot = [
    `joined by call id ${grouped(by.call_id)}, by response id ${grouped(by.answer_id)}, by session and time ${grouped(by.session_and_time)}`,
    `failed or refused, nothing to pay, in one ledger alone: ${grouped(silent.here)} here, ${grouped(silent.there)} there`,
  ];
  const parts = PARTS.flatMap(([name, member]) => ['', partsText(name, result[member], total).trimEnd()]);
  const calls = differences.length === 0 ? [] : ['', callsText(differences).trimEnd()];
  return `${[...head, summaryText(result).trimEnd(), ...parts, ...calls, '', ...foot].join('\n')}\n`;
}

function summaryText({ total, differences }: Reconciliation): string {
  const apart = (kind: Difference['kind']): Difference[] => differences.filter((one) => one.kind === kind);
  const line = (name: string, some: readonly Difference[]): string[] => [
    name,
    grouped(some.length),
    dollars(sum(some, 'here_spend')),
    dollars(sum(some, 'there_spend')),
    signed(sum(some, 'there_spend') - sum(some, 'here_spend')),
  ];
  const all = [total.here_spend, total.there_spend].map(picoOfDollarText);
  const [here = 0n, there = 0n] = all;
  const calls = total.matched + total.only_here + total.only_there;
  const same = [
    'the same',
    grouped(calls - differences.length),
    dollars(here - sum(differences, 'here_spend')),
    dollars(there - sum(differences, 'there_spend')),
    signed(there - here - (sum(differences, 'there_spend') - sum(differences, 'here_spend'))),
  ];
  const kinds = (Object.keys(KINDS) as Difference['kind'][]).map((kind) => line(KINDS[kind], apart(kind)));
  const last = ['all calls', grouped(calls), dollars(here), dollars(there), signed(there - here)];
  const header = ['', 'calls', 'here', 'there', 'difference'];
  return textTable([header, same, ...kinds, last], [false, true, true, true, true], true);
}

function partsText(name: string, parts: readonly Part[], total: Part): string {
  const shown = name === 'day' ? parts : parts.slice(0, SHOWN);
  const cells = (part: Part, key: string): string[] => [
    key,
    grouped(part.matched),
    grouped(part.differing),
    grouped(part.only_here),
    grouped(part.only_there),
    dollars(picoOfDollarText(part.here_spend)),
    dollars(picoOfDollarText(part.there_spend)),
    signed(picoOfDollarText(part.difference)),
  ];
  const header = [name, 'matched', 'differ', 'only here', 'only there', 'here', 'there', 'difference'];
  const lines = shown.map((part) => cells(part, part.key === '' ? '(none)' : part.key));
  const right = header.map((_, i) => i > 0);
  const left = parts.length - shown.length;
  const more =
    left === 0 ? '' : `  and ${grouped(left)} more with smaller differences: --format json has them all\n`;
  const hasSum = name !== 'tag'; // a call of two tags stands in both
  return textTable([header, ...lines, ...(hasSum ? [cells(total, 'all')] : [])], right, hasSum) + more;
}

function callsText(differences: readonly Difference[]): string {
  const shown = differences.slice(0, SHOWN);
  const tokens = (prompt: number | null, completion: number | null, id: string | null): string =>
    id === null ? '-' : `${grouped(prompt ?? 0)}+${grouped(completion ?? 0)}`;
  const money = (spend: string | null, id: string | null): string => {
    if (spend !== null) return dollars(picoOfDollarText(spend));
    return id === null ? '-' : 'not known';
  };
  const header = ['what', 'began', 'call', 'model', 'tokens here', 'there', 'here', 'there', 'difference'];
  const lines = shown.map((one) => [
    KINDS[one.kind],
    one.start.slice(0, 19).replace('T', ' '),
    one.here_id ?? one.there_id ?? '',
    one.model,
    tokens(one.here_prompt_tokens, one.here_completion_tokens, one.here_id),
    tokens(one.there_prompt_tokens, one.there_completion_tokens, one.there_id),
    money(one.here_spend, one.here_id),
    money(one.there_spend, one.there_id),
    signed(picoOfDollarText(one.difference)),
  ]);
  const left = differences.length - shown.length;
  const more = left === 0 ? '' : `  and ${grouped(left)} more: --format json has them all\n`;
  return textTable([header, ...lines], [false, false, false, false, true, true, true, true, true]) + more;
}

function sum(some: readonly Difference[], of: 'here_spend' | 'there_spend'): bigint {
  return some.reduce((all, one) => all + picoOfDollarText(one[of] ?? '0'), 0n);
}

function dollars(pico: bigint): string {
  return roundedDollars(pico, PLACES);
}

function signed(pico: bigint): string {
  if (pico === 0n) return '0';
  return pico > 0n ? `+${dollars(pico)}` : dollars(pico);
}
