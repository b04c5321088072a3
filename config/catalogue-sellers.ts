// Who sells models of others, and whose price list says what they cost there. Pure.
import { BARE_NAMES } from './resolve/kinds/bare-names.ts';

export interface Seller {
  /** Prefixes under which LiteLLM's table lists what it sells. */
  readonly tables: readonly string[];
  /** The same in the package of prices; null = it is not there. */
  readonly id: string | null;
  /** It runs what its operator installs: no price list says what that costs. */
  readonly isOwnMachine: boolean;
}

const seller = (tables: readonly string[], id: string | null): Seller => ({
  tables,
  id,
  isOwnMachine: false,
});
const ownMachine = (table: string): Seller => ({ tables: [table], id: null, isOwnMachine: true });

/**
 * By the text before the first slash of a name. Bedrock, Vertex AI and Volcengine are left out: the table has their models under bare names, too.
 */
const SELLERS: ReadonlyMap<string, Seller> = new Map([
  ['azure', seller(['azure', 'azure_ai'], 'azure')], // a resource of Foundry offers both under one address
  ['azure_ai', seller(['azure_ai'], 'azure')],
  ['openrouter', seller(['openrouter'], 'openrouter')],
  ['groq', seller(['groq'], 'groq')],
  ['together_ai', seller(['together_ai'], 'together')],
  ['fireworks_ai', seller(['fireworks_ai'], 'fireworks')],
  ['cerebras', seller(['cerebras'], 'cerebras')],
  ['deepinfra', seller(['deepinfra'], null)],
  ['novita', seller(['novita'], 'novita')],
  ['nebius', seller(['nebius'], null)],
  ['sambanova', seller(['sambanova'], null)],
  ['hyperbolic', seller(['hyperbolic'], null)],
  ['baseten', seller(['baseten'], 'baseten')],
  ['databricks', seller(['databricks'], null)],
  ['nvidia_nim', seller(['nvidia_nim'], null)],
  ['github', seller(['github'], null)],
  ['dashscope', seller(['dashscope'], null)],
  ['friendliai', seller(['friendliai'], null)],
  ['vercel_ai_gateway', seller(['vercel_ai_gateway'], null)],
  ['hosted_vllm', ownMachine('hosted_vllm')],
  ['lm_studio', ownMachine('lm_studio')],
  ['ollama', ownMachine('ollama')],
  ['ollama_chat', ownMachine('ollama')],
]);

/** null = a maker, or nobody that is known: a gateway's own name for a model. */
export function sellerOf(model: string): Seller | null {
  const slash = model.indexOf('/');
  return slash === -1 ? null : (SELLERS.get(model.slice(0, slash)) ?? null);
}

/** Models whose weights are not open: whoever sells one asks the maker's list price. Others cost what their host asks. */
const AT_LIST_PRICE = [new RegExp(BARE_NAMES.openai), new RegExp(BARE_NAMES.anthropic), /^(?:gemini|grok)-/];
const OPEN_WEIGHTS = /^(?:gpt-oss|grok-[12](?:\.|-|$))/;

/** @param model with whatever stands before the last slash */
export function isAtListPrice(model: string): boolean {
  const name = model.slice(model.lastIndexOf('/') + 1);
  return !OPEN_WEIGHTS.test(name) && AT_LIST_PRICE.some((one) => one.test(name));
}

/** A variant without a price, which OpenRouter names so: `deepseek/deepseek-r1:free`. */
export const isFree = (model: string): boolean => model.includes('/') && model.endsWith(':free');
