// What a model can write at most, by the facts that an entry, else the catalogue states. Pure.
import type { Exchange } from './exchange.ts';
import type { SelectedDeployment } from './select-deployment.ts';

/** null = not known */
export function outputLimit(
  x: Exchange,
  { deployment: { config }, upstreamModel }: SelectedDeployment,
): number | null {
  const stated = outputLimitOf(config.statedInfo);
  if (stated !== null) return stated;
  return outputLimitOf(x.active.services.catalogue.factsOf(config, upstreamModel));
}

function outputLimitOf(facts: Readonly<Record<string, unknown>>): number | null {
  const limit = facts['max_output_tokens'] ?? facts['max_tokens'];
  return typeof limit === 'number' && limit > 0 ? limit : null;
}
