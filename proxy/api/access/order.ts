// The order of lists: by a value of each object, equal ones by id, so that pages do not overlap.
import { mapInTurns, sortInTurns } from '../../base/turns.ts';

/** Texts by code unit, numbers by size. */
export function compare(a: string | number, b: string | number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

interface Identified {
  readonly id: string;
}

export const byId = (a: Identified, b: Identified): number => compare(a.id, b.id);

/** @param valueOf asked once for each */
export async function sortedBy<T extends Identified>(
  objects: readonly T[],
  valueOf: (object: T) => string | number,
  order: 'asc' | 'desc',
): Promise<T[]> {
  const sign = order === 'asc' ? 1 : -1;
  const compared = await mapInTurns(objects, (object) => ({ object, value: valueOf(object) }));
  const inOrder = await sortInTurns(
    compared,
    (a, b) => sign * compare(a.value, b.value) || byId(a.object, b.object),
  );
  return inOrder.map(({ object }) => object);
}
