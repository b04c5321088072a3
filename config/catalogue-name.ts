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

/** OpenAI's own names, also with the `openai/` that many gateways write before them. */
const OF_OPENAI = /^(?:openai\/)?(?:gpt-|o\d|codex-|computer-use-)[^/]*$/;

/**
 * Whether the catalogue knows in which API a deployment has a model of this name. A gateway behind `openai/` may call another vendor's
 * model as that vendor does (`azure/gpt-5.1-codex`, `perplexity/openai/gpt-5`), and has it in an API of its own.
 */
export const tellsApi = ({ kind }: Pick<Deployment, 'kind'>, model: string): boolean =>
  kind !== 'compat' || OF_OPENAI.test(model);

/** What an entry says its model is; undefined = nothing but its name. */
export const baseModelOf = ({
  litellm_params: params,
  model_info: info,
}: Pick<ModelEntry, 'litellm_params' | 'model_info'>): string | undefined =>
  params.base_model ?? info?.base_model;
