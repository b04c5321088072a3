// Under which name the catalogue knows what a deployment serves: the same model costs something else at another vendor. Pure.
import type { ModelEntry } from './gateway-file.ts';
import type { Deployment } from './snapshot.ts';

/** @param model the name that goes upstream */
export function catalogueName(
  { kind, provider }: Pick<Deployment, 'kind' | 'provider'>,
  model: string,
): string {
  const isChained = kind === 'proxy' || kind === 'compat'; // whose it is says the name, if anything does
  return isChained ? model : `${provider}/${model}`;
}

/** What an entry says its model is; undefined = nothing but its name. */
export const baseModelOf = ({
  litellm_params: params,
  model_info: info,
}: Pick<ModelEntry, 'litellm_params' | 'model_info'>): string | undefined =>
  params.base_model ?? info?.base_model;
