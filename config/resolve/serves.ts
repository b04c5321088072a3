// Which protocols the gateway of an entry speaks: what the entry states (`supported_endpoints`), else responses alone where its
// model is asked for so, else what its kind of upstream is known for. Names of protocols, as in proxy/protocols/. Pure.
import { baseModelOf } from '../catalogue-name.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { ModelEntry } from '../gateway-file.ts';
import { nearest } from '../nearest.ts';
import { shownName } from '../shown.ts';
import type { Deployment } from '../snapshot.ts';
import type { Path } from '../tree.ts';
import type { KnownName } from './entry.ts';
import { maySpeakResponses } from './kinds/table.ts';

/** Protocols between which calls are translated, by their endpoints as the dialect writes them, without version and slashes. */
const BY_ENDPOINT: ReadonlyMap<string, string> = new Map([
  ['chat/completions', 'chat'],
  ['chat', 'chat'],
  ['responses', 'responses'],
  ['messages', 'messages'],
  ['generatecontent', 'gemini'],
  ['gemini', 'gemini'],
]);

const TRANSLATED: ReadonlySet<string> = new Set(BY_ENDPOINT.values());

/** The mode of models that no other API has, in `model_info` and in the catalogue. */
const RESPONSES = 'responses';

type Serves = Pick<Deployment, 'serves' | 'servesInResponsesMode'>;

/** @param mode of the model by the catalogue; undefined = not known, or each call has its own model */
export function servesOf(
  entry: ModelEntry,
  { kind, upstream, byResponses }: KnownName,
  mode: string | undefined,
  path: Path,
  diagnostics: Diagnostics,
): Serves {
  const stated = statedBy(entry, path, diagnostics);
  if (stated !== null) return { serves: stated, servesInResponsesMode: null };
  const { serves } = kind;
  if (!maySpeakResponses(kind)) return { serves, servesInResponsesMode: null };
  const others = Array.from(serves ?? []).filter((name) => !TRANSLATED.has(name));
  const inResponsesMode = new Set([RESPONSES, ...others]);
  // As LiteLLM (responses/bridge_check.py): `mode: chat` says nothing against a model that has no chat completions.
  if (byResponses || entry.model_info?.['mode'] === RESPONSES || mode === RESPONSES)
    return { serves: inResponsesMode, servesInResponsesMode: null };
  const isPerCall = upstream.includes('*') && baseModelOf(entry) === undefined;
  return { serves, servesInResponsesMode: isPerCall ? inResponsesMode : null };
}

/** Whether calls that are translated go to responses, and none elsewhere. */
export const isByResponsesAlone = ({ serves }: Serves): boolean =>
  serves !== null &&
  Array.from(serves).every((name) => name === RESPONSES || !TRANSLATED.has(name)) &&
  serves.has(RESPONSES);

/** The same for a call: below a wildcard each model has its mode. @param mode asked for only where it matters */
export function servesFor(
  { serves, servesInResponsesMode }: Serves,
  mode: () => string | undefined,
): ReadonlySet<string> | null {
  return servesInResponsesMode !== null && mode() === RESPONSES ? servesInResponsesMode : serves;
}

/** null = not stated. */
function statedBy(
  { litellm_params: params, model_info: info }: ModelEntry,
  path: Path,
  diagnostics: Diagnostics,
): ReadonlySet<string> | null {
  const own = params.supported_endpoints;
  const stated = own ?? info?.supported_endpoints;
  if (stated === undefined) return null;
  const holder = own === undefined ? 'model_info' : 'litellm_params';
  const at = [...path, holder, 'supported_endpoints'];
  const names = stated.map((text, index) => protocolOf(text, [...at, index], diagnostics));
  // A list of embeddings, batches and the like says nothing about what is translated.
  return names.some((name) => TRANSLATED.has(name)) ? new Set(names) : null;
}

/** `/v1/messages`, `messages` and `/v1beta/models/{model}:generateContent` are ways to write it. Others stay as they are. */
function protocolOf(text: string, path: Path, diagnostics: Diagnostics): string {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/^\/*(?:v1(?:beta|alpha)?\/+)?/, '')
    .replace(/^models\/.*:(?:stream)?generatecontent$/, 'generatecontent')
    .replace(/\/+$/, '');
  const known = BY_ENDPOINT.get(plain);
  if (known !== undefined) return known;
  const near = nearest(plain, BY_ENDPOINT.keys());
  if (near !== null)
    diagnostics.warn(path, `${shownName(text)} is no endpoint known here`, `did you mean ${near}?`);
  return plain;
}
