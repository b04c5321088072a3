// Names, limits, features and prices of known models, from the package @pydantic/genai-prices, which only this file imports,
// and from model-facts.ts. Prices of tokens are those of the facts, which are newer and know service tiers; the package adds
// models and kinds of tokens that these do not have, and other units. Used when a configuration loads and for wildcard names. Nothing is
// fetched from the network.
import {
  calcPrice,
  waitForUpdate,
  type ModelInfo,
  type ModelPrice,
  type Provider,
} from '@pydantic/genai-prices';
import { catalogueName, tellsApi } from './catalogue-name.ts';
import { isAtListPrice, isFree, sellerOf, type Seller } from './catalogue-sellers.ts';
import { halfUp, scaledDecimal } from './decimal.ts';
import { modelFacts, type ModelFacts } from './model-facts.ts';
import {
  COSTS_AS,
  groundingPrices,
  pricesOver,
  ratesOf,
  shownPrices,
  tableOf,
  unitsOver,
} from './resolve/prices.ts';
import type { Prices, Rate, TokenKind, UnitKind } from './price-table.ts';
import type { Deployment } from './snapshot.ts';

/** Model makers, not resellers: a registry name should name one model once. */
const MAKERS: ReadonlySet<string> = new Set([
  'openai',
  'anthropic',
  'google',
  'mistral',
  'cohere',
  'deepseek',
  'x-ai',
  'moonshotai',
  'minimax',
  'perplexity',
  'zai',
  'zhipuai',
]);

/** The package exposes its bundled data only through this promise. Without an update the promise is already settled. */
const PROVIDERS: readonly Provider[] = (await waitForUpdate()) ?? [];

interface RegistryEntry {
  /** Catalogue id of the model, e.g. `claude-sonnet-4-5`. */
  readonly name: string;
  /** Its maker, e.g. `anthropic`. */
  readonly provider: string;
}

/** What the catalogue knows about one model. Members it does not know are absent. */
interface KnownModel {
  /** null = the catalogue has the model but no price per token. */
  readonly prices: Prices | null;
  /** How this very vendor has the model called: `chat`, `responses`, ...; absent = not known. */
  readonly mode?: string;
  /** `key`, `litellm_provider`, `max_input_tokens`, `input_cost_per_token` (US dollars), `supports_*`, ... */
  readonly facts: Readonly<Record<string, unknown>>;
}

type Described = Pick<Deployment, 'kind' | 'provider' | 'group' | 'knownFacts' | 'statedInfo'>;
const NO_FACTS: Deployment['knownFacts'] = Object.freeze({});
type Charging = Pick<Deployment, 'kind' | 'provider' | 'group' | 'prices' | 'cataloguePrices' | 'statedInfo'>;

/** Whether each call has its own model in the catalogue; `base_model` names one for all. */
const isPerCall = ({ group, statedInfo }: Pick<Deployment, 'group' | 'statedInfo'>): boolean =>
  group.includes('*') && statedInfo['base_model'] === undefined;

/** Caches lookups: each costs 5-30 us (measured). */
export class Catalogue {
  readonly #known = new Map<string, KnownModel | null>();
  readonly #charged = new WeakMap<Prices, WeakMap<Prices, Prices | null>>();

  /** The prices of a call to a deployment, by where they stand. @param model the name that goes upstream */
  pricesOf(deployment: Charging, model: string): { deployment: Prices | null; catalogue: Prices | null } {
    const { prices: own, cataloguePrices } = deployment;
    if (!isPerCall(deployment)) return { deployment: own, catalogue: cataloguePrices };
    const catalogue = this.lookUp(catalogueName(deployment, model))?.prices ?? null;
    return { deployment: this.#over(own, catalogue), catalogue };
  }

  /** The facts of the model that a call to a deployment asks for. @param model the name that goes upstream */
  factsOf(deployment: Described, model: string): Deployment['knownFacts'] {
    if (!isPerCall(deployment)) return deployment.knownFacts;
    return this.lookUp(catalogueName(deployment, model))?.facts ?? NO_FACTS;
  }

  /** How the vendor of a deployment has a model called; undefined = not known. @param model the name that goes upstream */
  modeOf(deployment: Pick<Deployment, 'kind' | 'provider'>, model: string): string | undefined {
    return tellsApi(deployment, model) ? this.lookUp(catalogueName(deployment, model))?.mode : undefined;
  }

  /** What `base_model` names: as the vendor of its deployment sells it, else as it is written. */
  lookUpBase(deployment: Pick<Deployment, 'kind' | 'provider'>, base: string): KnownModel | null {
    const name = catalogueName(deployment, base);
    // `azure/gpt-4o` below `azure/` is a whole name; names of OpenRouter have a slash themselves.
    const sold = base.includes('/') && !isListed(name) ? null : this.lookUp(name);
    return sold !== null && sold.prices !== null ? sold : this.lookUp(base);
  }

  /** As `pricesOver`, which makes a table, and every call of a wildcard asks. */
  #over(own: Prices | null, listed: Prices | null): Prices | null {
    if (own === null || listed === null) return own;
    const kept = this.#charged.get(own) ?? new WeakMap<Prices, Prices | null>();
    this.#charged.set(own, kept);
    const known = kept.get(listed);
    if (known !== undefined) return known;
    const prices = pricesOver(own, listed);
    kept.set(listed, prices);
    return prices;
  }

  /**
   * Looks up the name as it is, then without the part before each slash; but of who sells models of others, prices are its own, or
   * the maker's where nobody asks another one. null = unknown.
   */
  lookUp(upstreamModel: string): KnownModel | null {
    const kept = this.#known.get(upstreamModel);
    if (kept !== undefined) return kept;
    const found = knownModel(upstreamModel);
    if (this.#known.size < 50_000) this.#known.set(upstreamModel, found); // clients choose names, so the cache is bounded
    return found;
  }
}

function knownModel(model: string): KnownModel | null {
  const seller = sellerOf(model);
  const known = together(model, pricedModel(model), factsOfName(model));
  if (isFree(model)) return freeModel(model, known);
  return seller === null ? known : soldBy(seller, model, known);
}

const NOTHING: Rate = { base: 0n, tiers: {}, above: [] };

function freeModel(model: string, known: KnownModel | null): KnownModel | null {
  if (known === null && !model.startsWith('openrouter/')) return null;
  return pricedAt(tableOf({ input: NOTHING, output: NOTHING }, {}), known);
}

/** What a model is called, and by whom. */
const OF_ITS_VENDOR: ReadonlySet<string> = new Set(['key', 'litellm_provider']);

/** With the seller's own price, else with the maker's where that is asked for everywhere, else without one. */
function soldBy(
  { tables, id, isOwnMachine }: Seller,
  model: string,
  known: KnownModel | null,
): KnownModel | null {
  if (modelFacts(model) !== null) return known;
  const name = model.slice(model.indexOf('/') + 1);
  for (const table of tables) {
    const facts = modelFacts(`${table}/${name}`);
    const listed = facts === null ? null : together(model, null, { facts, isExact: true, isOwn: true });
    if (listed === null) continue;
    const others = Object.entries(pricedAt(null, known).facts).filter(([fact]) => !OF_ITS_VENDOR.has(fact));
    return { ...listed, facts: Object.freeze({ ...Object.fromEntries(others), ...listed.facts }) };
  }
  const own = id === null ? null : ownPrice(id, name);
  if (own !== null) return together(model, { ...own, isResold: true }, factsOfName(model));
  if (known === null || (isAtListPrice(name) && !isOwnMachine)) return known;
  return pricedAt(null, known);
}

/** By its very seller. */
function isListed(model: string): boolean {
  const id = sellerOf(model)?.id ?? null;
  return (
    modelFacts(model) !== null || (id !== null && ownPrice(id, model.slice(model.indexOf('/') + 1)) !== null)
  );
}

/** A vendor of the package may stand for others, too: what it finds may be a maker's. */
function ownPrice(id: string, model: string): KnownModel | null {
  const found = calcPrice({}, model, { providerId: id });
  const isOwn = PROVIDERS.some((one) => one.id === id && found !== null && one.models.includes(found.model));
  return isOwn ? find(model, id) : null;
}

/** What is known of a model that costs something else where it is called. */
function pricedAt(prices: Prices | null, known: KnownModel | null): KnownModel {
  const others = Object.entries(known?.facts ?? {}).filter(([name]) => !name.includes('cost'));
  const shown = prices === null ? {} : shownPrices(prices);
  return { ...known, prices, facts: Object.freeze({ ...Object.fromEntries(others), ...shown }) };
}

/** A model as the package knows it. */
interface Priced extends KnownModel {
  /** At another vendor than its maker: the name says so. */
  readonly isResold: boolean;
}

function pricedModel(upstreamModel: string): Priced | null {
  const plain = find(upstreamModel, undefined);
  let found: Priced | null = plain === null ? null : { ...plain, isResold: false };
  let rest = upstreamModel;
  for (let slash = rest.indexOf('/'); found === null && slash !== -1; slash = rest.indexOf('/')) {
    const provider = rest.slice(0, slash);
    rest = rest.slice(slash + 1);
    const stated = isProvider(provider) ? find(rest, provider) : null;
    const known = stated ?? find(rest, undefined);
    if (known !== null) found = { ...known, isResold: stated !== null && !MAKERS.has(provider) };
  }
  return found;
}

interface FoundFacts {
  readonly facts: ModelFacts;
  /** Under the whole name. */
  readonly isExact: boolean;
  /** Under the whole name, or under it without the `openai/` that many gateways write before OpenAI's names. */
  readonly isOwn: boolean;
}

const OPENAI = 'openai/';

function factsOfName(upstreamModel: string): FoundFacts | null {
  let rest = upstreamModel;
  for (;;) {
    const facts = modelFacts(rest);
    if (facts !== null) {
      const isExact = rest === upstreamModel;
      return { facts, isExact, isOwn: isExact || upstreamModel === `${OPENAI}${rest}` };
    }
    const slash = rest.indexOf('/');
    if (slash === -1) return null;
    rest = rest.slice(slash + 1);
  }
}

/** What both know. A price that is shown is the one that is charged. */
function together(model: string, priced: Priced | null, found: FoundFacts | null): KnownModel | null {
  if (found === null) return priced;
  const { facts, isExact, isOwn } = found;
  const stated = ratesOf(facts);
  const isStated = stated.input !== undefined && (isExact || priced?.isResold !== true);
  const known = isStated ? completed(stated, priced?.prices ?? null) : (priced?.prices ?? null);
  const prices = isExact || priced?.isResold !== true ? withTools(known, facts, model) : known;
  const others = Object.entries({ ...priced?.facts, ...facts }).filter(([name]) => !name.includes('cost'));
  const shown = prices === null ? {} : shownPrices(prices);
  const { mode } = facts;
  const own = isOwn && typeof mode === 'string' ? { mode } : {};
  return { prices, ...own, facts: Object.freeze({ ...Object.fromEntries(others), ...shown }) };
}

/** With what the newer table states of tools that the upstream runs, where the package states nothing. */
function withTools(prices: Prices | null, facts: ModelFacts, model: string): Prices | null {
  if (prices === null) return null;
  const {
    search_context_cost_per_query: search,
    google_maps_grounding_cost_per_query: map,
    web_search_billing_unit: unit,
  } = facts;
  const stated = groundingPrices({ search, map, unit }, [model]);
  return Object.keys(stated).length === 0 ? prices : tableOf(prices.tokens, unitsOver(prices.units, stated));
}

/** Prices of the newer table; of kinds that it does not state, the package's, where the two agree on the line. */
function completed(stated: Partial<Record<TokenKind, Rate>>, priced: Prices | null): Prices | null {
  const tokens: Partial<Record<TokenKind, Rate>> = {};
  for (const kind of Object.keys(TOKEN_KEYS) as TokenKind[]) {
    const [own, other] = [stated[kind], priced?.tokens[kind]];
    const line = lineOf(kind);
    const agree = line === kind || stated[line]?.base === priced?.tokens[line]?.base;
    if (own !== undefined && own.base !== null) tokens[kind] = own;
    else if (other !== undefined && agree) tokens[kind] = other;
  }
  return tableOf(tokens, priced?.units ?? {});
}

function lineOf(kind: TokenKind): TokenKind {
  const line = COSTS_AS[kind];
  return line === null ? kind : lineOf(line);
}

/** Listed when it is first asked for, which takes 15 ms of looking up prices. The bundled data never change. */
class Registry {
  #entries: readonly RegistryEntry[] | null = null;

  get entries(): readonly RegistryEntry[] {
    return (this.#entries ??= listModels());
  }
}

const REGISTRY = new Registry();

/** Chat models, listed under their maker, that a lookup by the same name finds. Names are unique. */
export function registry(): readonly RegistryEntry[] {
  return REGISTRY.entries;
}

function listModels(): readonly RegistryEntry[] {
  const entries = new Map<string, RegistryEntry>();
  for (const provider of PROVIDERS) {
    if (!MAKERS.has(provider.id)) continue;
    for (const model of provider.models) {
      if (entries.has(model.id) || !isChat(model) || resold(provider, model)) continue;
      // A few ids do not match the catalogue's own rule (mistral/codestral), so a lookup would find no price.
      if (calcPrice({}, model.id, { providerId: provider.id }) === null) continue;
      entries.set(model.id, { name: model.id, provider: provider.id });
    }
  }
  return Object.freeze([...entries.values()]);
}

/** The names of `registry()`, for listing wildcards. */
export function registryNames(): readonly string[] {
  return registry().map((entry) => entry.name);
}

/** Ids that end in a dash or contain a colon stand for families or fine-tunes; clients cannot request them. */
const NO_NAME = /[:\s/]|-$/;
/** Models with input and output token prices that are not chat models. */
const NO_CHAT =
  /embed|moderation|transcribe|whisper|tts|image|realtime|rerank|ocr|instruct$|davinci|^(ada|babbage|curie)$/;

function isChat(model: ModelInfo): boolean {
  const price = Array.isArray(model.prices) ? model.prices.at(-1)?.prices : model.prices;
  if (NO_NAME.test(model.id) || NO_CHAT.test(model.id)) return false;
  return price?.['input_mtok'] !== undefined && price['output_mtok'] !== undefined;
}

/** Google sells Claude too; the maker's own entry is the one to list. */
function resold(provider: Provider, model: ModelInfo): boolean {
  return provider.id === 'google' && model.id.startsWith('claude');
}

function isProvider(name: string): boolean {
  return PROVIDERS.some((provider) => provider.id === name);
}

function find(model: string, providerId: string | undefined): KnownModel | null {
  const found = calcPrice({}, model, providerId === undefined ? {} : { providerId });
  if (found === null) return null;
  const prices = pricesFrom(found.model_price);
  const facts = factsOf(found.provider, found.model, found.model_price);
  return { prices, facts: Object.freeze({ ...facts, ...(prices === null ? {} : shownPrices(prices)) }) };
}

/** The catalogue's keys. It prices tokens per million and everything else per thousand. */
const TOKEN_KEYS: Readonly<Record<TokenKind, string>> = {
  input: 'input_mtok',
  cacheRead: 'cache_read_mtok',
  cacheWrite: 'cache_write_mtok',
  cacheWrite1h: 'cache_write_1h_mtok',
  inputAudio: 'input_audio_mtok',
  inputImage: 'input_image_mtok',
  output: 'output_mtok',
  reasoning: 'output_reasoning_mtok',
  outputAudio: 'output_audio_mtok',
  outputImage: 'output_image_mtok',
};
const ATTO_PER_TOKEN_DIGITS = 12; // a dollar is 1e18 atto-dollars, a price per token a millionth of what is stated
const ATTO_PER_THOUSANDTH_DIGITS = 15;
const ATTO_DIGITS = 18;
const SECONDS_PER_HOUR = 3600n;

function pricesFrom(price: ModelPrice): Prices | null {
  const tokens: Partial<Record<TokenKind, Rate>> = {};
  for (const kind of Object.keys(TOKEN_KEYS) as TokenKind[]) {
    const stated = price[TOKEN_KEYS[kind]];
    if (stated === undefined) continue;
    const perToken = (perMillion: number): bigint | null =>
      scaledDecimal(String(perMillion), ATTO_PER_TOKEN_DIGITS);
    const tiers = typeof stated === 'number' ? [] : stated.tiers.toSorted((a, b) => b.start - a.start);
    tokens[kind] = {
      base: perToken(typeof stated === 'number' ? stated : stated.base),
      tiers: {},
      above: tiers.map(({ start, price }) => ({ promptTokens: start, base: perToken(price), tiers: {} })),
    };
  }
  const units: Partial<Record<UnitKind, bigint>> = {};
  const put = (kind: UnitKind, key: string, digits: number, divisor = 1n): void => {
    const stated = price[key];
    const atto = typeof stated === 'number' ? scaledDecimal(String(stated), digits) : null;
    if (atto !== null) units[kind] = halfUp(atto, divisor);
  };
  put('requests', 'requests_kcount', ATTO_PER_THOUSANDTH_DIGITS);
  put('searches', 'web_searches_kcount', ATTO_PER_THOUSANDTH_DIGITS);
  put('fileSearches', 'storage_searches_kcount', ATTO_PER_THOUSANDTH_DIGITS);
  put('seconds', 'audio_hours', ATTO_DIGITS, SECONDS_PER_HOUR);
  put('seconds', 'input_audio_hours', ATTO_DIGITS, SECONDS_PER_HOUR);
  return tableOf(tokens, units);
}

function factsOf(provider: Provider, model: ModelInfo, price: ModelPrice): Readonly<Record<string, unknown>> {
  const facts: Record<string, unknown> = { key: model.id, litellm_provider: provider.id };
  if (model.context_window !== undefined) facts['max_input_tokens'] = model.context_window;
  // A price for a feature means that the model has it; a missing price says nothing.
  if (price['cache_read_mtok'] !== undefined) facts['supports_prompt_caching'] = true;
  if (price['input_audio_mtok'] !== undefined) facts['supports_audio_input'] = true;
  if (price['output_audio_mtok'] !== undefined) facts['supports_audio_output'] = true;
  if (price['web_searches_kcount'] !== undefined) facts['supports_web_search'] = true;
  return Object.freeze(facts);
}
