// Responses, `POST /v1/responses` and calls on a response that exists
// (platform.openai.com/docs/api-reference/responses). Usage, id and model of an event are those of its `response`.
import { objectIn, textIn, type Json } from '../bodies/json.ts';
import { RESPONSES_CONVERSATION } from './conversation.ts';
import { eventError, namedError, OPENAI_ERRORS } from './errors.ts';
import { RESPONSE, endpoint, markersOf, TEXT, textEndpoint } from './openai.ts';
import { LIST, RETRIEVE, type QueryTable } from './query.ts';
import { NO_FACTS, type EndpointRow, type EventFacts, type Protocol, type StreamEvent } from './protocol.ts';
import { RESPONSES_TOOLS } from './tool-uses.ts';
import { readTokens } from './usage.ts';

const ENDS: ReadonlySet<string> = new Set(['response.completed', 'response.failed', 'response.incomplete']);
/** An item that is the call of a tool which the upstream runs and charges. A text that says so has a backslash before the last quote. */
const CALL = '"(?:web_search|file_search|code_interpreter)_call"';
/** Members that lead to one in an event that is too large to be kept (code may have drawn pictures), and to the count at the end. */
const LARGE_CALL = 'item status action container_id tool_usage web_search num_requests'.split(' ');
/** Events before the first token. */
const OPENINGS: ReadonlySet<unknown> = new Set([
  'response.created',
  'response.in_progress',
  'response.queued',
  'keepalive',
  'ping',
]);

const about = (callType: string, query?: QueryTable): EndpointRow =>
  endpoint('responses', callType, { returnsStored: true, ...(query === undefined ? {} : { query }) });

export const responses: Protocol = {
  name: 'responses',
  outputLimits: ['max_output_tokens'],
  settingObjects: ['reasoning', 'text'],
  backgroundFlag: 'background',
  endpoints: [
    textEndpoint('responses', 'aresponses'),
    endpoint('responses/input_tokens', 'acount_response_input_tokens', {
      streams: 'never',
      countAnswer: (input_tokens) => ({ object: 'response.input_tokens', input_tokens }),
    }),
    endpoint('responses/compact', 'acompact_responses', {
      streams: 'never',
      writes: true, // and what it writes is encrypted, so nothing can be counted
      elsewhere: 'refused',
    }),
  ],
  ownHeaders: ['openai-'],
  stored: [
    { method: 'GET', suffix: '', endpoint: about('aget_responses', RETRIEVE) },
    { method: 'DELETE', suffix: '', endpoint: about('adelete_responses') },
    { method: 'POST', suffix: '/cancel', endpoint: about('acancel_responses') },
    { method: 'GET', suffix: '/input_items', endpoint: about('alist_input_items', LIST) },
  ],
  response: {
    ...RESPONSE,
    members: new Set([...RESPONSE.members, 'status']),
    hasFailed: ({ status }) => status === 'failed', // as the event `response.failed`
    tools: RESPONSES_TOOLS,
  },
  events: {
    markers: markersOf('response\\.(?:completed|failed|incomplete)', CALL),
    usagePath: ['response', 'usage'],
    modelPath: ['response', 'model'],
    endMembers: new Set(LARGE_CALL),
    eventNumber: /"sequence_number"\s*:\s*(\d{1,15})\b/,
    endsWithDone: false,
    read,
    isAnswer: (event) => !OPENINGS.has(event['type']),
  },
  errors: {
    body: (fault) => OPENAI_ERRORS.body(fault),
    // The members of an `error` event stand at its top level; `error` is there for SDKs that look for it. OpenAI's own raise on
    // that alone, and on no `response.failed`; the AI SDK shows no text of an event without a number.
    event: (fault, sequence_number = 0) => {
      const { code, message, param } = fault;
      const error = eventError(fault, 'server_error');
      return namedError({ type: 'error', code, message, param, sequence_number, error });
    },
  },
  text: { ...TEXT, inEvent: textOfEvent },
  isPending: ({ status }) => status === 'queued' || status === 'in_progress',
  continuation: null,
  conversation: RESPONSES_CONVERSATION,
  readTokens,
};

function read({ type, answer }: StreamEvent): EventFacts {
  if (!ENDS.has(type)) return NO_FACTS;
  return {
    usage: objectIn(answer, 'usage'),
    usageIsPartial: false,
    end: type === 'response.failed' ? 'failed' : 'finished',
  };
}

function textOfEvent(event: Json): unknown {
  return textIn(event, 'type')?.endsWith('.delta') === true ? event['delta'] : null;
}
