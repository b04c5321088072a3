// One call in another protocol: the caller speaks one API, the upstream another. Reads the caller's request into one
// intermediate form and writes it for the upstream; answers, streams and errors go the other way. Pure: no I/O.
import { Buffer } from 'node:buffer';
import type { Json } from '../../bodies/json.ts';
import type { Fault } from '../../errors/fault.ts';
import type { Endpoint, EndpointRow, Protocol } from '../protocol.ts';
import { checkRequestInputs } from './call-inputs.ts';
import { withPlainIds } from './call-signatures.ts';
import { chatDialect } from './chat/dialect.ts';
import type { Dialect, EventWriter, StreamContext } from './dialect.ts';
import { failureOfBody, OVERLOADED } from './failures.ts';
import type { Conversation, Part } from './form.ts';
import { geminiDialect } from './gemini/dialect.ts';
import { Losses } from './losses.ts';
import { messagesDialect } from './messages/dialect.ts';
import { isGemini } from './models.ts';
import { responsesDialect } from './responses/dialect.ts';
import { settledAnswer, StreamTranslation } from './stream-translation.ts';
import { ToolNames } from './tool-names.ts';
import { AnswerCollector, eventsOf } from './whole-answer.ts';

export interface TranslationOptions {
  /** The name that goes upstream. */
  readonly model: string;
  /** The model behind that name, where the operator states it; null: the name tells. */
  readonly baseModel: string | null;
  /** The name that the caller asked for: its answer states it. */
  readonly asked: string;
  readonly stream: boolean;
  /** Members that cannot be carried: true drops and names them, false refuses with 400. */
  readonly dropParams: boolean;
  /** `max_tokens` for a protocol that requires one, where the caller states none. */
  readonly defaultMaxTokens: number;
  /** Keys prompts to a cache where the upstream's protocol has a member for it; null = none. */
  readonly sessionId: string | null;
}

/** One call in another protocol; made per attempt. */
export interface Translation {
  /** The upstream's endpoint. */
  readonly endpoint: Endpoint;
  readonly body: Buffer;
  /** Dotted paths of members that were dropped. */
  readonly dropped: readonly string[];
  /**
   * A whole 2xx answer of the upstream in the caller's protocol: as events where the caller asked for a stream.
   * @throws Fault bad upstream answer
   */
  answer(body: Json): Buffer;
  /** An error answer in the caller's shape; its status may change (529 -> 503). */
  error(status: number, body: Buffer): { readonly status: number; readonly body: Buffer };
  /** A stream of the caller's that ends with what `failed` gives ends there as it should: clients need no cut connection to see it. */
  readonly failureEnds: boolean;
  /** Translates one stream: into one document, at its end, where the caller asked for none. */
  events(): EventTranslation;
}

/** The state of one stream. */
export interface EventTranslation {
  /** Why the rest of the stream cannot be translated; what is written after it is what `failed` gives, and nothing else. */
  readonly fault: Fault | null;
  /** Whole events for the client, '' when this one says nothing to it. */
  event(name: string, data: string): string;
  /** After the end of the upstream's stream: what is still owed. Without its terminal event that is a fault. */
  end(): string;
  /** The stream broke: the caller's protocol's error event. */
  failed(fault: Fault): string;
}

/** Without pictures; some four characters are a token. */
const CHARS_PER_TOKEN = 4;

const DIALECTS: readonly Dialect[] = [chatDialect, messagesDialect, responsesDialect, geminiDialect];

const dialectOf = (protocol: Protocol): Dialect | undefined =>
  DIALECTS.find(({ name }) => name === protocol.name);

/**
 * @param from what the caller asked for
 * @returns null: this pair cannot be translated (embeddings, audio ...)
 * @throws Fault 400 for what cannot be carried, or a request that is wrong in its own protocol
 */
export function translate(
  from: Endpoint,
  to: Protocol,
  request: Json,
  options: TranslationOptions,
): Translation | null {
  const caller = dialectOf(from.protocol);
  const upstream = dialectOf(to);
  const endpoint = endpointOf(to, options.stream);
  const isPair = caller !== undefined && upstream !== undefined && caller !== upstream && isModelCall(from);
  if (!isPair || endpoint === null) return null;
  const isForGoogle =
    upstream === geminiDialect || isGemini(options.model) || isGemini(options.baseModel ?? '');
  const losses = new Losses({ dropParams: options.dropParams, isForGoogle });
  const stated = caller.readRequest(request, losses);
  const conversation = { ...stated, turns: withPlainIds(stated.turns) };
  checkRequestInputs(conversation.turns);
  const names = new ToolNames(conversation.tools, upstream.hasCustomTools);
  const body = Buffer.from(
    JSON.stringify(upstream.writeRequest(conversation, { ...options, losses, names })),
  );
  const context: StreamContext = {
    model: options.asked,
    usageInStream: conversation.usageInStream,
    estimatedPrompt: estimatedPrompt(conversation),
  };
  const eventWriter = (): EventWriter =>
    options.stream
      ? caller.writeEvents(context)
      : new AnswerCollector((answer) => caller.writeAnswer(answer, options.asked));
  return {
    endpoint,
    body,
    dropped: losses.dropped,
    answer: (answer) => {
      const read = settledAnswer(upstream.readAnswer(answer), names);
      if (!options.stream) return jsonBytes(caller.writeAnswer(read, options.asked));
      const writer = eventWriter();
      return Buffer.from(
        eventsOf(read)
          .map((event) => writer.write(event))
          .join(''),
      );
    },
    error: (status, answer) => {
      const failure = failureOfBody(status, answer.toString('utf8'));
      const shown = status === OVERLOADED && caller !== messagesDialect ? 503 : status;
      return { status: shown, body: jsonBytes(caller.writeError(shown, failure)) };
    },
    failureEnds: caller.failureEnds,
    events: () => new StreamTranslation(upstream.readEvents(), eventWriter(), names),
  };
}

const jsonBytes = (json: Json): Buffer => Buffer.from(JSON.stringify(json));

/** It is answered by a model, and not counted only. */
const isModelCall = (row: EndpointRow): boolean => row.counted === 'prompt and answer';

/** Gemini has an endpoint of its own for streams. */
function endpointOf(protocol: Protocol, stream: boolean): Endpoint | null {
  const rows = protocol.endpoints.filter(isModelCall);
  const row = rows.find(({ path }) => /:stream/.test(path) === stream) ?? rows[0];
  return row === undefined ? null : { ...row, protocol };
}

function estimatedPrompt({ instructions, turns, tools }: Conversation): number {
  let chars = 0;
  const count = (part: Part): void => {
    if ('text' in part) chars += part.text.length;
    else if (part.kind === 'call') chars += part.input.length;
    else if (part.kind === 'result') part.parts.forEach(count);
  };
  instructions.forEach(count);
  for (const { parts } of turns) parts.forEach(count);
  for (const { description, schema } of tools)
    chars += (description?.length ?? 0) + JSON.stringify(schema ?? {}).length;
  return Math.ceil(chars / CHARS_PER_TOKEN);
}
