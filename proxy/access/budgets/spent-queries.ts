// What to ask the store for what windows of caps have spent, and which of its sums belong to which. Pure.
import { mapInTurns } from '../../base/turns.ts';
import type { SpentColumn, SpentQuery, SpentSum } from '../../spend/store/store.ts';
import { coversModel, type Cap } from './caps.ts';
import { memberId, memberOf, organizationOf, type ScopeDirectory, type ScopeKind } from './scopes.ts';

/** A window of a cap that is to be summed. */
export interface Unsummed {
  readonly cap: Pick<Cap, 'scope' | 'model'> & Partial<Pick<Cap, 'countFrom'>>;
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
  organization: ['organization'],
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

/** What rows of versions that did not record it follow an organization by: the teams and keys of today. */
const EARLIER: readonly SpentColumn[] = ['team', 'apiKeyHash'];

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
    const underWay = cap.countFrom?.atMs === windowStartMs; // `countedMs`
    const name = `${windowStartMs} ${underWay} ${kind} ${by.join()}`;
    const group = groups.get(name) ?? {
      place: groups.size,
      kind,
      by,
      since: { sinceMs: windowStartMs, ...(underWay ? { underWay } : {}) },
      ids: new Set(),
    };
    groups.set(name, group);
    if (kind === 'proxy') group.ids = null;
    for (const one of storedIds(kind, id, directory)) group.ids?.add(one);
    return group.place;
  });
  const asks = Array.from(groups.values(), (group) => ({ group, queries: queriesOf(group) }));
  return {
    queries: asks.flatMap(({ queries }) => queries),
    async sumsOf(results, aliases) {
      let at = 0;
      const totals = asks.map(({ group, queries }) => {
        const [sums = [], earlier = []] = results.slice(at, (at += queries.length));
        return totalsOf(group, sums, earlier, directory);
      });
      return mapInTurns(asked, ({ cap }, i) => totals[places[i] ?? -1]?.(cap, aliases) ?? 0n);
    },
  };
}

interface Group {
  readonly place: number;
  readonly kind: ScopeKind;
  readonly by: readonly SpentColumn[];
  readonly since: Pick<SpentQuery, 'sinceMs' | 'underWay'>;
  /** null = all. */
  ids: Set<string> | null;
}

function queriesOf({ kind, by, since, ids }: Group): readonly SpentQuery[] {
  const own = { by, ids: ids === null || ids.size > MOST_IDS ? null : [...ids], ...since };
  if (kind !== 'organization') return [own];
  return [own, { by: [...EARLIER, ...by.slice(1)], ids: null, ...since, earlier: true }];
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
  earlier: readonly SpentSum[],
  directory: SumDirectory,
): (cap: Unsummed['cap'], aliases: Aliases) => bigint {
  const byId = Map.groupBy(sums, (sum) => countedId(kind, sum));
  for (const sum of earlier) {
    const id = organizationNow(sum, directory);
    if (id !== null) byId.set(id, [...(byId.get(id) ?? []), sum]);
  }
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
function countedId(kind: ScopeKind, { values: [first = '', second = ''] }: SpentSum): string {
  if (kind === 'proxy') return '';
  return kind === 'member' ? memberId(first, second) : first;
}

/** The organization that the team and key of an earlier sum are of today. */
const organizationNow = (
  { values: [team = '', key = ''] }: SpentSum,
  directory: SumDirectory,
): string | null => organizationOf(directory.team(team), directory.keyOfCredential(key, 0));
