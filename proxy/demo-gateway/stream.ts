// Turns the events of an answer into the frames of an event stream, with what a behaviour breaks on purpose. Pure; the
// clocks and the ways a connection ends stand in deliver.ts.
import type { Json } from './model-request.ts';
import type { Answer } from './compose.ts';

/** One event before it becomes bytes. */
export interface StreamEvent {
  /** Where the event stands: a stream may lose its `done`, or everything from `finish` on. */
  readonly stage: 'open' | 'delta' | 'finish' | 'usage' | 'done';
  /** The `event:` line; null = none, as in chat streams. */
  readonly name: string | null;
  /** A string is sent as it is. */
  readonly data: Json | string;
}

/** The frames of a stream, each with its blank line, in the order of sending. */
export function framesOf(answer: Answer, events: readonly StreamEvent[]): readonly string[] {
  const { behaviours, endpoint, face, model } = answer.request;
  const extra = (at: number): Json => (face === 'compat' ? extraFields(endpoint, model, at) : {});
  let frames = events.map((event, at) => frameOf(event, extra(at)));
  const middle = middleOf(events);

  if (behaviours.has('cut-clean')) frames = frames.slice(0, middle);
  else if (behaviours.has('error-event'))
    frames = [...frames.slice(0, middle), ...errorFrames(answer, middle)];
  else if (behaviours.has('no-done')) frames = frames.filter((_, at) => events[at]?.stage !== 'done');
  if (behaviours.has('malformed'))
    frames.splice(middle, 0, malformedFrame(frames[middle - 1] ?? 'data: {}\n\n'));
  if (behaviours.has('pings')) frames = frames.flatMap((frame) => [': ping\n\n', frame]);
  if (behaviours.has('crlf')) frames = frames.map((frame) => frame.replaceAll('\n', '\r\n'));
  return frames;
}

/** What the compat-type gateway adds to each object that it answers. */
export function extraFields(requestType: string, model: string, chunkIndex?: number): Json {
  const slash = model.indexOf('/');
  const suffix = chunkIndex === undefined ? '' : '_stream';
  return {
    extra_fields: {
      request_type: `${requestType}${suffix}`,
      provider: slash < 0 ? '' : model.slice(0, slash),
      model_requested: model,
      latency: 1,
      ...(chunkIndex === undefined ? {} : { chunk_index: chunkIndex }),
    },
  };
}

function frameOf({ name, data }: StreamEvent, extra: Json): string {
  const line = name === null ? '' : `event: ${name}\n`;
  return `${line}data: ${typeof data === 'string' ? data : JSON.stringify({ ...data, ...extra })}\n\n`;
}

/** Behind the first half of the deltas: there is text before and text missing. */
function middleOf(events: readonly StreamEvent[]): number {
  const first = events.findIndex(({ stage }) => stage === 'delta');
  const count = events.filter(({ stage }) => stage === 'delta').length;
  return Math.max(first, 0) + Math.max(1, Math.floor(count / 2));
}

function malformedFrame(like: string): string {
  const text = like.trimEnd();
  return `${text.slice(0, text.indexOf('data: ') + 6 + Math.floor((text.length - text.indexOf('data: ')) / 2))}\n\n`;
}

function errorFrames({ request }: Answer, sequence: number): readonly string[] {
  const message = 'The provider failed in the middle of the answer';
  if (request.endpoint === 'messages') {
    const data = { type: 'error', error: { type: 'overloaded_error', message } };
    return [frameOf({ stage: 'finish', name: 'error', data }, {})];
  }
  if (request.endpoint === 'responses') {
    const data = { type: 'error', code: 'server_error', message, param: null, sequence_number: sequence };
    return [frameOf({ stage: 'finish', name: 'error', data }, {})];
  }
  if (request.endpoint === 'gemini') {
    const data = { error: { code: 503, message, status: 'UNAVAILABLE' } };
    return [frameOf({ stage: 'finish', name: null, data }, {})];
  }
  if (request.face === 'proxy') {
    const data = { error: { message, type: 'internal_server_error', param: null, code: '500' } };
    return [frameOf({ stage: 'finish', name: null, data }, {})];
  }
  // Bifrost ends a failed stream with [DONE] all the same.
  const error = { is_bifrost_error: false, status_code: 500, error: { type: 'server_error', message } };
  const data = { ...error, ...extraFields(request.endpoint, request.model, sequence) };
  return [frameOf({ stage: 'finish', name: null, data }, {}), 'data: [DONE]\n\n'];
}
