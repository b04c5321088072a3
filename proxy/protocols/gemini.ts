// Gemini, `POST /v1beta/models/{model}:generateContent` and its sisters (ai.google.dev/api/generate-content). The path names the
// model and says whether the answer streams. A stream has no terminal event: it ends with a frame that states a
// `finishReason`, and the end of the response.
import { Buffer } from 'node:buffer';
import { asObject, isFilled, objectIn, textIn, type Json } from '../bodies/json.ts';
import type { Fault } from '../errors/fault.ts';
import { GEMINI_CONVERSATION } from './conversation.ts';
import { camelName, spellings } from './gemini-spelling.ts';
import { wordOfStatus } from './google-words.ts';
import { choiceBits, endpoint, markersOf, textEndpoint } from './openai.ts';
import type { EventFacts, Protocol, StreamEvent, StreamSoFar } from './protocol.ts';
import { GENERATE_CONTENT } from './query.ts';
import { GEMINI_TOOLS, GROUNDING } from './tool-uses.ts';
import { readTokens } from './usage.ts';

const configMembers = (name: string): readonly string[] =>
  spellings('generationConfig').flatMap((holder) => spellings(name).map((one) => `${holder}.${one}`));

export const gemini: Protocol = {
  name: 'gemini',
  outputLimits: configMembers('maxOutputTokens'),
  settingObjects: ['generationConfig'],
  spellings: (name) => spellings(camelName(name)),
  joinsObjects: true,
  choiceCounts: configMembers('candidateCount'),
  tierMembers: spellings('serviceTier'),
  endpoints: [
    textEndpoint('models/{model}:generateContent', 'agenerate_content', { streams: 'never' }),
    textEndpoint('models/{model}:streamGenerateContent', 'agenerate_content_stream', {
      query: GENERATE_CONTENT,
      streams: 'always',
    }),
    endpoint('models/{model}:countTokens', 'agenerate_content_count_tokens', {
      streams: 'never',
      countAnswer: (totalTokens) => ({ totalTokens }),
    }),
  ],
  ownHeaders: ['x-goog-'],
  stored: [],
  // Servers of OpenAI's style stand at /v1, Gemini's API at /v1beta, on one and the same gateway too.
  prefixOf: (pathPrefix) => pathPrefix.replace(/\/v1$/, '/v1beta'),
  response: {
    members: new Set(['usageMetadata', 'responseId', 'modelVersion', 'error']),
    answers: new Set(['candidates', 'promptFeedback', 'totalTokens']),
    isObject: true,
    usageMember: 'usageMetadata',
    modelMember: 'modelVersion',
    tools: GEMINI_TOOLS,
    usageIn: (members) => objectIn(members, 'usageMetadata'),
  },
  events: {
    markers: markersOf('usageMetadata', 'finishReason', 'blockReason', 'groundingMetadata'),
    usagePath: ['usageMetadata'],
    modelPath: ['modelVersion'],
    endMembers: new Set([
      'candidates',
      'index',
      'finishReason',
      'promptFeedback',
      'blockReason',
      ...GROUNDING,
    ]),
    endsWithDone: false,
    read,
    isAnswer: (event) => isFinished(event) || candidatesOf(event).some((one) => partsOf(one).some(isFilled)),
  },
  errors: {
    body: (fault) => Buffer.from(JSON.stringify(errorOf(fault))),
    event: (fault) => Buffer.from(`data: ${JSON.stringify(errorOf(fault))}\n\n`),
  },
  text: {
    // A count may hold the request that it counts.
    prompt: ['contents', ...spellings('systemInstruction'), ...spellings('generateContentRequest')],
    tools: ['tools'],
    answer: ['candidates'],
    inEvent: (event) => event['candidates'],
  },
  continuation: null,
  conversation: GEMINI_CONVERSATION,
  readTokens,
};

/** Counts of each frame are those of the answer so far. */
function read({ json }: StreamEvent, before: StreamSoFar): EventFacts {
  const stated = objectIn(json, 'usageMetadata');
  const isOver = isFinished(json);
  const candidates = candidatesOf(json);
  const finishes = candidates.flatMap((one) => {
    const reason = textIn(one, 'finishReason');
    return reason === null ? [] : [`${Number(one['index'] ?? 0)} ${reason.slice(0, 64)}`];
  });
  return {
    usage: stated === null ? null : { ...before.usage, ...stated },
    usageIsPartial: !isOver && before.finishes.size === 0,
    end: isOver ? 'terminal' : null,
    choices: choiceBits(candidates),
    finishes,
  };
}

/** A blocked prompt has a reason and no candidates. */
function isFinished(event: Json): boolean {
  if (candidatesOf(event).some((one) => isFilled(one['finishReason']))) return true;
  return isFilled(objectIn(event, 'promptFeedback')?.['blockReason']);
}

function candidatesOf({ candidates }: Json): readonly Json[] {
  return objectsOf(candidates);
}

function partsOf(candidate: Json): readonly Json[] {
  return objectsOf(objectIn(candidate, 'content')?.['parts']);
}

function objectsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(asObject).filter((one) => one !== null) : [];
}

/** The SDKs show `message`, and retry by `code`. */
function errorOf({ status, message, code }: Fault): Json {
  const reason = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code };
  return { error: { code: status, message, status: wordOfStatus(status), details: [reason] } };
}
