// Which members of a request body steer a gateway: its choice of model, key, address and route, its retries, mocks,
// callbacks, caches, guardrails and prices. A gateway reads them out of the same object as the parameters of the API, so a
// client could send them along. Tables are data; proxy/bodies/steering.ts applies them.

/**
 * What an object of a body is to the gateway.
 * - `body`: the parameters of the call;
 * - `merged`: parameters that the gateway puts over those of the call before it sends them on;
 * - `metadata`: notes about the call, of which the gateway reads some;
 * - `providers`: objects of options, one for each provider.
 */
export type Scope = 'body' | 'merged' | 'metadata' | 'providers';

/** Of one member: it passes, it is refused, or it is an object to look into. */
export type Meaning = 'pass' | 'steers' | Scope;

interface ScopeRules {
  /** Folded, as `foldedName` writes them; so are the others. */
  readonly steers: ReadonlySet<string>;
  /** Whole families of names, for what the next version of the gateway adds. */
  readonly families: RegExp | null;
  /** Members of the families that pass. */
  readonly passes: ReadonlySet<string>;
  /** Objects to look into. */
  readonly within: ReadonlyMap<string, Scope>;
}

export type SteeringTable = Readonly<Record<Scope, ScopeRules>>;

/** What a member means to a gateway. @param name folded */
export function meaningOf(table: SteeringTable, scope: Scope, name: string): Meaning {
  const { steers, families, passes, within } = table[scope];
  if (steers.has(name)) return 'steers';
  const inner = within.get(name);
  if (inner !== undefined) return inner;
  return families?.test(name) === true && !passes.has(name) ? 'steers' : 'pass';
}

const ASCII = /^[\x20-\x7e]*$/;

/**
 * A name as the most lenient reader takes it: Go's JSON decoder ignores case, and takes U+017F for an s and U+212A for a k;
 * some readers take dashes for underscores.
 */
export function foldedName(name: string): string {
  const plain = ASCII.test(name) ? name : name.normalize('NFKC');
  return plain.toLowerCase().replaceAll('-', '_');
}

/** The names that lead to a member: forms nest by brackets (`metadata[tags]`, `fallbacks[]`). Folded. */
export function pathOf(name: string): readonly string[] {
  const folded = foldedName(name);
  if (!folded.includes('[')) return [folded];
  return folded
    .split('[')
    .map((part) => part.replace(/\].*$/s, ''))
    .filter((part) => part !== '');
}

const NOTHING: ScopeRules = Object.freeze({
  steers: new Set<string>(),
  families: null,
  passes: new Set<string>(),
  within: new Map<string, Scope>(),
});

/** A table; what is not stated lets everything pass. */
export function steeringTable(rules: Readonly<Partial<Record<Scope, Partial<ScopeRules>>>>): SteeringTable {
  const of = (scope: Scope): ScopeRules => Object.freeze({ ...NOTHING, ...rules[scope] });
  return Object.freeze({
    body: of('body'),
    merged: of('merged'),
    metadata: of('metadata'),
    providers: of('providers'),
  });
}

/** What any of the tables refuses or looks into. */
export function unionOf(tables: readonly SteeringTable[]): SteeringTable {
  const of = (scope: Scope): ScopeRules => {
    const all = tables.map((table) => table[scope]);
    const families = all.flatMap(({ families: one }) => (one === null ? [] : [one.source]));
    return Object.freeze({
      steers: new Set(all.flatMap(({ steers }) => [...steers])),
      families: families.length === 0 ? null : new RegExp(families.map((one) => `(?:${one})`).join('|')),
      passes: new Set(all.flatMap(({ passes }) => [...passes])),
      within: new Map(all.flatMap(({ within }) => [...within])),
    });
  };
  return Object.freeze({
    body: of('body'),
    merged: of('merged'),
    metadata: of('metadata'),
    providers: of('providers'),
  });
}

/** Folded names out of a text of names. */
export const namesIn = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .split(/\s+/)
      .filter((name) => name !== '')
      .map(foldedName),
  );

/** Tables that depend on the dialect's brand: one object per brand, so that tables can be told apart by identity. */
export function perBrand(make: (brand: string) => SteeringTable): (brand: string) => SteeringTable {
  const made = new Map<string, SteeringTable>();
  return (brand) => {
    const table = made.get(brand) ?? make(brand);
    made.set(brand, table);
    return table;
  };
}
