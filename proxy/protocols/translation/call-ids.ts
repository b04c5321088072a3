// Ids of tool calls in the form that an upstream takes. The same id always becomes the same one, so that a call and its result
// still belong together.
import { digest } from './tool-names.ts';

/** OpenAI's limit for `call_id`. */
const LONGEST = 64;
const MISTRAL_CHARS = 9;
const MISTRAL = /^[a-zA-Z0-9]{9}$/;
const FOREIGN = /[^a-zA-Z0-9_-]/g;
/** Mistral's servers take nine letters and digits, nothing else (docs.mistral.ai, function calling). */
const MISTRAL_MODEL = /(?:^|\/)(?:open-)?(?:mistral|ministral|codestral|devstral|magistral|pixtral)/i;

/** For OpenAI's protocols, and servers that speak them. */
export function openAiCallId(id: string, model: string): string {
  if (MISTRAL_MODEL.test(model)) return MISTRAL.test(id) ? id : digest(id, MISTRAL_CHARS);
  return id.length <= LONGEST ? id : `call_${digest(id, 40)}`;
}

/** For Anthropic's: letters, digits, `_` and `-`. */
export function anthropicCallId(id: string): string {
  return id === '' ? 'call' : id.replace(FOREIGN, '_');
}

/** For a call that its upstream gave no id: `index` counts the calls of the answer. */
export function inventedCallId(answerId: string | null, name: string, index: number): string {
  const seed = answerId ?? String(Math.random());
  return `call_${digest(`${seed}/${index}/${name}`, 28)}`;
}
