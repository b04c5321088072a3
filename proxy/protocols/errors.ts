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

/** Types that only this proxy has. */
const OWN_TYPES: ReadonlySet<string> = new Set(['upstream_error', 'proxy_error']);

/** A vendor's word for a server that failed. */
type ServerFailed = 'server_error' | 'api_error';

/**
 * The `type` of an error in a stream. There is no status beside it, so agents tell by it whether to send the turn again, and
 * know the words of the vendors alone.
 */
export const eventType = (type: string, failed: ServerFailed): string =>
  OWN_TYPES.has(type) ? failed : type;

/** `errorObject` as the last event of a stream. */
export function eventError(fault: Fault, failed: ServerFailed): ReturnType<typeof errorObject> {
  return { ...errorObject(fault), type: eventType(fault.type, failed) };
}

/** An event with a name. */
export function namedError(data: object): Buffer {
  return Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`);
}

/** OpenAI's format, also used outside LLM endpoints. Its SDKs raise on an event with an `error` member. */
export const OPENAI_ERRORS: ErrorShape = {
  body: (fault) => Buffer.from(JSON.stringify({ error: errorObject(fault) })),
  event: (fault) => Buffer.from(`data: ${JSON.stringify({ error: eventError(fault, 'server_error') })}\n\n`),
};
