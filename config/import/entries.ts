// The entries of `model_list`: what LiteLLM takes for granted (the provider's address, the variable of its key) is written
// out, and what only LiteLLM can reach is taken out, with a comment in its place.
import { isMap, isScalar, isSeq, Pair, Scalar, type Document, type YAMLMap } from 'yaml';
import { DEFAULT_WORDS, dialectOf, ENV_MARKER } from '../dialect.ts';
import { baseOf } from '../resolve/api-base.ts';
import { anthropicKind } from '../resolve/kinds/anthropic.ts';
import { bareVendorOf } from '../resolve/kinds/bare-names.ts';
import { compatKind } from '../resolve/kinds/compat.ts';
import { geminiKind } from '../resolve/kinds/gemini.ts';
import type { Kind } from '../resolve/kinds/kind.ts';
import { proxyKind } from '../resolve/kinds/proxy.ts';
import { KINDS, unsupported } from '../resolve/kinds/table.ts';
import type { Path } from '../tree.ts';
import type { Level } from './finding.ts';
import type { Findings } from './findings.ts';
import { nameOf, type Origins } from './origins.ts';
import { COMPATIBLE, OPENAI } from './providers.ts';
import { commentOn } from './remove.ts';

const DIALECT = dialectOf(DEFAULT_WORDS);
const CHAIN = 'keep it in LiteLLM and chain to it: model: litellm_proxy/NAME, api_base: its address';

/** Entries that nothing here can call, each with the comment that takes its place. */
export type LeftOut = ReadonlyMap<unknown, string>;

export function convertEntries(document: Document, origins: Origins, findings: Findings): LeftOut {
  const list = document.get('model_list', true);
  const leftOut = new Map<unknown, string>();
  if (!isSeq(list)) return leftOut;
  list.items.forEach((item, index) => {
    findings.startsAs(item, index);
    const params = isMap(item) ? item.get('litellm_params', true) : null;
    if (!isMap(item) || !isMap(params)) return;
    const why = converted(params, ['model_list', index, 'litellm_params'], findings);
    if (why === null) return;
    const [name, model] = [textAt(item, 'model_name'), textAt(params, 'model')];
    findings.add(item, ['model_list', index], 'unsupported', `${model}: ${why} - ${CHAIN}`);
    origins.lose(item);
    leftOut.set(item, ` not imported: ${name} (${model})`);
  });
  return leftOut;
}

/** Takes the entries out of the list. */
export function dropEntries(document: Document, leftOut: LeftOut): void {
  const list = document.get('model_list', true);
  if (!isSeq(list) || leftOut.size === 0) return;
  list.items = list.items.filter((item) => !leftOut.has(item));
  const root = document.contents;
  const key = isMap(root) ? root.items.find((pair) => nameOf(pair) === 'model_list')?.key : null;
  commentOn(key, ...leftOut.values());
}

/** @returns why nothing here can call it; null = it is converted */
function converted(params: YAMLMap, at: Path, findings: Findings): string | null {
  const model = textAt(params, 'model');
  const stated = textAt(params, 'custom_llm_provider');
  if (model === '' || model.startsWith(ENV_MARKER)) return null; // the loader says what is wrong with it
  const slash = model.indexOf('/');
  const before = slash === -1 ? '' : model.slice(0, slash);
  const provider = stated === '' ? before : stated;
  const modelNode = params.items.find((pair) => nameOf(pair) === 'model');
  if (provider === 'openai' || provider === 'litellm_proxy') {
    completeBase(params, at, provider, findings);
    return null;
  }
  const owner = provider === '' ? bareVendorOf(model) : null;
  if (owner !== null) {
    set(params, 'model', `${owner}/${model}`);
    const message = `LiteLLM takes ${model} for a model of ${owner}: ${owner}/${model}`;
    findings.add(modelNode, [...at, 'model'], 'exact', message);
    if (owner === 'openai') completeBase(params, at, owner, findings);
    else completeVendor(params, at, anthropicKind, findings);
    return null;
  }
  const vendor = KINDS.find((kind) => kind.prefix(DIALECT) === provider);
  if (vendor !== undefined) {
    completeVendor(params, at, vendor, findings);
    return null;
  }
  const api = Object.hasOwn(COMPATIBLE, provider) ? COMPATIBLE[provider] : undefined;
  if (api === undefined)
    return provider === '' ? 'it has no provider in front' : unsupported({ prefix: provider }, DIALECT).what;
  const upstream = before === provider ? model.slice(slash + 1) : model;
  set(params, 'model', `openai/${upstream}`);
  if (stated !== '') set(params, 'custom_llm_provider', 'openai');
  const message = `openai/${upstream}: requests go to ${provider}'s OpenAI-compatible API as they are, where LiteLLM translates`;
  findings.add(modelNode, [...at, 'model'], 'approximate', message);
  if (baseKey(params) === null) {
    if (api.base === null) return 'it states no api_base';
    add(params, at, 'api_base', api.base, `the address that LiteLLM uses for ${provider}`, findings);
  } else mendBase(params, at, compatKind, findings);
  if (api.key !== null && !hasKey(params))
    add(
      params,
      at,
      'api_key',
      `${ENV_MARKER}${api.key}`,
      `the variable that LiteLLM reads for ${provider}`,
      findings,
    );
  return null;
}

/** Its address is known here as well; the variable of its key is written out, so that `check` asks for it. */
function completeVendor(params: YAMLMap, at: Path, kind: Kind, findings: Findings): void {
  if (baseKey(params) !== null) mendBase(params, at, kind, findings);
  if (kind.name === 'azure' && textAt(params, 'azure_ad_token') !== '') return;
  const [variable] = kind.known.keyVariables;
  const hasCredential = textAt(params, 'litellm_credential_name') !== '';
  if (variable === undefined || !kind.known.needsKey || hasKey(params) || hasCredential) return;
  add(params, at, 'api_key', `${ENV_MARKER}${variable}`, 'the variable that LiteLLM reads', findings);
}

function completeBase(
  params: YAMLMap,
  at: Path,
  provider: 'openai' | 'litellm_proxy',
  findings: Findings,
): void {
  const isProxy = provider === 'litellm_proxy';
  const hasCredential = textAt(params, 'litellm_credential_name') !== '';
  const statesBase = baseKey(params) !== null;
  if (baseKey(params) !== null) mendBase(params, at, isProxy ? proxyKind : compatKind, findings);
  else if (!hasCredential) {
    const base = isProxy ? `${ENV_MARKER}LITELLM_PROXY_API_BASE` : (OPENAI.base ?? '');
    const why = isProxy
      ? 'the variable that LiteLLM reads'
      : 'the address that LiteLLM uses unless OPENAI_BASE_URL or OPENAI_API_BASE says another one';
    add(params, at, 'api_base', base, why, findings);
  }
  if (hasKey(params) || hasCredential) return;
  if (statesBase && !isProxy) {
    const model = params.items.find((pair) => nameOf(pair) === 'model');
    const message = 'no key is sent there; LiteLLM would send OPENAI_API_KEY if that is set';
    findings.add(model, [...at, 'api_key'], 'approximate', message);
    return;
  }
  const key = isProxy ? 'LITELLM_PROXY_API_KEY' : OPENAI.key;
  add(params, at, 'api_key', `${ENV_MARKER}${key ?? ''}`, 'the variable that LiteLLM reads', findings);
}

/** As the kind wants it, where that leads to the same place. */
function mendBase(params: YAMLMap, at: Path, kind: Kind, findings: Findings): void {
  const key = baseKey(params);
  if (key === null) return;
  const text = textAt(params, key);
  if (text.startsWith(ENV_MARKER)) return;
  const check = baseOf(text, kind);
  const pair = params.items.find((one) => nameOf(one) === key);
  const tell = (level: Level, message: string): void => findings.add(pair, [...at, key], level, message);
  if (check.ok) {
    const { pathPrefix, shown } = check.base;
    if (kind === geminiKind && !shown.endsWith(pathPrefix))
      tell(
        'approximate',
        `the proxy calls ${pathPrefix}/models/..., and LiteLLM adds no version to this address`,
      );
    return;
  }
  // A credential or a query is nothing to drop: the loader refuses the entry, and says why.
  if (check.instead === null || holdsMoreThanPath(text)) return;
  // LiteLLM calls it without /v1, so that is where the gateway answers.
  if (kind === compatKind && check.asWritten !== null)
    return tell('exact', 'has no version, and is taken as it is, as LiteLLM does');
  set(params, key, check.instead);
  tell('exact', `${check.instead}: the proxy adds the rest`);
}

function holdsMoreThanPath(text: string): boolean {
  const url = URL.parse(text);
  return /[?#]/.test(text) || (url !== null && `${url.username}${url.password}` !== '');
}

function add(params: YAMLMap, at: Path, key: string, value: string, why: string, findings: Findings): void {
  const model = params.items.find((pair) => nameOf(pair) === 'model');
  const old = params.items.findIndex((pair) => nameOf(pair) === key);
  if (old !== -1) params.items.splice(old, 1);
  params.items.push(new Pair(new Scalar(key), new Scalar(value)));
  findings.add(model, [...at, key], 'exact', `${value}: ${why}; written out`);
}

function set(params: YAMLMap, key: string, value: string): void {
  const pair = params.items.find((one) => nameOf(one) === key);
  if (pair === undefined) return;
  if (isScalar(pair.value)) pair.value.value = value;
  else pair.value = new Scalar(value);
}

const baseKey = (params: YAMLMap): string | null =>
  ['api_base', 'base_url'].find((key) => textAt(params, key) !== '') ?? null;
const hasKey = (params: YAMLMap): boolean =>
  params.items.some((pair: Pair) => nameOf(pair) === 'api_key' && textAt(params, 'api_key') !== '');

function textAt(map: YAMLMap, key: string): string {
  const value = map.get(key, true);
  const plain: unknown = isScalar(value) ? value.value : null;
  return typeof plain === 'string' || typeof plain === 'number' || typeof plain === 'boolean'
    ? String(plain)
    : '';
}
