// Finds the members of a request body that steer the gateway behind the proxy, by the tables of config/resolve/gateways (parameters-table.ts):
// at the top level, and in objects that a gateway reads as further parameters. Only names are read, with the scan of
// peek.ts, so a value may be of any size. What no table knows passes.
import { Buffer } from 'node:buffer';
import {
  foldedName,
  meaningOf,
  pathOf,
  type Meaning,
  type Scope,
  type SteeringTable,
} from '../../config/resolve/gateways/parameters.ts';
import { Fault } from '../errors/fault.ts';
import { peekInSlices } from './peek.ts';
import { readString, type Bounds, type Member, type Wanted } from './members.ts';

/** A member that steers gateways of one table. */
export interface SteeringMember {
  readonly table: SteeringTable;
  /** Folded and dotted, as in `extra_body.model`. */
  readonly path: string;
  /** The top-level member that it is, or is in, as the client wrote its name. */
  readonly topLevel: string;
}

/** A top-level member: its name, and the text of its value when that may be an object. */
export interface TopLevelMember {
  readonly name: string;
  readonly value: Buffer;
}

/** How far nested objects are looked into, and how a long look lets others be served. */
export interface ScanLimits {
  readonly maxDepth: number;
  readonly bounds: Bounds;
  /** Waits for the next turn of the event loop. */
  readonly turn: () => Promise<unknown>;
}

/** Objects of parameters in objects of parameters; what lies deeper is refused as a whole. */
const MOST_LEVELS = 4;
/** Bytes of an object that is written as a string. */
const LONGEST_TEXT = 262_144;
const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;

/** Where a name leads, by one table: through the objects that it names itself, as names in forms do. */
function meaningOfPath(table: SteeringTable, scope: Scope, path: readonly string[]): Meaning {
  let meaning: Meaning = scope;
  for (const name of path) {
    if (meaning === 'pass' || meaning === 'steers') break;
    meaning = meaningOf(table, meaning, name);
  }
  return meaning;
}

/** Whether a top-level member of this name steers a gateway with one of the tables, or may hold members that do. */
export function maySteer(tables: readonly SteeringTable[], name: string): boolean {
  const path = pathOf(name);
  return tables.some((table) => meaningOfPath(table, 'body', path) !== 'pass');
}

/** The members that steer a gateway with one of `tables`; each table's first one is enough to refuse a call. */
export async function steeringMembers(
  members: readonly TopLevelMember[],
  tables: readonly SteeringTable[],
  limits: ScanLimits,
): Promise<readonly SteeringMember[]> {
  const found: SteeringMember[] = [];
  for (const table of tables) {
    for (const { name, value } of members) {
      const add = (path: string): number => found.push({ table, path, topLevel: name });
      await look({ table, limits, add }, 'body', { name, value, prefix: '', level: 1 });
    }
  }
  return found;
}

interface Search {
  readonly table: SteeringTable;
  readonly limits: ScanLimits;
  readonly add: (path: string) => void;
}

interface Place {
  readonly name: string;
  readonly value: Buffer;
  /** Of the path, with its dot. */
  readonly prefix: string;
  /** 1 = the top level. */
  readonly level: number;
}

async function look(search: Search, scope: Scope, { name, value, prefix, level }: Place): Promise<void> {
  const names = pathOf(name);
  const meaning = meaningOfPath(search.table, scope, names);
  if (meaning === 'pass') return;
  const path = prefix + names.join('.');
  if (meaning === 'steers' || level > MOST_LEVELS) {
    search.add(path);
    return;
  }
  if (value[0] === QUOTE && value.length > LONGEST_TEXT) throw tooLong(path);
  const object = objectIn(value);
  if (object === null) return;
  const { maxDepth, bounds, turn } = search.limits;
  const wanted: Wanted = {
    names: new Set(),
    prefixes: [],
    also: (one) => mayMean(search.table, meaning, one),
  };
  const peeked = await peekInSlices(object, wanted, maxDepth, bounds, turn);
  for (const member of peeked.members) {
    const inner = { name: member.name, value: valueOf(object, member), prefix: `${path}.`, level: level + 1 };
    await look(search, meaning, inner);
  }
  // Text that is no JSON here may still be read as JSON there (Python takes NaN), and one of two members of a name is
  // taken here, the other there.
  if (!peeked.ok && peeked.fault === 'too_complex') {
    throw new Fault('body_too_complex', `\`${path}\`: ${peeked.detail}`, { param: path });
  }
  if (!peeked.ok) search.add(peeked.name === undefined ? path : `${path}.${foldedName(peeked.name)}`);
}

const mayMean = (table: SteeringTable, scope: Scope, name: string): boolean =>
  meaningOfPath(table, scope, pathOf(name)) !== 'pass';

const valueOf = (body: Buffer, { valueStart, valueEnd }: Member): Buffer =>
  body.subarray(valueStart, valueEnd);

/** The text of the object that a value is, or that is written in it as a string; null: it is none. */
function objectIn(value: Buffer): Buffer | null {
  if (value[0] === OPEN_BRACE) return value;
  if (value[0] !== QUOTE) return null;
  const text = readString(value, { valueStart: 0, valueEnd: value.length })?.trimStart() ?? '';
  return text.startsWith('{') ? Buffer.from(text) : null;
}

function tooLong(path: string): Fault {
  const text = `\`${path}\` is a text of more than ${LONGEST_TEXT} bytes; send it as an object.`;
  return new Fault('body_too_complex', text, { param: path });
}
