// What a scan of a JSON object is asked for, and what it finds: the top-level members by their byte offsets.
import type { Buffer } from 'node:buffer';
import { KnownNames } from './known-names.ts';
import type { TextBeginnings } from './text-beginnings.ts';

/** The top-level members to report: by exact name or by prefix of the name. */
export interface Wanted {
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
  /** Further ones; asked about names that the two others do not hold. */
  readonly also?: (name: string) => boolean;
  /** What the body is looked through for. */
  readonly texts?: TextBeginnings;
}

/** What a scan gives up at. */
export interface Bounds {
  /** Members at the top level. */
  readonly members: number;
  /** Of the name of such a member, as it is written, quotes included. */
  readonly nameBytes: number;
  /** Values in all of it, at any depth; what is only looked into may have any number. */
  readonly values?: number;
}

/**
 * Values of a JSON text that is built as a whole, rather than looked into: about 1 us for each to parse and to check, and 3 us to translate.
 * A conversation of 10,000 messages with tool calls has 90,000.
 */
export const MOST_BUILT_VALUES = 100_000;

/** A top-level member; all numbers are byte offsets into the body, ends are exclusive. */
export interface Member {
  /** The key, escapes decoded. */
  readonly name: string;
  /** Of the key's opening quote. */
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Of the comma that stands before the member; -1 for the first one. */
  readonly commaBefore: number;
  /** Of the comma that follows the member; -1 for the last one. */
  readonly commaAfter: number;
}

/** What is wrong with a body; `parse-request.ts` gives each its error. */
export type PeekFaultKind =
  'not_json' | 'not_object' | 'too_deep' | 'too_complex' | 'invalid_utf8' | 'duplicate_member';

/** Why a body was refused. */
export interface PeekFault {
  readonly ok: false;
  readonly fault: PeekFaultKind;
  /** Byte offset of what is wrong. */
  readonly at: number;
  /** The member's name, of a `duplicate_member` only. */
  readonly name?: string;
  /** One sentence; quotes nothing of the body but punctuation. */
  readonly detail: string;
  /** The wanted members that were whole before the fault. */
  readonly members: readonly Member[];
}

/** A JSON object, looked into. */
export interface PeekedBody {
  readonly ok: true;
  /** The wanted members in the order of the body; no two of one name. */
  readonly members: readonly Member[];
  /** How many members the object has, unwanted ones included. */
  readonly memberCount: number;
  /** Values at any depth. */
  readonly values: number;
  /** End of the last member's value; just after the opening brace in an empty object. */
  readonly lastValueEnd: number;
  /** A value of it, at any depth, begins as one of the wanted texts. */
  readonly hasText: boolean;
}

/** What a scan ends with. */
export type Peeked = PeekedBody | PeekFault;

const QUOTE = 0x22;
const LETTER_N = 0x6e;
const KNOWN = new KnownNames();

/** The decoded name of the key, if it is wanted. */
export function wantedName(body: Buffer, keyStart: number, keyEnd: number, wanted: Wanted): string | null {
  // A name is compared as what it stands for: "mod\u0065l" is the model for every reader downstream.
  const name =
    KNOWN.nameAt(body, keyStart + 1, keyEnd - 1) ??
    (JSON.parse(body.toString('utf8', keyStart, keyEnd)) as string);
  if (wanted.names.has(name)) return name;
  for (const prefix of wanted.prefixes) {
    if (name.startsWith(prefix)) return name;
  }
  return wanted.also?.(name) === true ? name : null;
}

/** One of the wanted members; undefined = the object has none of that name. */
export function memberNamed({ members }: Pick<PeekedBody, 'members'>, name: string): Member | undefined {
  for (const member of members) if (member.name === name) return member;
  return undefined;
}

/** A member that says null says nothing. No other JSON value begins with that letter. */
export const statesValue = (body: Buffer, { valueStart }: Pick<Member, 'valueStart'>): boolean =>
  body[valueStart] !== LETTER_N;

/** The text of a member whose value is a string, else undefined. */
export function readString(
  body: Buffer,
  member: Pick<Member, 'valueStart' | 'valueEnd'>,
): string | undefined {
  if (body[member.valueStart] !== QUOTE) return undefined;
  return JSON.parse(body.toString('utf8', member.valueStart, member.valueEnd)) as string;
}

/** The value of a member, built. */
export function readJson(body: Buffer, member: Member): unknown {
  return JSON.parse(body.toString('utf8', member.valueStart, member.valueEnd)) as unknown;
}
