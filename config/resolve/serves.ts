// Which protocols the gateway of an entry speaks: what the entry states (`supported_endpoints`), else what its kind of upstream
// is known for. Names of protocols, as in proxy/protocols/. Pure.
import type { Diagnostics } from '../diagnostics.ts';
import type { ModelEntry } from '../gateway-file.ts';
import { nearest } from '../nearest.ts';
import { shownName } from '../shown.ts';
import type { Path } from '../tree.ts';

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

/** null = not stated. @param known of the kind of upstream */
export function servesOf(
  { litellm_params: params, model_info: info }: ModelEntry,
  known: ReadonlySet<string> | null,
  path: Path,
  diagnostics: Diagnostics,
): ReadonlySet<string> | null {
  const own = params.supported_endpoints;
  const stated = own ?? info?.supported_endpoints;
  if (stated === undefined) return known;
  const holder = own === undefined ? 'model_info' : 'litellm_params';
  const at = [...path, holder, 'supported_endpoints'];
  const names = stated.map((text, index) => protocolOf(text, [...at, index], diagnostics));
  // A list of embeddings, batches and the like says nothing about what is translated.
  return names.some((name) => TRANSLATED.has(name)) ? new Set(names) : known;
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
