// The errors that chaos answers with in place of a gateway: what vendors and gateways say, in the shape of the protocol.
import { Buffer } from 'node:buffer';
import { asObject, parseObject } from '../bodies/json.ts';
import { Fault } from '../errors/fault.ts';
import type { ErrorShape } from '../protocols/protocol.ts';

interface ErrorWords {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
}

const words = (
  message: string,
  type: string,
  code: string | null,
  param: string | null = null,
): ErrorWords => ({
  message: `${message} (chaos)`,
  type,
  code,
  param,
});

const ANSWERS: Readonly<Record<number, ErrorWords>> = {
  400: words(
    "prompt is too long: This model's maximum context length is 8192 tokens, however the messages resulted in 9000 tokens. Please reduce the length of the messages.",
    'invalid_request_error',
    'context_length_exceeded',
    'messages',
  ),
  401: words('Incorrect API key provided.', 'authentication_error', 'invalid_api_key'),
  403: words('The key may not call this model.', 'permission_error', 'permission_denied'),
  404: words('The model does not exist.', 'not_found_error', 'model_not_found', 'model'),
  429: words('Rate limit reached. Please try again later.', 'rate_limit_error', 'rate_limit_exceeded'),
  500: words('The server had an error while processing your request.', 'api_error', null),
  502: words('Bad gateway.', 'api_error', null),
  503: words('The service is unavailable.', 'api_error', null),
  504: words('The model did not answer in time.', 'timeout_error', null),
  529: words('Overloaded', 'overloaded_error', 'overloaded'),
};
const OVERLOADED = 529;

const wordsOf = (status: number): ErrorWords => ANSWERS[status] ?? words('An error.', 'api_error', null);
const faultFor = ({ message }: ErrorWords): Fault => new Fault('upstream_broken', message);

/** The body of an answer with this status. */
export function errorBody(status: number, shape: ErrorShape): Buffer {
  const said = wordsOf(status);
  const text = shape.body(faultFor(said)).toString();
  return Buffer.from(inWords(text, said));
}

/** The event that says that the model is overloaded. @param number of the event in its stream */
export function errorEvent(shape: ErrorShape, number: number): Buffer {
  const said = wordsOf(OVERLOADED);
  const text = shape.event(faultFor(said), number).toString();
  return Buffer.from(text.replace(/^data: (.*)$/m, (_, data: string) => `data: ${inWords(data, said)}`));
}

/** The protocol says which members there are, the table what they hold; a number stays (Gemini's `code` is the status). */
function inWords(text: string, said: ErrorWords): string {
  const whole = parseObject(text);
  const error = asObject(whole?.['error']);
  if (whole === null || error === null) return text;
  const own = Object.entries(error).map(([name, value]) => {
    const isOurs = Object.hasOwn(said, name) && typeof value !== 'number';
    return [name, isOurs ? said[name as keyof ErrorWords] : value];
  });
  // The event of responses has them outside, too.
  const outside = 'code' in whole ? { code: said.code, message: said.message, param: said.param } : {};
  return JSON.stringify({ ...whole, ...outside, error: Object.fromEntries(own) as object });
}
