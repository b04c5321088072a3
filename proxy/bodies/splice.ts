// Replaces, removes and appends top-level members of a JSON body by their byte offsets; every other byte stays as the
// client sent it, number spelling and white space included. Stands after peek.ts, before the body goes upstream.
import { Buffer } from 'node:buffer';
import type { Member, PeekedBody } from './members.ts';
import { withHeadroom } from './body-memory.ts';

/** One change of a body. `value` is JSON text and is not checked again. */
export type Edit =
  | { readonly kind: 'replace'; readonly member: Member; readonly value: string | Buffer }
  | { readonly kind: 'remove'; readonly member: Member }
  /** `name` must have been wanted when the body was peeked, else the body could end up with two of it. */
  | { readonly kind: 'append'; readonly name: string; readonly value: string | Buffer };

/** The bytes from `start` to `end` give way to `insert`. */
export interface Cut {
  readonly start: number;
  readonly end: number;
  /** In the order in which they are written. */
  readonly insert: readonly (string | Buffer)[];
}

/**
 * A copy of the body that `peeked` describes with `edits` made; the same Buffer when there are none.
 * @throws TypeError when two edits concern one member, or a member is appended that is there: a mistake of the caller
 */
export function splice(body: Buffer, peeked: PeekedBody, edits: readonly Edit[]): Buffer {
  return edits.length === 0 ? body : copyWithCuts(body, cutsOf(peeked, edits));
}

/** The cuts that `edits` come to. @throws TypeError as `splice` */
export function cutsOf(peeked: PeekedBody, edits: readonly Edit[]): Cut[] {
  const cuts: Cut[] = [];
  const removed: Member[] = [];
  const appended: (string | Buffer)[] = [];
  if (edits.length > 1) checkDistinct(edits);
  for (const edit of edits) {
    if (edit.kind === 'remove') removed.push(edit.member);
    else if (edit.kind === 'replace') {
      cuts.push({ start: edit.member.valueStart, end: edit.member.valueEnd, insert: [edit.value] });
    } else {
      const { name, value } = edit;
      if (peeked.members.some((member) => member.name === name))
        throw new TypeError(`the body has a member ${name}`);
      appended.push(`,${JSON.stringify(name)}:`, value);
    }
  }
  if (removed.length > 0) cuts.push(...removalCuts(removed));
  if (appended.length > 0) {
    // The first comma is one too many when nothing stands before.
    const isAlone = peeked.memberCount === removed.length;
    const [first, ...more] = appended;
    const insert = isAlone && typeof first === 'string' ? [first.slice(1), ...more] : appended;
    cuts.push({ start: peeked.lastValueEnd, end: peeked.lastValueEnd, insert });
  }
  return cuts;
}

function checkDistinct(edits: readonly Edit[]): void {
  const names = new Set<string>();
  for (const edit of edits) {
    const name = edit.kind === 'append' ? edit.name : edit.member.name;
    if (names.has(name)) throw new TypeError(`two edits of the member ${name}`);
    names.add(name);
  }
}

/** Neighbours that go together are one cut, so that exactly one comma goes with each of them. */
function removalCuts(removed: readonly Member[]): Cut[] {
  const sorted = removed.toSorted((a, b) => a.keyStart - b.keyStart);
  const cuts: Cut[] = [];
  for (let i = 0; i < sorted.length; i++) {
    const first = sorted[i] as Member;
    let last = first;
    while (last.commaAfter !== -1 && sorted[i + 1]?.commaBefore === last.commaAfter)
      last = sorted[++i] as Member;
    // A run that ends the object takes the comma before it, any other the comma after it.
    const cut =
      last.commaAfter !== -1
        ? { start: first.keyStart, end: last.commaAfter + 1 }
        : { start: first.commaBefore === -1 ? first.keyStart : first.commaBefore, end: last.valueEnd };
    cuts.push({ ...cut, insert: [] });
  }
  return cuts;
}

/** A copy of `body` with `cuts` made, in one allocation. @throws RangeError when two cuts overlap */
export function copyWithCuts(body: Buffer, cuts: readonly Cut[]): Buffer {
  const sorted = inOrder(cuts);
  const result = Buffer.allocUnsafe(sizeWith(body, sorted));
  let from = 0;
  let to = 0;
  for (const { start, end, insert } of sorted) {
    if (start < from) throw new RangeError('two edits of the same bytes');
    to += body.copy(result, to, from, start);
    for (const piece of insert) {
      to += typeof piece === 'string' ? result.write(piece, to) : piece.copy(result, to);
    }
    from = end;
  }
  body.copy(result, to, from);
  return result;
}

/**
 * The cuts that turn the changed body into `body` again. Call it before the body is changed in place: another attempt may
 * need what the client sent. Copies what the cuts take out, some hundred bytes.
 */
export function undoing(body: Buffer, cuts: readonly Cut[]): readonly Cut[] {
  let shift = 0;
  return inOrder(cuts).map(({ start, end, insert }) => {
    const size = insert.reduce((sum, piece) => sum + sizeOf(piece), 0);
    const taken = Buffer.allocUnsafe(end - start);
    body.copy(taken, 0, start, end);
    const undo = { start: start + shift, end: start + shift + size, insert: [taken] };
    shift += size - (end - start);
    return undo;
  });
}

function inOrder(cuts: readonly Cut[]): readonly Cut[] {
  return cuts.length < 2 ? cuts : cuts.toSorted((a, b) => a.start - b.start || a.end - b.end);
}

function sizeWith(body: Buffer, cuts: readonly Cut[]): number {
  let size = body.length;
  for (const { start, end, insert } of cuts) {
    size -= end - start;
    for (const piece of insert) size += sizeOf(piece);
  }
  return size;
}

const sizeOf = (piece: string | Buffer): number =>
  typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;

/**
 * Makes `cuts` in the memory of `body`, of which `body` itself must not be read any more. What lies behind the last cut
 * stays where it is; what lies before moves towards or away from it.
 * @param headroom unused bytes before `body` in the same memory
 * @returns null when the headroom is too small; nothing was changed then. @throws RangeError when two cuts overlap
 */
export function cutInPlace(body: Buffer, cuts: readonly Cut[], headroom: number): Buffer | null {
  const sorted = inOrder(cuts);
  const size = sizeWith(body, sorted);
  if (size - body.length > headroom) return null;
  const memory = Buffer.from(body.buffer, body.byteOffset - headroom, headroom + body.length);
  const first = memory.length - size;
  const moves: { readonly to: number; readonly start: number; readonly end: number }[] = [];
  const inserts: { readonly to: number; readonly piece: string | Buffer }[] = [];
  let from = 0;
  let to = first;
  for (const { start, end, insert } of sorted) {
    if (start < from) throw new RangeError('two edits of the same bytes');
    if (start > from) moves.push({ to, start: headroom + from, end: headroom + start });
    to += start - from;
    for (const piece of insert) {
      inserts.push({ to, piece });
      to += sizeOf(piece);
    }
    from = end;
  }
  // Those that move back go first, the rearmost before the others, then those that move forward, the foremost before
  // the others: so none is written over before it has moved.
  for (const move of moves.toReversed())
    if (move.to > move.start) memory.copyWithin(move.to, move.start, move.end);
  for (const move of moves) if (move.to < move.start) memory.copyWithin(move.to, move.start, move.end);
  for (const { to: at, piece } of inserts) {
    if (typeof piece === 'string') memory.write(piece, at);
    else piece.copy(memory, at);
  }
  return withHeadroom(memory, first);
}
