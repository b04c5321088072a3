// The reply to a request, decided before a byte is sent: status, headers, body or frames, in the formats of the two
// interfaces. Pure. Never repeats a key that it was sent.
import type { ModelRequest, Face, Json } from './model-request.ts';
import { chatEvents, chatWhole, completionEvents, completionWhole } from './chat.ts';
import type { Answer } from './compose.ts';
import { geminiEvents, geminiWhole } from './gemini.ts';
import { messageEvents, messageWhole } from './messages.ts';
import { objectWhole, speech } from './objects.ts';
import { responseEvents, responseQueued, responseWhole } from './responses.ts';
import type { StreamEvent } from './stream.ts';
import { extraFields, framesOf } from './stream.ts';

/** What is to be sent. */
export interface Reply {
  readonly status: number;
  /** Name, value, name, value: names in the spelling and order of the wire. */
  readonly headers: readonly string[];
  /** An array is an event stream, one entry per frame. */
  readonly body: string | Buffer | readonly string[];
}

/** An error as the two faces word it. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly param?: string;
  readonly headers?: readonly string[];
}

const JSON_TYPE = ['content-type', 'application/json'] as const;
const COST = 'x-litellm-response-cost';
const MODEL_ID = 'x-litellm-model-id';

/** An error reply; `request` is null when the request could not be read. */
export function refusalReply(face: Face, refusal: Refusal, request: ModelRequest | null): Reply {
  const { status, message, type, param } = refusal;
  const about = request === null ? { extra_fields: {} } : extraFields(request.endpoint, request.model);
  if (request?.endpoint === 'gemini') {
    const error = { code: status, message, status: type.toUpperCase() };
    return { status, headers: [...JSON_TYPE, ...(refusal.headers ?? [])], body: JSON.stringify({ error }) };
  }
  const body =
    face === 'proxy'
      ? JSON.stringify({ error: { message, type, param: param ?? null, code: String(status) } })
      : `${JSON.stringify({ is_bifrost_error: false, status_code: status, error: { type, message, param }, ...about })}\n`;
  return { status, headers: [...JSON_TYPE, ...(refusal.headers ?? [])], body };
}

/** What the compat face says to a model name without a provider: the words and bytes of Bifrost 1.4. */
export function bareNameReply(): Reply {
  const message = 'model should be in provider/model format';
  const body = { is_bifrost_error: false, status_code: 400, error: { message }, extra_fields: {} };
  return { status: 400, headers: JSON_TYPE, body: `${JSON.stringify(body)}\n` };
}

/** The reply of a behaviour that refuses; null when the call gets a good reply. */
export function behaviourRefusal(
  request: ModelRequest,
  promptTokens: number,
  elsewhere: string,
): Reply | null {
  const { behaviours, face } = request;
  if (behaviours.has('502-html')) {
    const body =
      '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n';
    return { status: 502, headers: ['content-type', 'text/html'], body };
  }
  if (behaviours.has('redirect')) return { status: 307, headers: ['location', elsewhere], body: '' };
  const refusal = refusalOf(request, promptTokens);
  return refusal === null ? null : refusalReply(face, refusal, request);
}

function refusalOf({ behaviours, model }: ModelRequest, promptTokens: number): Refusal | null {
  if (behaviours.has('refuse-401')) return unknownKey();
  if (behaviours.has('refuse-400')) {
    const message = "Invalid value for 'temperature': expected a number between 0 and 2";
    return { status: 400, message, type: 'invalid_request_error', param: 'temperature' };
  }
  if (behaviours.has('context')) {
    const message = `This model's maximum context length is 8192 tokens. However, your messages resulted in ${promptTokens + 8192} tokens. Please reduce the length of the messages.`;
    return { status: 400, message, type: 'invalid_request_error', param: 'messages' };
  }
  if (behaviours.has('404')) {
    const message = `The model \`${model}\` does not exist or you do not have access to it.`;
    return { status: 404, message, type: 'invalid_request_error', param: 'model' };
  }
  if (behaviours.has('429')) {
    const message = `Rate limit reached for ${model}. Please try again in 7s.`;
    return { status: 429, message, type: 'throttling_error', headers: ['retry-after', '7'] };
  }
  if (behaviours.has('500')) {
    return { status: 500, message: 'The provider met an error of its own', type: 'internal_server_error' };
  }
  if (behaviours.has('503')) {
    return { status: 503, message: 'The provider is overloaded', type: 'service_unavailable' };
  }
  return null;
}

/** What a key gets that is not among the accepted ones. */
export function unknownKey(): Refusal {
  const message =
    'Authentication Error, Invalid proxy server token passed. Unable to find token in cache or `LiteLLM_VerificationTokenTable`';
  return { status: 401, message, type: 'token_not_found_in_db', param: 'key' };
}

/** The good reply, whole or streamed. */
export function answerReply(answer: Answer, echo: () => string): Reply {
  const { request } = answer;
  if (request.stream) {
    const headers = [
      'content-type',
      'text/event-stream; charset=utf-8',
      'cache-control',
      'no-cache',
      ...ownHeaders(answer),
    ];
    return { status: 200, headers, body: framesOf(answer, eventsOf(answer)) };
  }
  const isEcho = request.behaviours.has('echo');
  if (request.endpoint === 'speech' && !isEcho) {
    return { status: 200, headers: ['content-type', 'audio/wav', ...ownHeaders(answer)], body: speech() };
  }
  if (request.endpoint === 'speech') {
    return { status: 200, headers: [...JSON_TYPE, ...ownHeaders(answer)], body: echo() };
  }
  if (
    request.body['response_format'] === 'text' &&
    (request.endpoint === 'transcription' || request.endpoint === 'translation')
  ) {
    const headers = ['content-type', 'text/plain; charset=utf-8', ...ownHeaders(answer)];
    return { status: 200, headers, body: answer.text };
  }
  const extra = request.face === 'compat' ? extraFields(request.endpoint, request.model) : {};
  return {
    status: 200,
    headers: [...JSON_TYPE, ...ownHeaders(answer)],
    body: JSON.stringify({ ...wholeOf(answer, isEcho ? echo : null), ...extra }),
  };
}

function wholeOf(answer: Answer, echo: (() => string) | null): Json {
  switch (answer.request.endpoint) {
    case 'chat_completion':
      return chatWhole(answer);
    case 'text_completion':
      return completionWhole(answer);
    case 'responses':
      return answer.request.body['background'] === true ? responseQueued(answer) : responseWhole(answer);
    case 'messages':
      return messageWhole(answer);
    case 'gemini':
      return geminiWhole(answer);
    default:
      // Objects without a text of their own carry the echo beside their members.
      return { ...objectWhole(answer), ...(echo === null ? {} : { demo_echo: echo() }) };
  }
}

function eventsOf(answer: Answer): readonly StreamEvent[] {
  switch (answer.request.endpoint) {
    case 'responses':
      return responseEvents(answer);
    case 'messages':
      return messageEvents(answer);
    case 'gemini':
      return geminiEvents(answer);
    case 'text_completion':
      return completionEvents(answer);
    default:
      return chatEvents(answer);
  }
}

function ownHeaders({ request, identity, counts }: Answer): readonly string[] {
  const { behaviours } = request;
  const headers: string[] = [];
  const isProxy = request.face === 'proxy';
  if (isProxy) headers.push('x-litellm-call-id', `demo-call-${identity}`, MODEL_ID, 'demo-deployment');
  if (behaviours.has('cost')) headers.push(COST, '0.00125');
  else if (behaviours.has('cost-none')) headers.push(COST, 'None');
  else if (isProxy && !request.stream && !behaviours.has('no-cost')) {
    // 1 USD per million words in, 2 out: a millionth is the last digit, so the text never has an exponent.
    headers.push(COST, String((counts.prompt + 2 * counts.completion) / 1_000_000));
  }
  if (behaviours.has('many-headers')) {
    if (!isProxy) headers.push(MODEL_ID, 'demo-deployment');
    headers.push(...MANY_HEADERS);
  }
  return headers;
}

const MANY_HEADERS = [
  'Connection',
  'keep-alive, x-foo',
  'x-foo',
  '1',
  'Keep-Alive',
  'timeout=60',
  'Proxy-Connection',
  'keep-alive',
  'Proxy-Authenticate',
  'Basic realm="demo"',
  'TE',
  'trailers',
  'set-cookie',
  'first=1; Path=/',
  'set-cookie',
  'second=2; Path=/',
  'x-ratelimit-remaining-requests',
  '99',
  'x-request-id',
  'demo-request',
  'x-upstream-note',
  'kept',
] as const;
