// Which steering members an operator leaves to the clients: `allowed_client_parameters`, for all entries and for one.
import type { EntryParams } from '../../gateway-file.ts';
import { foldedName } from './parameters.ts';

const NONE: ReadonlySet<string> = Object.freeze(new Set<string>());

/** Folded, dotted paths. */
export function allowedParameters(
  forAll: readonly string[],
  { allowed_client_parameters: own = [] }: EntryParams,
): ReadonlySet<string> {
  return forAll.length === 0 && own.length === 0 ? NONE : new Set([...forAll, ...own].map(foldedName));
}
