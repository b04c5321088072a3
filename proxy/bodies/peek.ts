// Finds the few top-level members of a JSON object that the proxy acts on, by byte offsets, without building the
// object. It accepts exactly what JSON.parse accepts on valid UTF-8; it never changes a byte, never recurses, and
// its sentences never quote what the client wrote. Stands between the read body and splice.ts, which edits it.
import { Buffer } from 'node:buffer';
import { Scan } from './json-scan.ts';
import type { Bounds, Peeked, Wanted } from './members.ts';

/** For what is short, or bounded before. */
export const UNBOUNDED: Bounds = { members: Infinity, nameBytes: Infinity };
/** The densest JSON, lists of numbers of one digit, takes 40 ns a byte: 3 ms for a slice. Text takes a hundredth of that. */
const SLICE_BYTES = 65_536;
/** Values between two turns of the event loop, 4 ms. */
const TURN_TOKENS = 50_000;
/** White space and digits are no values: 4 ns a byte. */
const TURN_BYTES = 2_097_152;

/**
 * Scans `body` once, from end to end, in time linear in its size.
 * @param maxDepth deepest nesting of containers that is accepted; the top-level object is depth 1
 */
export function peek(body: Buffer, wanted: Wanted, maxDepth: number, bounds = UNBOUNDED): Peeked {
  const scan = new Scan(body, wanted, maxDepth, bounds);
  return bounds.values === undefined ? (scan.run(body.length) ?? scan.stopped()) : scanned(scan);
}

/** A body of too many values is scanned no further than to the last one that it may have. */
function scanned(scan: Scan): Peeked {
  for (let limit = SLICE_BYTES; ; limit += SLICE_BYTES) {
    const peeked = scan.run(limit);
    if (peeked !== null) return peeked;
  }
}

/**
 * As `peek`, but of a large body only a slice at a time: between two slices the event loop serves others. A body of one
 * slice is scanned at once, without a promise.
 * @param turn waits for the next turn of the loop
 */
export function peekInSlices(
  body: Buffer,
  wanted: Wanted,
  maxDepth: number,
  bounds: Bounds,
  turn: () => Promise<unknown>,
): Peeked | Promise<Peeked> {
  if (body.length <= SLICE_BYTES) return peek(body, wanted, maxDepth, bounds);
  return inSlices(new Scan(body, wanted, maxDepth, bounds), turn);
}

async function inSlices(scan: Scan, turn: () => Promise<unknown>): Promise<Peeked> {
  let turnAt = TURN_BYTES;
  let tokens = TURN_TOKENS;
  for (let limit = SLICE_BYTES; ; limit += SLICE_BYTES) {
    const peeked = scan.run(limit);
    if (peeked !== null) return peeked;
    if (scan.tokens < tokens && limit < turnAt) continue;
    await turn();
    turnAt = limit + TURN_BYTES;
    tokens = scan.tokens + TURN_TOKENS;
  }
}

const NOTHING: Wanted = { names: new Set(), prefixes: [] };

/** The shortest values, empty lists in each other. */
export const VALUE_BYTES = 2;

/** Whether a JSON text of any kind holds more values than may be built. */
export function holdsMoreValues(json: Buffer | string, most: number): boolean {
  return json.length > VALUE_BYTES * most && valuesIn(json, most) === null;
}

/** The values of a JSON text of any kind; of one that is no JSON, up to there. null: more than `most`. */
export function valuesIn(json: Buffer | string, most: number): number | null {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json;
  const scan = new Scan(bytes, NOTHING, Infinity, { ...UNBOUNDED, values: most });
  const peeked = scanned(scan);
  if (peeked.ok) return peeked.values;
  // Where bytes that are no UTF-8 are read as replacement characters, what stands behind them is read as well.
  if (peeked.fault === 'invalid_utf8') return valuesIn(bytes.toString('utf8'), most);
  return peeked.fault === 'too_complex' ? null : scan.tokens;
}
