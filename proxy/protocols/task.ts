// What the protocols of a single task have in common: embeddings, images, audio, moderations, rerank. Gateways mix their
// shapes, so usage is read wherever one of them has it, and a stream ends with an event whose type says so.
import { objectIn, type Json } from '../bodies/json.ts';
import { OPENAI_ERRORS } from './errors.ts';
import { RESPONSE, hasContent, markersOf, TEXT, USAGE_MARKER } from './openai.ts';
import type { EventFacts, Protocol, StreamEnd, StreamEvent } from './protocol.ts';
import { readTokens } from './usage.ts';

const END = /\.(?:completed|done)$/;

/** What these protocols share; each adds its name and its endpoints. */
export const TASK: Omit<Protocol, 'name' | 'endpoints'> = {
  stored: [],
  // Speech and transcripts are no JSON, and some gateways rank documents with a JSON list.
  response: {
    ...RESPONSE,
    isObject: false,
    usageIn: (members) => objectIn(members, 'usage') ?? billedIn(members),
  },
  events: {
    markers: markersOf(USAGE_MARKER, '\\.(?:completed|done|failed)'),
    usagePath: ['usage'],
    modelPath: ['model'],
    endMembers: new Set(),
    endsWithDone: true,
    read,
    isAnswer: hasContent,
  },
  errors: OPENAI_ERRORS,
  text: { ...TEXT, inEvent: (event) => event['choices'] },
  continuation: null,
  readTokens,
};

function read({ type, json, answer }: StreamEvent): EventFacts {
  return {
    usage: objectIn(answer, 'usage') ?? objectIn(json, 'usage'),
    usageIsPartial: false,
    end: endOf(type),
  };
}

/** Images end with `image_generation.completed`, transcripts with `transcript.text.done`; `[DONE]` may follow. */
function endOf(type: string): StreamEnd | null {
  if (type.endsWith('.failed')) return 'failed';
  return END.test(type) ? 'terminal' : null;
}

/** Cohere's `meta`: search units of a rerank, tokens of embeddings (docs.cohere.com/reference/rerank). */
function billedIn(members: Json): Json | null {
  const meta = objectIn(members, 'meta');
  const billed = objectIn(meta, 'billed_units');
  const tokens = objectIn(meta, 'tokens');
  return billed === null || tokens === null ? (tokens ?? billed) : { ...billed, ...tokens };
}
