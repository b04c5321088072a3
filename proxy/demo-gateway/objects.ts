// The answers of the endpoints that never stream here: embeddings, images, audio, moderations, rerank, token counts and
// the model list. Pure; small but true to their formats, so that the official SDKs read them.
import { BEHAVIOURS } from './behaviours.ts';
import type { ModelRequest, Face, Json } from './model-request.ts';
import type { Answer } from './compose.ts';
import { countWords } from './compose.ts';

const DEFAULT_DIMENSIONS = 8;
const MOST_DIMENSIONS = 4_096;
/** A PNG of one transparent pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
/** When the demo models were "made": the constant that the proxy-type dialect lists for every model. */
const MODELS_CREATED_S = 1_677_610_602;

/** The answer of an endpoint that has no text of its own; null for the others. */
export function objectWhole(answer: Answer): Json | null {
  const { request } = answer;
  switch (request.endpoint) {
    case 'embedding':
      return embeddings(answer);
    case 'count_tokens':
      return { input_tokens: answer.counts.prompt };
    case 'input_tokens':
      return { object: 'response.input_tokens', input_tokens: answer.counts.prompt };
    case 'compaction':
      return compaction(answer);
    case 'gemini_count':
      return { totalTokens: answer.counts.prompt };
    case 'image_generation':
    case 'image_edit':
    case 'image_variation':
      return images(answer);
    case 'moderation':
      return moderation(answer);
    case 'rerank':
      return rerank(answer);
    case 'transcription':
    case 'translation':
      return { text: answer.text, ...usageMember(answer, { type: 'tokens', ...imageUsage(answer) }) };
    default:
      return null;
  }
}

function compaction(answer: Answer): Json {
  const { prompt, completion } = answer.counts;
  const id = `cmp_${answer.identity}`;
  return {
    id: `resp_${answer.identity}`,
    object: 'response.compaction',
    created_at: answer.createdS,
    output: [{ type: 'compaction', id, encrypted_content: Buffer.from(answer.text).toString('base64') }],
    ...usageMember(answer, {
      input_tokens: prompt,
      output_tokens: completion,
      total_tokens: prompt + completion,
    }),
  };
}

/** A playable sound that holds every byte value: half a second of saw tooth, WAV, 8 bit, 8 kHz. */
export function speech(): Buffer {
  const samples = Buffer.from(Uint8Array.from({ length: 4_096 }, (_, at) => at % 256));
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

/** The model list; the compat face names models `demo/NAME` and, as its original, has no `object: "list"`. */
export function modelList(face: Face): Json {
  const data = ['model', ...BEHAVIOURS.map(({ name }) => name)].map((name) => {
    const id = face === 'compat' ? `demo/demo-${name}` : `demo-${name}`;
    return modelEntry(id);
  });
  return face === 'compat'
    ? { data, extra_fields: { request_type: 'list_models' } }
    : { data, object: 'list' };
}

/** One entry of the model list; any id is a model here. */
export function modelEntry(id: string): Json {
  return { id, object: 'model', created: MODELS_CREATED_S, owned_by: 'demo' };
}

function usageMember(answer: Answer, usage: Json): Json {
  return answer.hasUsage ? { usage } : {};
}

function countOf(request: ModelRequest, member: string, otherwise: number, most: number): number {
  const count = Number(request.body[member]);
  return Number.isInteger(count) && count > 0 ? Math.min(count, most) : otherwise;
}

function embeddings(answer: Answer): Json {
  const { request } = answer;
  const input = request.body['input'];
  // One string and one list of tokens are one input; a list of either is many.
  const inputs: readonly unknown[] =
    Array.isArray(input) && input.length > 0 && typeof input[0] !== 'number' ? input : [input];
  const dimensions = countOf(request, 'dimensions', DEFAULT_DIMENSIONS, MOST_DIMENSIONS);
  const data = inputs.map((item, index) => {
    const seed = countWords(item) + index + 1;
    const vector = Float32Array.from({ length: dimensions }, (_, at) => Math.sin(seed * (at + 1)));
    const embedding =
      request.body['encoding_format'] === 'base64'
        ? Buffer.from(vector.buffer).toString('base64')
        : Array.from(vector);
    return { object: 'embedding', index, embedding };
  });
  const { prompt } = answer.counts;
  const usage = { prompt_tokens: prompt, total_tokens: prompt };
  return { object: 'list', data, model: request.model, ...usageMember(answer, usage) };
}

function images(answer: Answer): Json {
  const count = countOf(answer.request, 'n', 1, 10);
  const data = Array.from({ length: count }, () => ({ b64_json: PIXEL, revised_prompt: answer.text }));
  return { created: answer.createdS, data, ...usageMember(answer, imageUsage(answer)) };
}

function imageUsage({ counts: { prompt, completion } }: Answer): Json {
  return {
    input_tokens: prompt,
    input_token_details: { text_tokens: prompt, audio_tokens: 0 },
    input_tokens_details: { text_tokens: prompt, image_tokens: 0 },
    output_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function moderation(answer: Answer): Json {
  const names = ['harassment', 'hate', 'illicit', 'self-harm', 'sexual', 'violence'];
  const input = answer.request.body['input'];
  const result = {
    flagged: false,
    categories: Object.fromEntries(names.map((name) => [name, false])),
    category_scores: Object.fromEntries(names.map((name) => [name, 0.001])),
  };
  const results = (Array.isArray(input) ? input : [input]).map(() => result);
  return { id: `modr-${answer.identity}`, model: answer.request.model, results };
}

function rerank(answer: Answer): Json {
  const { body } = answer.request;
  const documents: readonly unknown[] = Array.isArray(body['documents']) ? body['documents'] : [];
  const count = countOf(answer.request, 'top_n', documents.length, documents.length);
  const results = documents.slice(0, count).map((document, index) => ({
    index,
    relevance_score: 1 / (index + 1),
    ...(body['return_documents'] === true
      ? { document: typeof document === 'string' ? { text: document } : document }
      : {}),
  }));
  const tokens = { input_tokens: answer.counts.prompt, output_tokens: 0 };
  return {
    id: `rerank-${answer.identity}`,
    results,
    meta: { billed_units: { search_units: 1 }, ...(answer.hasUsage ? { tokens } : {}) },
  };
}
