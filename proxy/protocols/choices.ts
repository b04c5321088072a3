// Streams whose events have `choices`: chat completions and completions.
import { asObject, isFilled, objectIn, textIn, type Json } from '../bodies/json.ts';
import { choiceBits, hasContent, markersOf, USAGE_MARKER } from './openai.ts';
import type { EventFacts, EventRules, StreamEvent, StreamSoFar } from './protocol.ts';

const FINISH_MARKER = 'finish_reason"(?!\\s*:\\s*(?:null|""))';
/** What a search on the web has found. */
const CITATION_MARKER = 'url_citation"';
/** Kinds of events with choices, for those that leave `choices` out. */
const OBJECTS: ReadonlySet<unknown> = new Set(['chat.completion.chunk', 'text_completion']);

const REASON_CHARS = 64;

/** A finish reason ends the answer; an event with usage may follow it, then `[DONE]`. */
export const CHOICE_EVENTS: EventRules = {
  markers: markersOf(USAGE_MARKER, FINISH_MARKER, CITATION_MARKER),
  usagePath: ['usage'],
  modelPath: ['model'],
  endMembers: new Set(['choices', 'index', 'finish_reason', 'x_groq']),
  endsWithDone: true,
  read,
  isAnswer: hasContent,
};

function read({ json }: StreamEvent, before: StreamSoFar): EventFacts {
  const usage = objectIn(json, 'usage') ?? usageElsewhere(json);
  const choices = choicesOf(json);
  const finishes = choices.flatMap((choice) => finishOf(choice) ?? []);
  return {
    usage,
    usageIsPartial: false,
    end: finishes.length > 0 ? 'terminal' : null,
    choices: choiceBits(choices),
    finishes,
    isUsageOnly: usage !== null && isUsageOnly(json, before),
  };
}

/**
 * Whether it is the event that `stream_options.include_usage` asks for, told by its content and its place. OpenAI, Azure,
 * vLLM and Ollama send it with empty `choices`; LiteLLM 1.106 with a choice whose delta is empty, OpenRouter also with the
 * finish reason that it has sent before. After the finish reason nothing else is to come, so there an event that says
 * nothing is this one; before it, a choice that says nothing may be the role.
 */
function isUsageOnly(json: Json, { finishes }: StreamSoFar): boolean {
  const { choices = null } = json;
  if (Array.isArray(choices) && choices.length === 0) return true;
  if (finishes.size === 0) return false;
  if (choices === null) return 'choices' in json || OBJECTS.has(json['object']);
  return Array.isArray(choices) && choices.every((choice) => saysNothingNew(asObject(choice), finishes));
}

function saysNothingNew(choice: Json | null, finishes: ReadonlySet<string>): boolean {
  if (choice === null) return false;
  const { index: _, finish_reason: reason, native_finish_reason: __, delta, ...rest } = choice;
  const { role: ___, ...said } = asObject(delta) ?? {};
  if ([...Object.values(rest), ...Object.values(said)].some(isFilled)) return false;
  return !isFilled(reason) || finishes.has(finishOf(choice) ?? '');
}

/** null: it goes on. */
function finishOf(choice: unknown): string | null {
  const reason = textIn(asObject(choice), 'finish_reason');
  return reason === null
    ? null
    : `${Number(asObject(choice)?.['index'] ?? 0)} ${reason.slice(0, REASON_CHARS)}`;
}

/** Groq states it in a member of its own, Moonshot in the last choice. */
function usageElsewhere(json: Json): Json | null {
  const last = asObject(choicesOf(json).at(-1));
  return objectIn(objectIn(json, 'x_groq'), 'usage') ?? objectIn(last, 'usage');
}

function choicesOf({ choices }: Json): readonly unknown[] {
  return Array.isArray(choices) ? choices : [];
}
