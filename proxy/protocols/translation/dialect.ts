// What a protocol must be able to do to be translated: read its own requests, answers, events and errors into the
// intermediate form, and write them from it.
import type { Json } from '../../bodies/json.ts';
import type { Answer, AnswerError, AnswerEvent, Conversation, DialectName } from './form.ts';
import type { Losses } from './losses.ts';
import type { ToolNames } from './tool-names.ts';

/** One protocol as reader and writer of the intermediate form. Stateless but for the readers and writers of streams. */
export interface Dialect {
  readonly name: DialectName;
  /** Tools whose input is free text go upstream as they are; else as functions with one text. */
  readonly hasCustomTools: boolean;
  /** The event that tells of a failure is a terminal event: a stream that ends with it has its end. */
  readonly failureEnds: boolean;
  /** @throws Fault 400 for a request that is wrong in this protocol */
  readRequest(request: Json, losses: Losses): Conversation;
  writeRequest(conversation: Conversation, target: Target): Json;
  /** @throws Fault for an answer that cannot be read */
  readAnswer(answer: Json): Answer;
  /** @param model the name that the caller asked for */
  writeAnswer(answer: Answer, model: string): Json;
  /** Reads the events of one stream. */
  readEvents(): EventReader;
  /** Writes the events of one stream. */
  writeEvents(context: StreamContext): EventWriter;
  /** The JSON of an error answer. */
  writeError(status: number, error: AnswerError): Json;
}

/** What a request is written for. */
export interface Target {
  readonly model: string;
  readonly stream: boolean;
  readonly defaultMaxTokens: number;
  readonly sessionId: string | null;
  readonly losses: Losses;
  readonly names: ToolNames;
}

/** Reads the events of one stream, in order. */
export interface EventReader {
  /** @throws Fault for an event that cannot be read */
  read(name: string, data: string): readonly AnswerEvent[];
  /** What is still open when the stream has ended. */
  end(): readonly AnswerEvent[];
}

/** What a writer of a stream knows of the call. */
export interface StreamContext {
  /** The name that the caller asked for. Clients go by it: Claude Code drops the signed thoughts of any other model. */
  readonly model: string;
  /** The caller asked for usage (chat completions). */
  readonly usageInStream: boolean;
  /** A guess at the tokens of the prompt, for a protocol that states them before the upstream does. */
  readonly estimatedPrompt: number;
}

/** Writes one stream: whole events as text, '' where an event says nothing in this protocol. */
export interface EventWriter {
  /** A call goes out at its end, so that an input that is no JSON can be wrapped; else its text goes out as it comes. */
  readonly holdsCalls: boolean;
  write(event: AnswerEvent): string;
}
