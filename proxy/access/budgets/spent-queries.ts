// What to ask the store for what windows of caps have spent, and which of its sums belong to which. Pure.
import type { SpentColumn, SpentQuery, SpentSum } from '../../spend/store/store.ts';
import { coversModel, type Cap } from './caps.ts';
import { memberId, memberOf, organizationOf, type ScopeDirectory, type ScopeKind } from './scopes.ts';

/** A window of a cap that is to be summed. */
export interface Unsummed {
  readonly cap: Pick<Cap, 'scope' | 'model'>;
  readonly windowStartMs: number;
}

/** Of `AccessDirectory`: also the former ids of a key. */
export interface SumDirectory extends ScopeDirectory {
  key(id: string): { readonly former: readonly { readonly id: string }[] } | null;
}

const COLUMNS: Readonly<Record<ScopeKind, readonly SpentColumn[]>> = {
  key: ['apiKeyHash'],
  member: ['team', 'user'],
  team: ['team'],
  organization: ['team', 'apiKeyHash'],
  tag: ['tag'],
  user: ['user'],
  end_user: ['endUser'],
  model: ['modelGroup'],
  deployment: ['deployment'],
  provider: ['provider'],
  profile: ['profile'],
  conversation: ['session'],
  proxy: [],
};

/** More are not named one by one: all are asked for. */
const MOST_IDS = 300;

/** What model names stand for. */
export type Aliases = (model: string) => string;

/** The sums of all of them: one query for each kind of scope and start of a window. */
export function queriesFor(
  asked: readonly Unsummed[],
  directory: SumDirectory,
): {
  readonly queries: readonly SpentQuery[];
  sumsOf(results: readonly (readonly SpentSum[])[], aliases: Aliases): bigint[];
} {
  const groups = new Map<string, { by: readonly SpentColumn[]; sinceMs: number; ids: Set<string> | null }>();
  const places = asked.map(({ cap, windowStartMs }) => {
    const { kind, id } = cap.scope;
    const by: readonly SpentColumn[] = cap.model === null ? COLUMNS[kind] : [...COLUMNS[kind], 'modelGroup'];
    const name = `${windowStartMs} ${by.join()}`;
    const group = groups.get(name) ?? { by, sinceMs: windowStartMs, ids: new Set<string>() };
    groups.set(name, group);
    if (kind === 'organization' || kind === 'proxy') group.ids = null;
    for (const one of storedIds(kind, id, directory)) group.ids?.add(one);
    return name;
  });
  const names = [...groups.keys()];
  const queries = Array.from(groups.values(), ({ by, sinceMs, ids }) => ({
    by,
    ids: ids === null || ids.size > MOST_IDS ? null : [...ids],
    sinceMs,
  }));
  return {
    queries,
    sumsOf(results, aliases) {
      const totals = names.map((_, i) => totalsOf(queries[i]?.by ?? [], results[i] ?? [], directory));
      return asked.map(({ cap }, i) => {
        const total = totals[names.indexOf(places[i] ?? '')];
        return total?.(cap, aliases) ?? 0n;
      });
    },
  };
}

/** The first column's values that count for a scope. */
export function storedIds(kind: ScopeKind, id: string, directory: SumDirectory): readonly string[] {
  if (kind === 'member') return [memberOf(id).teamId];
  if (kind === 'key') return [id, ...(directory.key(id)?.former ?? []).map((former) => former.id)];
  return [id];
}

/** Finds the sum of a cap in the result of its query, which is read once. */
function totalsOf(
  by: readonly SpentColumn[],
  sums: readonly SpentSum[],
  directory: SumDirectory,
): (cap: Unsummed['cap'], aliases: Aliases) => bigint {
  const byFirst = new Map<string, SpentSum[]>();
  for (const sum of sums) {
    const first = sum.values[0] ?? '';
    const list = byFirst.get(first);
    if (list === undefined) byFirst.set(first, [sum]);
    else list.push(sum);
  }
  const ofModel = by.length > 0 && by.at(-1) === 'modelGroup';
  return ({ scope, model }, aliases) => {
    const { kind, id } = scope;
    const all =
      kind === 'organization'
        ? sums
        : storedIds(kind, kind === 'proxy' ? '' : id, directory).flatMap((one) => byFirst.get(one) ?? []);
    let pico = 0n;
    for (const sum of kind === 'proxy' && model === null ? sums : all) {
      const [first = '', second = ''] = sum.values;
      if (kind === 'member' && memberId(first, second) !== id) continue;
      if (
        kind === 'organization' &&
        organizationOf({ teamId: first || null, apiKeyHash: second }, directory) !== id
      )
        continue;
      const requested = sum.values.at(-1) ?? '';
      if (ofModel && model !== null && !coversModel({ model }, requested, aliases(requested))) continue;
      pico += sum.pico;
    }
    return pico;
  };
}
