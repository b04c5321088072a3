// Reads an upstream's error: which status it states, where it comes in a stream, whose own is 200 already; and whether it is one
// of the two refusals that another model may not share. Upstreams state those by a code or, without one, in their message;
// the status does not distinguish them. Pure.
import { Buffer } from 'node:buffer';
import { objectIn, parseObject } from '../bodies/json.ts';
import { statusOfWord } from './google-words.ts';

/** An error as OpenAI and Anthropic state it; '' where a member is missing. */
export interface UpstreamError {
  readonly code: string;
  readonly type: string;
  readonly message: string;
}

const LARGEST_BYTES = 65_536;

const CONTEXT_CODES: ReadonlySet<string> = new Set(['context_length_exceeded', 'request_too_large']);
const CONTENT_CODES: ReadonlySet<string> = new Set(['content_policy_violation', 'content_filter']);
// Where the message alone has it: LiteLLM writes its class, Anthropic, Google and vLLM a sentence.
const CONTEXT_TEXT =
  /ContextWindowExceededError|maximum context length|prompt is too long|input is too long|exceed context limit|exceeds? the (?:available |model's )?context|exceeds the maximum number of tokens allowed/i;
const CONTENT_TEXT = /ContentPolicyViolationError|content management policy|content policy violation/i;

/** The `error` object of a JSON body, or of the first event that has one; null when there is none that can be read. */
export function errorIn(body: readonly Buffer[]): UpstreamError | null {
  const bytes = Buffer.concat(body);
  if (bytes.length > LARGEST_BYTES) return null;
  const text = bytes.toString('utf8').trim();
  const json = text.startsWith('{') ? text : /^data:(.*"error".*)$/m.exec(text)?.[1];
  const stated = parseObject(json ?? '');
  if (stated === null) return null;
  const error = objectIn(stated, 'error') ?? stated;
  return { code: textOf(error['code']), type: textOf(error['type']), message: textOf(error['message']) };
}

const STATUS = /^[45]\d\d$/;
/** A status of errors that stands where OpenAI has a word: so LiteLLM and OpenRouter write it, and Google. */
export const isStatus = (code: string | null): boolean => STATUS.test(code ?? '');

/** What LiteLLM writes of an error without a status, and so less than any word. */
const UNKNOWN = '500';

/** Words of OpenAI and Anthropic. Those of a server that failed are left out: what stands beside them says more. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['context_length_exceeded', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['conflict_error', 409],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['rate_limit_exceeded', 429],
  ['insufficient_quota', 429],
  ['overloaded_error', 503],
  ['server_is_overloaded', 503],
  ['timeout_error', 504],
]);

/** The status that an error states by a number or a word of a vendor; null: none that is known. */
export function statedStatus({ type, code }: Stated): number | null {
  if (isStatus(code) && code !== UNKNOWN) return Number(code);
  const worded = statusOfWord(type) ?? STATUSES.get(type ?? '') ?? STATUSES.get(code ?? '');
  return worded ?? (code === UNKNOWN ? Number(code) : null);
}

/** Of an error, '' or null where a member is missing. */
interface Stated {
  readonly type: string | null;
  readonly code: string | null;
}

/** Why a request was refused, if it is a reason that fallbacks can be made for. */
export function reasonOf({ code, type, message }: UpstreamError): 'context_window' | 'content_policy' | null {
  const has = (codes: ReadonlySet<string>): boolean => codes.has(code) || codes.has(type);
  if (has(CONTEXT_CODES) || CONTEXT_TEXT.test(message)) return 'context_window';
  return has(CONTENT_CODES) || CONTENT_TEXT.test(message) ? 'content_policy' : null;
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
