// What to ask the store for what windows of caps have spent, and which of its sums belong to which. Pure.
import { mapInTurns } from '../../base/turns.ts';
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
type Aliases = (model: string) => string;

/** The sums of all of them: one query for each kind of scope and start of a window. */
export function queriesFor(
  asked: readonly Unsummed[],
  directory: SumDirectory,
): {
  readonly queries: readonly SpentQuery[];
  sumsOf(results: readonly (readonly SpentSum[])[], aliases: Aliases): Promise<bigint[]>;
} {
  const groups = new Map<string, Group>();
  const places = asked.map(({ cap, windowStartMs }) => {
    const { kind, id } = cap.scope;
    const by: readonly SpentColumn[] = cap.model === null ? COLUMNS[kind] : [...COLUMNS[kind], 'modelGroup'];
    const name = `${windowStartMs} ${kind} ${by.join()}`;
    const group = groups.get(name) ?? {
      place: groups.size,
      kind,
      by,
      sinceMs: windowStartMs,
      ids: new Set(),
    };
    groups.set(name, group);
    if (kind === 'organization' || kind === 'proxy') group.ids = null;
    for (const one of storedIds(kind, id, directory)) group.ids?.add(one);
    return group.place;
  });
  const queries = Array.from(groups.values(), ({ by, sinceMs, ids }) => ({
    by,
    ids: ids === null || ids.size > MOST_IDS ? null : [...ids],
    sinceMs,
  }));
  return {
    queries,
    async sumsOf(results, aliases) {
      const totals = Array.from(groups.values(), (group, i) => totalsOf(group, results[i] ?? [], directory));
      return mapInTurns(asked, ({ cap }, i) => totals[places[i] ?? -1]?.(cap, aliases) ?? 0n);
    },
  };
}

interface Group {
  readonly place: number;
  readonly kind: ScopeKind;
  readonly by: readonly SpentColumn[];
  readonly sinceMs: number;
  /** null = all. */
  ids: Set<string> | null;
}

/** The first column's values that count for a scope. */
export function storedIds(kind: ScopeKind, id: string, directory: SumDirectory): readonly string[] {
  if (kind === 'member') return [memberOf(id).teamId];
  if (kind === 'key') return [id, ...(directory.key(id)?.former ?? []).map((former) => former.id)];
  return [id];
}

/** Finds the sum of a cap in the result of its query, which is read once. */
function totalsOf(
  { kind, by }: Group,
  sums: readonly SpentSum[],
  directory: SumDirectory,
): (cap: Unsummed['cap'], aliases: Aliases) => bigint {
  const byId = Map.groupBy(sums, (sum) => countedId(kind, sum, directory));
  const ofModel = by.at(-1) === 'modelGroup';
  return ({ scope, model }, aliases) => {
    const ids = scope.kind === 'key' ? storedIds('key', scope.id, directory) : [scope.id];
    let pico = 0n;
    for (const id of ids) {
      for (const sum of byId.get(id) ?? []) {
        const requested = sum.values.at(-1) ?? '';
        if (ofModel && model !== null && !coversModel({ model }, requested, aliases(requested))) continue;
        pico += sum.pico;
      }
    }
    return pico;
  };
}

/** The scope of a kind that a sum counts for. */
function countedId(kind: ScopeKind, { values }: SpentSum, directory: SumDirectory): string {
  const [first = '', second = ''] = values;
  if (kind === 'proxy') return '';
  if (kind === 'member') return memberId(first, second);
  if (kind === 'organization')
    return organizationOf(directory.team(first), directory.keyOfCredential(second, 0)) ?? '';
  return first;
}
