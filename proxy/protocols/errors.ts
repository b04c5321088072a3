// What a client reads when something went wrong: the JSON body and the last event of a broken stream.
import type { Fault } from '../errors/fault.ts';

/** The wire family of an endpoint: decides the shape of events and of error bodies. */
export type Family = 'chat' | 'completions' | 'responses' | 'messages' | 'other';

function errorObject(fault: Fault): Record<string, string | null> {
  return { message: fault.message, type: fault.type, param: fault.param, code: fault.code };
}

/** `{"error": {"message", "type", "param", "code"}}`; the messages family also wants `"type": "error"` on top. */
export function errorBody(fault: Fault, family: Family): Buffer {
  const error = errorObject(fault);
  return Buffer.from(JSON.stringify(family === 'messages' ? { type: 'error', error } : { error }));
}

/**
 * The event that ends a broken stream. Official SDKs raise on a `data` object with an `error` member (OpenAI) or on
 * `event: error` (Anthropic). It is never followed by `[DONE]`.
 */
export function errorEvent(fault: Fault, family: Family): Buffer {
  const error = errorObject(fault);
  if (family === 'messages')
    return Buffer.from(`event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`);
  if (family === 'responses') {
    const data = { type: 'error', code: fault.code, message: fault.message, param: fault.param, error };
    return Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`);
  }
  return Buffer.from(`data: ${JSON.stringify({ error })}\n\n`);
}
