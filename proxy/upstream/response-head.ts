// The headers of a response as undici delivers them, and checks for what llhttp accepts and we reject. Pure.
import { BadResponse } from './bad-response.ts';

/** The head of a response as received. */
export interface ReceivedHead {
  readonly status: number;
  /** The reason phrase; '' when it holds anything but printable ASCII. */
  readonly text: string;
  /** Name, value, name, value, ...: names in lower case, values as sent (one character per byte), those of one name in their order. */
  readonly list: readonly string[];
  /** How long the connection may stay idle afterwards, ms; 0 = close it. */
  readonly idleMs: number;
}

/** As undici has read them. */
type ReadHeaders = Readonly<NodeJS.Dict<string | string[]>>;

/** undici limits their bytes; this limits their number. */
const MOST_HEADERS = 1_000;
/** RFC 9110 section 15: clients must treat others as invalid, and read each in a way of their own. */
const MOST_STATUS = 599;
/** Load balancers close idle connections after about 30 s; ours close earlier. */
const IDLE_MAX_MS = 25_000;
/** For an upstream without Keep-Alive timeout: the shortest default of common servers (Node) is 5 s. */
const IDLE_MS = 4_000;
const SAFETY_MS = 1_000;
const SPACE = 32;
const TAB = 9;
const BLANKS_BEHIND = /[ \t]+$/;
/** With a tab after it, llhttp reads `chunked` as another coding. */
const CHUNKED = /^chunked *$/i;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** @throws BadResponse */
export function receivedHead(status: number, text: string, headers: ReadHeaders): ReceivedHead {
  if (status > MOST_STATUS) throw new BadResponse(`The status ${status} is none of HTTP.`);
  const list = flattened(headers);
  if (list.length > 2 * MOST_HEADERS) throw new BadResponse(`There are more than ${MOST_HEADERS} headers.`);
  let idleMs = IDLE_MS;
  let coding: string | null = null;
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i] ?? '';
    const value = list[i + 1] ?? '';
    if (name === 'keep-alive') idleMs = idleMsOf(value);
    else if (name === 'transfer-encoding') coding = coding === null ? value : `${coding},${value}`;
    const last = value.charCodeAt(value.length - 1);
    if (last === SPACE || last === TAB) list[i + 1] = value.replace(BLANKS_BEHIND, ''); // llhttp keeps trailing whitespace
  }
  // llhttp accepts lists that end in `chunked`, and reads a body with any other coding up to the end of the connection.
  if (coding !== null && !CHUNKED.test(coding))
    throw new BadResponse('The response has a transfer coding that is not known.');
  return { status, text: PRINTABLE.test(text) ? text : '', list, idleMs };
}

function flattened(headers: ReadHeaders): string[] {
  const list: string[] = [];
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (typeof value === 'string') list.push(name, value);
    else for (const one of value ?? []) list.push(name, one);
  }
  return list;
}

/** From `Keep-Alive: timeout=5` (seconds). */
function idleMsOf(header: string): number {
  const seconds = /(?:^|[,; ])timeout=(\d{1,6})/i.exec(header)?.[1];
  if (seconds === undefined) return IDLE_MS;
  return Math.max(0, Math.min(IDLE_MAX_MS, Number(seconds) * 1000 - SAFETY_MS));
}
