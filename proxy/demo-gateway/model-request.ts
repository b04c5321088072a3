// Reads a request to the demo gateway: interface, endpoint, model and behaviours. Pure. Strict on purpose: a path that a
// real gateway would not serve (`/v1/v1/...`, `/compat/chat/completions`) is not served here, so that a proxy's wrong path
// shows.
import { behavioursOf } from './behaviours.ts';
import type { BehaviourName } from './behaviours.ts';

/** `proxy`: speaks like LiteLLM, at `/`, `/v1` and `/proxy/v1`. `compat`: like Bifrost 1.4, at `/compat/v1`. */
export type Face = 'proxy' | 'compat';

export type Json = Readonly<Record<string, unknown>>;

const POST_ENDPOINTS = {
  'chat/completions': 'chat_completion',
  completions: 'text_completion',
  embeddings: 'embedding',
  responses: 'responses',
  messages: 'messages',
  'messages/count_tokens': 'count_tokens',
  'responses/input_tokens': 'input_tokens',
  'responses/compact': 'compaction',
  'images/generations': 'image_generation',
  'images/edits': 'image_edit',
  'images/variations': 'image_variation',
  'audio/speech': 'speech',
  'audio/transcriptions': 'transcription',
  'audio/translations': 'translation',
  moderations: 'moderation',
  rerank: 'rerank',
} as const;

/** Gemini's endpoints name the model in their path, and say there whether the answer streams. */
const MODEL_ACTIONS = {
  generateContent: 'gemini',
  streamGenerateContent: 'gemini',
  countTokens: 'gemini_count',
} as const;
const MODEL_PATH = /^\/(?:v1beta|v1)\/models\/([^:?]+):([a-zA-Z]+)$/;

/** The endpoints that name a model, by their names in the compat face's `extra_fields.request_type`. */
export type Endpoint =
  (typeof POST_ENDPOINTS)[keyof typeof POST_ENDPOINTS] | (typeof MODEL_ACTIONS)[keyof typeof MODEL_ACTIONS];

/** What the path of a Gemini call says. */
interface ModelInPath {
  readonly model: string;
  readonly stream: boolean;
}

/** Where a request goes. */
export type Destination =
  | { readonly to: 'model'; readonly endpoint: Endpoint; readonly inPath?: ModelInPath }
  | { readonly to: 'models'; readonly id: string | null }
  | { readonly to: 'stored'; readonly id: string; readonly act: 'get' | 'delete' | 'cancel' | 'input_items' }
  | { readonly to: 'nowhere'; readonly status: 404 | 405 };

/** The interface that a raw request target belongs to. */
export function faceOf(target: string): Face {
  return target.startsWith('/compat/') ? 'compat' : 'proxy';
}

/** Finds the endpoint of a method and a raw request target (query allowed). */
export function destinationOf(method: string, target: string): Destination {
  const query = target.indexOf('?');
  let path = query < 0 ? target : target.slice(0, query);
  const [, model, action = ''] = MODEL_PATH.exec(path.replace(/^\/(?:proxy|compat)(?=\/)/, '')) ?? [];
  if (model !== undefined && Object.hasOwn(MODEL_ACTIONS, action)) {
    if (method !== 'POST') return { to: 'nowhere', status: 405 };
    const inPath = { model: decoded(model), stream: action === 'streamGenerateContent' };
    return { to: 'model', endpoint: MODEL_ACTIONS[action as keyof typeof MODEL_ACTIONS], inPath };
  }
  if (path.startsWith('/compat/')) {
    if (!path.startsWith('/compat/v1/')) return { to: 'nowhere', status: 404 };
    path = path.slice('/compat'.length);
  } else if (path.startsWith('/proxy/')) path = path.slice('/proxy'.length);
  const rest = path.startsWith('/v1/') ? path.slice('/v1/'.length) : path.slice(1);

  if (Object.hasOwn(POST_ENDPOINTS, rest)) {
    if (method !== 'POST') return { to: 'nowhere', status: 405 };
    return { to: 'model', endpoint: POST_ENDPOINTS[rest as keyof typeof POST_ENDPOINTS] };
  }
  if (rest === 'models' || rest.startsWith('models/')) {
    if (method !== 'GET') return { to: 'nowhere', status: 405 };
    return { to: 'models', id: rest === 'models' ? null : decoded(rest.slice('models/'.length)) };
  }
  const [family, id, act, ...more] = rest.split('/');
  if (family !== 'responses' || id === undefined || id === '' || more.length > 0) {
    return { to: 'nowhere', status: 404 };
  }
  if (act === undefined && method === 'GET') return { to: 'stored', id, act: 'get' };
  if (act === undefined && method === 'DELETE') return { to: 'stored', id, act: 'delete' };
  if (act === 'cancel' && method === 'POST') return { to: 'stored', id, act };
  if (act === 'input_items' && method === 'GET') return { to: 'stored', id, act };
  return {
    to: 'nowhere',
    status: act === undefined || act === 'cancel' || act === 'input_items' ? 405 : 404,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A parsed model call. */
export interface ModelRequest {
  readonly face: Face;
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly behaviours: ReadonlySet<BehaviourName>;
  readonly stream: boolean;
  /** `stream_options.include_usage`. */
  readonly includeUsage: boolean;
  /** The JSON body, or the text fields of a multipart one. */
  readonly body: Json;
}

const STREAMABLE: readonly Endpoint[] = ['chat_completion', 'text_completion', 'responses', 'messages'];

/** Reads a model call; a string says why it cannot be read. */
export function readModelRequest(
  face: Face,
  endpoint: Endpoint,
  contentType: string,
  bytes: Buffer,
  inPath?: ModelInPath,
): ModelRequest | string {
  const body = contentType.startsWith('multipart/form-data')
    ? multipartFields(contentType, bytes)
    : jsonObject(bytes);
  if (typeof body === 'string') return body;
  const model = inPath?.model ?? body['model'];
  if (typeof model !== 'string' || model === '') return 'model is required: name one in the member "model"';
  const options = body['stream_options'];
  return {
    face,
    endpoint,
    model,
    behaviours: behavioursOf(model),
    stream: inPath?.stream ?? (body['stream'] === true && STREAMABLE.includes(endpoint)),
    includeUsage: isJson(options) && options['include_usage'] === true,
    body,
  };
}

/** Whether a value is a JSON object (not null, not an array). */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function jsonObject(bytes: Buffer): Json | string {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isJson(value) ? value : 'the body is JSON but not an object';
  } catch (error) {
    return `the body is not JSON: ${error instanceof Error ? error.message : 'unreadable'}`;
  }
}

// RFC 7578: only text fields are read, because no reply here depends on what a file holds.
function multipartFields(contentType: string, bytes: Buffer): Json | string {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  if (boundary === null) return 'multipart/form-data without a boundary in content-type';
  const fields: Record<string, string> = {};
  for (const part of bytes.toString('latin1').split(`--${boundary[1] ?? boundary[2] ?? ''}`)) {
    const headEnd = part.indexOf('\r\n\r\n');
    if (headEnd < 0) continue;
    const head = part.slice(0, headEnd);
    const name = /;\s*name="([^"]*)"/i.exec(head)?.[1];
    if (name === undefined || /;\s*filename/i.test(head)) continue;
    fields[name] = Buffer.from(part.slice(headEnd + 4, -2), 'latin1').toString('utf8');
  }
  return fields;
}
