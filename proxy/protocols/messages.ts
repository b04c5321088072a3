// Messages, `POST /v1/messages` (docs.anthropic.com/en/api/messages). Usage comes twice: `message_start` states the
// input, `message_delta` the output and sometimes all again.
import { Buffer } from 'node:buffer';
import { isStated, objectIn, type Json } from '../bodies/json.ts';
import { MESSAGES_CONVERSATION } from './conversation.ts';
import type { Fault } from '../errors/fault.ts';
import { errorObject, eventError, namedError } from './errors.ts';
import { RESPONSE, endpoint, markersOf, TEXT, textEndpoint, USAGE_MARKER } from './openai.ts';
import type { EventFacts, Protocol, StreamEvent, StreamSoFar } from './protocol.ts';
import { MESSAGES } from './query.ts';
import { readTokens } from './usage.ts';

/** A search that the upstream made. */
const SEARCH_MARKER = 'web_search_tool_result"';
/** Events before the first token. */
const OPENINGS: ReadonlySet<unknown> = new Set(['message_start', 'content_block_start', 'ping']);

export const messages: Protocol = {
  name: 'messages',
  outputLimits: ['max_tokens'],
  limitsThoughts: true,
  alternatives: [
    ['thinking', 'output_config.effort'],
    ['temperature', 'top_p'], // which newer models refuse together
  ],
  settingObjects: ['output_config'],
  tierMembers: ['speed', 'service_tier'], // fast mode is charged as a tier (`tierIn`)
  endpoints: [
    textEndpoint('messages', 'anthropic_messages', { query: MESSAGES }),
    endpoint('messages/count_tokens', 'acount_tokens', {
      query: MESSAGES,
      streams: 'never',
      countAnswer: (input_tokens) => ({ input_tokens }),
    }),
  ],
  ownHeaders: ['anthropic-'],
  neededHeaders: ['anthropic-version', '2023-06-01'],
  stored: [],
  response: RESPONSE,
  events: {
    markers: markersOf(USAGE_MARKER, 'message_stop', SEARCH_MARKER),
    usagePath: ['usage'],
    modelPath: ['message', 'model'],
    modelIsStatedOnce: true,
    endMembers: new Set(),
    endsWithDone: false,
    read,
    isAnswer: (event) => !OPENINGS.has(event['type']),
  },
  errors: {
    body: (fault) => {
      const error = { ...errorObject(fault), type: ownType(fault) };
      return Buffer.from(JSON.stringify({ type: 'error', error }));
    },
    event: (fault) => namedError({ type: 'error', error: eventError(fault, 'api_error') }),
  },
  text: { ...TEXT, inEvent: (event) => objectIn(event, 'delta') },
  continuation: null,
  conversation: MESSAGES_CONVERSATION,
  readTokens,
};

const TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [422, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

/** Anthropic's name of the kind of an error (platform.claude.com/docs/en/api/errors). */
export function anthropicType(status: number): string {
  return TYPES.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** A 503 of this proxy is mostly an upstream that is away, which is no overload: clients wait longer for the end of one. */
const ownType = ({ status, type }: Pick<Fault, 'status' | 'type'>): string =>
  status === 503 && type !== 'overloaded_error' ? 'api_error' : anthropicType(status);

function read({ type, answer }: StreamEvent, before: StreamSoFar): EventFacts {
  const stated = objectIn(answer, 'usage');
  return {
    usage: stated === null ? null : mergedUsage(before.usage, stated),
    usageIsPartial: type !== 'message_delta',
    end: type === 'message_stop' ? 'finished' : null,
  };
}

/** Counts are cumulative: the later value holds. But some gateways end with an input of 0 that they began with in full. */
export function mergedUsage(before: Json | null, usage: Json): Json {
  const later = Object.entries(usage).filter(
    ([name, value]) => isStated(value) && (value !== 0 || !isStated(before?.[name])),
  );
  return { ...(before ?? usage), ...Object.fromEntries(later) };
}
