// What the audit shows of a key, team, user, ... before and after a change: by allowlist, only what differs, and nothing that
// looks like a key, whatever member it was put into.
import type { AccessObject } from '../../access/objects/objects.ts';
import { isoOf } from './rows.ts';
import type { ConcernedObject } from './management-call.ts';

/** Hex digits of a key's SHA-256 that are shown: enough to tell keys apart, and spend rows begin with them too. */
export const HASH_DIGITS = 12;
export const TEXT_CHARS = 200;
export const MOST_ITEMS = 20;
/** Lines of workers are written whole up to 4 KB. */
export const MOST_CHARS = 1_200;
const KEY = /sk-[\w-]{6,}/g;

/** Members that are shown as they are. Of `metadata` and `kept` only the names are: their values are the caller's. */
const SHOWN: ReadonlySet<string> = new Set([
  'name',
  'alias',
  'description',
  'type',
  'allowedRoutes',
  'models',
  'aliases',
  'modelAliases',
  'teamId',
  'userId',
  'organizationId',
  'budgetId',
  'memberBudgetId',
  'members',
  'budget',
  'limits',
  'tags',
  'blocked',
  'email',
  'role',
  'expiresMs',
]);
const NAMES_SHOWN: ReadonlySet<string> = new Set(['metadata', 'kept']);

/** A key's own id is its hash, of which a few digits tell keys apart. */
export const objectName = ({ kind, id }: ConcernedObject): string =>
  kind === 'key' ? id.slice(0, HASH_DIGITS) : masked(id);

/** The members that a change changes, or all of what it makes or removes. */
export function objectViews({ before, after }: ConcernedObject): {
  before: object | null;
  after: object | null;
} {
  const was = before === null ? null : viewOf(before);
  const is = after === null ? null : viewOf(after);
  if (was === null || is === null) return { before: was, after: is };
  const isChanged = (name: string): boolean => JSON.stringify(was[name]) !== JSON.stringify(is[name]);
  return { before: only(was, isChanged), after: only(is, isChanged) };
}

type View = Readonly<Record<string, unknown>>;

function viewOf(object: AccessObject): View {
  const members = Object.entries(object).flatMap(([name, value]: [string, unknown]) => {
    if (NAMES_SHOWN.has(name)) {
      const names = Object.keys(value as object);
      return names.length === 0 ? [] : [[name, names.slice(0, MOST_ITEMS).map(masked)]];
    }
    if (!SHOWN.has(name) || isEmpty(value)) return [];
    return [
      [name === 'expiresMs' ? 'expires' : name, name === 'expiresMs' ? isoOf(Number(value)) : shown(value)],
    ];
  });
  const view = Object.fromEntries(members) as View;
  if (JSON.stringify(view).length <= MOST_CHARS) return view;
  const isShort = (name: string): boolean => JSON.stringify(view[name]).length <= TEXT_CHARS;
  return { ...only(view, isShort), shortened: true };
}

function only(view: View, fits: (name: string) => boolean): View {
  return Object.fromEntries(Object.entries(view).filter(([name]) => fits(name)));
}

/** Nothing that is set: also the terms of a budget without caps. */
const isEmpty = (value: unknown): boolean =>
  value === null ||
  (typeof value === 'object' &&
    Object.entries(value).every(([name, one]) => name === 'budgetSetMs' || one === null || isBare(one)));

const isBare = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

function shown(value: unknown): unknown {
  if (typeof value === 'string') return masked(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map(shown);
  const members = Object.entries(value as View).slice(0, MOST_ITEMS);
  return Object.fromEntries(members.map(([name, one]) => [masked(name), shown(one)]));
}

function masked(value: string): string {
  return value.slice(0, TEXT_CHARS).replaceAll(KEY, '[secret]');
}
