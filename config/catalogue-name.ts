// Under which name the catalogue knows what a deployment serves: the same model costs something else at another vendor. Pure.
import type { Deployment } from './snapshot.ts';

/** @param model the name that goes upstream */
export function catalogueName(
  { kind, provider }: Pick<Deployment, 'kind' | 'provider'>,
  model: string,
): string {
  const isChained = kind === 'proxy' || kind === 'compat'; // whose it is says the name, if anything does
  return isChained ? model : `${provider}/${model}`;
}
