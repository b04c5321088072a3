// What the catalogue knows of the model that a deployment serves, prices and facts from the same entry. Pure.
import type { Catalogue } from './catalogue.ts';
import { catalogueName } from './catalogue-name.ts';
import type { Deployment } from './snapshot.ts';

const NO_FACTS: Deployment['knownFacts'] = Object.freeze({});

/**
 * Of a wildcard it is looked up by the name of the call, of any other deployment it was when the configuration was read.
 * @param model the name that goes upstream
 */
export function catalogueEntry(
  catalogue: Catalogue,
  deployment: Deployment,
  model: string,
): Pick<Deployment, 'cataloguePrices' | 'knownFacts'> {
  if (!deployment.group.includes('*')) return deployment;
  const known = catalogue.lookUp(catalogueName(deployment, model));
  return { cataloguePrices: known?.prices ?? null, knownFacts: known?.facts ?? NO_FACTS };
}
