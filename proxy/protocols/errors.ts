// Errors in the formats of the OpenAI and Anthropic SDKs: as the body of a response, and as the last event of a broken
// stream. That event is never followed by `[DONE]`.
import { Buffer } from 'node:buffer';
import type { Fault } from '../errors/fault.ts';
import { asObject } from '../bodies/json.ts';
import type { ErrorShape } from './protocol.ts';

/** Whether an `error` member states an error: responses that are whole may carry one that is null or empty. */
export function isError(error: unknown): boolean {
  const object = asObject(error);
  return object === null ? typeof error === 'string' && error !== '' : Object.keys(object).length > 0;
}

/** `message`, `type`, `param` and `code`: what both vendors' SDKs show. */
export function errorObject(fault: Fault): Readonly<Record<string, string | null>> {
  return { message: fault.message, type: fault.type, param: fault.param, code: fault.code };
}

/** An event with a name. */
export function namedError(data: object): Buffer {
  return Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`);
}

/** OpenAI's format, also used outside LLM endpoints. Its SDKs raise on an event with an `error` member. */
export const OPENAI_ERRORS: ErrorShape = {
  body: (fault) => Buffer.from(JSON.stringify({ error: errorObject(fault) })),
  event: (fault) => Buffer.from(`data: ${JSON.stringify({ error: errorObject(fault) })}\n\n`),
};
