// The response object and its items, as the SDKs of responses expect them: empty lists and texts are written, never left out.
import type { Json } from '../../../bodies/json.ts';
import type { Tokens } from '../../usage.ts';
import { openAiError } from '../failures.ts';
import type { AnswerError, AnswerPart, CallPart, End, Signature } from '../form.ts';
import { showSignature, showTextless } from '../signatures.ts';
import { writeResponsesUsage } from '../tokens.ts';
import { digest } from '../tool-names.ts';

/** What stays the same from the first event to the last. */
export interface Identity {
  readonly id: string;
  readonly createdAt: number;
  readonly model: string;
}

export function identityOf(id: string | null, model: string): Identity {
  const known = id ?? crypto.randomUUID().replaceAll('-', '');
  return {
    id: known.startsWith('resp_') ? known : `resp_${known}`,
    createdAt: Math.floor(Date.now() / 1000),
    model,
  };
}

export type ResponseState =
  | { readonly status: 'in_progress' }
  | { readonly status: 'failed'; readonly error: AnswerError }
  | { readonly status: 'ended'; readonly end: End; readonly tokens: Tokens };

export function responseObject(identity: Identity, output: readonly Json[], state: ResponseState): Json {
  const reason = state.status === 'ended' ? incompleteReason(state.end) : null;
  return {
    id: identity.id,
    object: 'response',
    created_at: identity.createdAt,
    status: statusOf(state, reason),
    background: false,
    error: state.status === 'failed' ? writeFailure(state.error) : null,
    incomplete_details: reason === null ? null : { reason },
    instructions: null,
    max_output_tokens: null,
    model: identity.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: state.status === 'ended' ? writeResponsesUsage(state.tokens) : null,
    user: null,
    metadata: {},
  };
}

function statusOf(state: ResponseState, reason: string | null): string {
  if (state.status !== 'ended') return state.status;
  return reason === null ? 'completed' : 'incomplete';
}

function incompleteReason({ reason }: End): string | null {
  switch (reason) {
    case 'length':
    case 'context':
      return 'max_output_tokens';
    case 'filter':
      return 'content_filter';
    case 'stop':
    case 'stop_sequence':
    case 'tool':
    case 'pause':
      return null;
  }
}

/** Words that Codex acts on. */
const CODES: ReadonlyMap<string, string> = new Map([
  ['overloaded_error', 'server_is_overloaded'],
  ['rate_limit_error', 'rate_limit_exceeded'],
]);

function writeFailure(error: AnswerError): Json {
  const { message, type, code } = openAiError(error, null);
  return { code: CODES.get(type ?? '') ?? code ?? 'server_error', message };
}

/** The id of the item at a place of the output. */
export function itemId(identity: Identity, prefix: string, index: number): string {
  return `${prefix}_${digest(identity.id, 24)}${index}`;
}

export function contentItem(part: 'text' | 'refusal', text: string): Json {
  return part === 'refusal'
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] };
}

export function messageItem(id: string, status: string, content: readonly Json[]): Json {
  return { id, type: 'message', status, role: 'assistant', content };
}

export function reasoningItem(id: string, text: string, signature: Signature | null): Json {
  const show = text === '' ? showTextless : showSignature;
  return {
    id,
    type: 'reasoning',
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    ...(signature === null ? {} : { encrypted_content: show(signature, 'responses') }),
  };
}

export function callItem(id: string, status: string, call: Omit<CallPart, 'input'>, input: string): Json {
  const { id: callId, name, namespace, form } = call;
  const common = { call_id: callId, name, ...(namespace === null ? {} : { namespace }) };
  return form === 'text'
    ? { id, type: 'custom_tool_call', status, ...common, input }
    : { id, type: 'function_call', status, ...common, arguments: input };
}

export function callPrefix({ form }: Pick<CallPart, 'form'>): string {
  return form === 'text' ? 'ctc' : 'fc';
}

/** Whether a reasoning part has text or encrypted content. */
export function hasContent(text: string, signature: Signature | null): boolean {
  return text !== '' || (signature !== null && signature.data !== '');
}

/** A part of a whole answer as an item; null where it says nothing. */
export function writeItem(part: AnswerPart, identity: Identity, index: number): Json | null {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      if (part.text === '') return null;
      return messageItem(itemId(identity, 'msg', index), 'completed', [contentItem(part.kind, part.text)]);
    case 'thinking':
      return hasContent(part.text, part.signature)
        ? reasoningItem(itemId(identity, 'rs', index), part.text, part.signature)
        : null;
    case 'call': {
      const input = part.form === 'json' && part.input === '' ? '{}' : part.input;
      return callItem(itemId(identity, callPrefix(part), index), 'completed', part, input);
    }
  }
}
