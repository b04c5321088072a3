// The text of a first configuration: the models of one gateway, and a master key, both by reference. Pure.
import { stringify } from 'yaml';
import { DEFAULT_WORDS, dialectOf, ENV_MARKER } from './dialect.ts';
import { baseOf, type BaseCheck } from './resolve/api-base.ts';
import { KINDS } from './resolve/kinds/table.ts';

/** `litellm`: a proxy of LiteLLM's kind, called as litellm_proxy/NAME; the others have an OpenAI-compatible API. */
export const GATEWAY_WORDS = ['litellm', 'bifrost', 'portkey', 'openai'] as const;
export type GatewayWord = (typeof GATEWAY_WORDS)[number];

export const MASTER_VARIABLE = 'PROXY_MASTER_KEY';

interface FirstConfig {
  readonly gateway: GatewayWord;
  readonly base: string;
  /** Environment variable with the gateway's key. */
  readonly variable: string;
  readonly models: readonly string[];
}

/** Whether an address fits the kind of gateway, and what to write instead. */
export function checkBase(url: string, gateway: GatewayWord): BaseCheck {
  const name = gateway === 'litellm' ? 'proxy' : 'compat';
  const [first] = KINDS;
  const kind = KINDS.find((one) => one.name === name) ?? first;
  if (kind === undefined) throw new Error('there are no kinds of gateways');
  return baseOf(url, kind);
}

export function firstConfig({ gateway, base, variable, models }: FirstConfig): string {
  const { proxyPrefix, compatPrefix } = dialectOf(DEFAULT_WORDS);
  const prefix = gateway === 'litellm' ? proxyPrefix : compatPrefix;
  const named = gateway === 'bifrost' || gateway === 'portkey' ? { gateway } : {};
  const entries = models.map((name) => ({
    model_name: name,
    litellm_params: {
      model: `${prefix}/${name}`,
      api_base: base,
      api_key: `${ENV_MARKER}${variable}`,
      ...named,
    },
  }));
  const list = stringify({ model_list: entries }, { lineWidth: 0, aliasDuplicateObjects: false });
  return `${list}\ngeneral_settings:\n  master_key: ${ENV_MARKER}${MASTER_VARIABLE}\n`;
}
