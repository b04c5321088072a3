// Ids of deployments. Records, headers and admin calls refer to a deployment by its id, so the id must be the same after
// each restart and on each replica. Pure.
import { hash } from 'node:crypto';
import { plainOf, type Tree } from '../tree.ts';

/**
 * Lower-case hex SHA-256 over the model name and the parameters as written. References stay unresolved, so that rotating
 * a key in the environment does not change the id.
 */
export function computedId(modelName: string, writtenParams: Tree): string {
  return hash('sha256', `${modelName}\0${canonical(plainOf(writtenParams))}`, 'hex');
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
}
