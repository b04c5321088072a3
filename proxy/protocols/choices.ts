// Streams whose events have `choices`: chat completions and completions.
import { asObject, objectIn, textIn, type Json } from '../bodies/json.ts';
import { hasContent, markersOf, USAGE_MARKER } from './openai.ts';
import type { EventRules } from './protocol.ts';

const FINISH_MARKER = 'finish_reason"(?!\\s*:\\s*(?:null|""))';

/** A finish reason ends the answer; an event with usage may follow it, then `[DONE]`. */
export const CHOICE_EVENTS: EventRules = {
  markers: markersOf(USAGE_MARKER, FINISH_MARKER),
  usagePath: ['usage'],
  read: ({ json }) => ({
    usage: objectIn(json, 'usage') ?? usageElsewhere(json),
    usageIsPartial: false,
    end: hasFinishReason(json) ? 'terminal' : null,
  }),
  isAnswer: hasContent,
};

/** Groq states it in a member of its own, Moonshot in the last choice. */
function usageElsewhere(json: Json): Json | null {
  const choices: unknown = json['choices'];
  const last = Array.isArray(choices) ? asObject(choices.at(-1)) : null;
  return objectIn(objectIn(json, 'x_groq'), 'usage') ?? objectIn(last, 'usage');
}

function hasFinishReason(json: Json): boolean {
  const choices: unknown = json['choices'];
  return Array.isArray(choices) && choices.some((one) => textIn(asObject(one), 'finish_reason') !== null);
}
