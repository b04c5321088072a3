// A client's query -> the query that goes upstream: the parameters that the endpoint documents and those that the
// operator allows, written anew from the one reading; the others are dropped.
import { readQuery, writeQuery, type QueryParameter } from '../base/query-string.ts';
import { Fault } from '../errors/fault.ts';
import type { QueryTable } from '../protocols/query.ts';

/** What became of one parameter, as `explain` prints it. */
export interface QueryDecision {
  readonly name: string;
  readonly action: 'forwarded' | 'dropped';
  readonly rule: string;
}

const DOCUMENTED = 'a parameter of this endpoint';
const ALLOWED = 'allowed_query_parameters';
const UNKNOWN = 'no parameter of this endpoint, and not in allowed_query_parameters';
const OWN = 'the entry states it';

/** Which parameters go upstream. */
interface QueryRules {
  readonly documented: QueryTable;
  /** Names beyond these, which may repeat. */
  readonly allowed: ReadonlySet<string>;
  /** What the upstream wants with every call, '' for nothing; a client's parameter of that name is dropped. */
  readonly own: string;
}

/**
 * The path with the query that goes upstream.
 * @param query of the client, without the question mark
 * @throws Fault duplicate_parameter
 */
export function pathWithQuery(
  path: string,
  query: string,
  { documented, allowed, own }: QueryRules,
  note: (decision: QueryDecision) => void,
): string {
  if (query === '') return own === '' ? path : `${path}?${own}`;
  const kept: QueryParameter[] = own === '' ? [] : [...readQuery(own)];
  const ownNames = new Set(kept.map(([name]) => name));
  for (const [name, value] of readQuery(query)) {
    if (ownNames.has(name)) {
      note({ name, action: 'dropped', rule: OWN });
      continue;
    }
    const occurrence = documented.get(name);
    const isKept = occurrence !== undefined || allowed.has(name);
    note({
      name,
      action: isKept ? 'forwarded' : 'dropped',
      rule: ruleOf(occurrence !== undefined, isKept),
    });
    if (!isKept) continue;
    if (occurrence === 'once' && kept.some(([before]) => before === name)) throw repeated(name);
    kept.push([name, value]);
  }
  return kept.length === 0 ? path : `${path}?${writeQuery(kept)}`;
}

function ruleOf(isDocumented: boolean, isKept: boolean): string {
  if (isDocumented) return DOCUMENTED;
  return isKept ? ALLOWED : UNKNOWN;
}

function repeated(name: string): Fault {
  const text = `The query parameter \`${name}\` stands more than once; two servers could read different values.`;
  return new Fault('duplicate_parameter', text, { param: name });
}
