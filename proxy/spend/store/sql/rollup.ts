// Daily sums of spend rows, as they are added up in memory before a batch is written. Pure. Four axes share one
// table: all rows (axis ''), rows by tag, by session, by organization, each cut by the same facets; so a report by whatever
// word reads some thousand sums a month and no rows.
import { hash } from 'node:crypto';
import type { SpendRecord } from '../../record/record.ts';
import { indexed, sessionKey, startMsOf } from './spend-columns.ts';
import { dayOf } from '../utc-dates.ts';
import { NO_TOKENS } from '../../../protocols/usage.ts';

/** Which rows a sum is of. */
export type Axis = '' | 'tag' | 'session' | 'organization';

/** Those that are kept equal to the rows, as a list in SQL. */
export const AXES_SQL = `('', 'tag', 'session', 'organization')`;
/**
 * Sums of the rows that do not say their organization, being of a version that did not record it: a migration made them of all that
 * there were, and rows that are shipped later are added.
 */
export const EARLIER = 'earlier';

/** Facets of every axis, in the order of the columns. */
const FACETS: readonly (readonly [column: string, value: (record: SpendRecord) => unknown])[] = [
  ['api_key', (r) => r.apiKeyHash],
  ['team_id', (r) => r.teamId],
  ['user_id', (r) => r.userId],
  ['end_user', (r) => indexed(r.endUser)],
  ['model', (r) => r.model],
  ['model_group', (r) => r.modelGroup],
  ['provider', (r) => r.provider],
];

/** Columns of whole numbers that are added up, `spend_usd` and `spend_pico` last. */
export const SUM_COLUMNS = [
  'requests',
  'failures',
  'unpriced',
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'spend_usd',
  'spend_pico',
] as const;

/** All columns of the table `spend_daily`, in the order of a `DailySum`. */
export const DAILY_COLUMNS: readonly string[] = [
  'axis',
  'day',
  'id',
  'entity',
  ...FACETS.map(([column]) => column),
  ...SUM_COLUMNS,
];

/** One row to be added to the table. */
export type DailySum = readonly (string | number)[];

const DAY_MS = 86_400_000;
/**
 * Pico-dollars in a dollar. Spend is kept as whole dollars and a rest: a 64-bit sum of pico-dollars would overflow at
 * 9.2 million dollars, and gateways may state any cost.
 */
export const PICO_PER_USD = 1_000_000_000_000;
/** An upstream may state any number. With 2^40 tokens a call, 8 million calls fit in a 64-bit sum. */
export const MOST_TOKENS = 2 ** 40;
const ID_CHARS = 22; // 132 bits: two sets of facets never share one

interface Sums {
  readonly entity: string;
  readonly values: number[];
}

interface Cell {
  readonly day: string;
  readonly facets: readonly string[];
  readonly all: number[];
  readonly tags: Map<string, number[]>;
  readonly sessions: Map<string, number[]>;
  readonly organizations: Map<string, number[]>;
  readonly earlier: Map<'', number[]>;
}

/** Most rows of one `Rollup`: 8,000 rests of almost a dollar still are an exact double. */
export const ROLLUP_ROWS = 8_000;

/** Sums of one batch of at most `ROLLUP_ROWS` rows. */
export class Rollup {
  readonly #cells = new Map<string, Cell>();
  #lastDay = NaN;
  #dayText = '';

  add(record: SpendRecord): void {
    const cell = this.#cellOf(record);
    const values = amountsOf(record);
    addTo(cell.all, values);
    const tags = record.tags ?? [];
    tags.forEach((tag, i) => {
      if (tag !== '' && tags.indexOf(tag) === i) addTo(sumsOf(cell.tags, tag), values);
    });
    // A generated session holds one call; its sum would be a copy of its row.
    const session = record.sessionSource === 'generated' ? '' : sessionKey(record.sessionId);
    addTo(sumsOf(cell.sessions, session), values);
    if (record.organizationId === undefined) addTo(sumsOf(cell.earlier, ''), values);
    const organization = indexed(record.organizationId) ?? '';
    if (organization !== '') addTo(sumsOf(cell.organizations, organization), values);
  }

  /** In one order for all writers, so that two replicas that add to the same sums never wait for each other in a ring. */
  rows(): DailySum[] {
    const rows = [...this.#cells.values()].flatMap((cell) => [
      rowOf('', cell, { entity: '', values: cell.all }),
      ...Array.from(cell.tags, ([entity, values]) => rowOf('tag', cell, { entity, values })),
      ...Array.from(cell.sessions, ([entity, values]) => rowOf('session', cell, { entity, values })),
      ...Array.from(cell.organizations, ([entity, values]) =>
        rowOf('organization', cell, { entity, values }),
      ),
      ...Array.from(cell.earlier.values(), (values) => rowOf(EARLIER, cell, { entity: '', values })),
    ]);
    return rows.sort(byKey);
  }

  #cellOf(record: SpendRecord): Cell {
    const facets = FACETS.map(([, value]) => {
      const facet = value(record);
      return typeof facet === 'string' ? facet : '';
    });
    const day = this.#dayOf(startMsOf(record));
    const key = day + joined(facets);
    let cell = this.#cells.get(key);
    if (cell === undefined) {
      cell = {
        day,
        facets,
        all: SUM_COLUMNS.map(() => 0),
        tags: new Map(),
        sessions: new Map(),
        organizations: new Map(),
        earlier: new Map(),
      };
      this.#cells.set(key, cell);
    }
    return cell;
  }

  #dayOf(startMs: number): string {
    const day = Math.floor(startMs / DAY_MS);
    if (day !== this.#lastDay) {
      this.#lastDay = day;
      this.#dayText = dayOf(startMs);
    }
    return this.#dayText;
  }
}

function sumsOf<T extends string>(sums: Map<T, number[]>, entity: T): number[] {
  let values = sums.get(entity);
  if (values === undefined) sums.set(entity, (values = SUM_COLUMNS.map(() => 0)));
  return values;
}

function amountsOf(record: SpendRecord): readonly number[] {
  const tokens = record.tokens ?? NO_TOKENS;
  const prompt = counted(tokens.prompt);
  const completion = counted(tokens.completion);
  const pico = Number.isSafeInteger(record.spendPico) ? Math.max(0, record.spendPico ?? 0) : 0;
  return [
    1,
    record.status === 'failure' ? 1 : 0,
    record.spendPico === null ? 1 : 0,
    prompt,
    completion,
    tokens.total === null ? prompt + completion : counted(tokens.total),
    counted(tokens.cacheRead),
    counted(tokens.cacheWrite),
    counted(tokens.reasoning),
    Math.floor(pico / PICO_PER_USD),
    pico % PICO_PER_USD,
  ];
}

function counted(tokens: number | null | undefined): number {
  if (tokens === null || tokens === undefined || !Number.isSafeInteger(tokens) || tokens < 0) return 0;
  return Math.min(tokens, MOST_TOKENS);
}

// A batch has at most ROLLUP_ROWS rows, so all sums stay below 2^53.
function addTo(sums: number[], values: readonly number[]): void {
  for (let i = 0; i < values.length; i += 1) sums[i] = (sums[i] ?? 0) + (values[i] ?? 0);
}

// A hash, because the facets together may be longer than an entry of an index may be.
function rowOf(axis: Axis | typeof EARLIER, { day, facets }: Cell, { entity, values }: Sums): DailySum {
  const id = hash('sha256', joined([entity, ...facets]), 'base64url').slice(0, ID_CHARS);
  const sums = [...values];
  const pico = sums.pop() ?? 0;
  const usd = sums.pop() ?? 0;
  const carried = Math.floor(pico / PICO_PER_USD);
  return [axis, day, id, entity, ...facets, ...sums, usd + carried, pico - carried * PICO_PER_USD];
}

/** One text for a list of texts and no other list: each with its length before it. */
function joined(texts: readonly string[]): string {
  let all = '';
  for (const one of texts) all += `${one.length}:${one}`;
  return all;
}

/** Axis, day, id: the primary key. */
function byKey(a: DailySum, b: DailySum): number {
  for (let i = 0; i < 3; i += 1) {
    const [x, y] = [String(a[i]), String(b[i])];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}
