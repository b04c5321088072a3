// Composes an answer: text, tool call and token counts, the same for every wire format. Deterministic, so that a test can
// state what it expects. Pure.
import type { ModelRequest, Endpoint, Json } from './model-request.ts';
import { isJson } from './model-request.ts';

const HUGE_EVENTS = 20_000;
const HUGE_PIECE = 'demo '.repeat(50);
const BIG_EVENT_BYTES = 300_000;
/** Longer texts are streamed in slices, because an echo of an agent's body would be 100,000 words. */
const MOST_WORD_EVENTS = 500;
const SLICE_CHARS = 1_024;
const CALL_PIECE_CHARS = 6;
const CALLING: readonly Endpoint[] = ['chat_completion', 'responses', 'messages', 'gemini'];

/** Token counts: a token is a word. `prompt` includes the cache counts, `completion` includes `reasoning`. */
interface Counts {
  readonly prompt: number;
  readonly completion: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

interface ToolCall {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  readonly pieces: readonly string[];
}

/** What a script answers: a text, or a call of a tool of the request. */
export type ScriptedAnswer =
  | { readonly text: string }
  | { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> };

/** Decides the answer to a model call from its body; null leaves it to the behaviours. */
export type Script = (body: Json, model: string) => ScriptedAnswer | null;

/** One answer before it takes a wire format. */
export interface Answer {
  readonly request: ModelRequest;
  /** Makes ids unique over gateways: `<tag>-<serial>`, or `duplicate`. */
  readonly identity: string;
  /** Epoch seconds. */
  readonly createdS: number;
  /** '' when a tool is called. */
  readonly text: string;
  readonly pieces: readonly string[];
  readonly call: ToolCall | null;
  readonly counts: Counts;
  /** False: the answer states no usage (`no-usage`). */
  readonly hasUsage: boolean;
}

/**
 * Composes the answer to a model call. `prompt` = words in messages, input, prompt, contents, system and instructions + 3;
 * `completion` = words of the answer (of name and arguments, for a tool call).
 */
export function compose(
  request: ModelRequest,
  identity: string,
  echo: () => string,
  script: Script | null = null,
): Answer {
  const { body, behaviours } = request;
  const promptWords =
    countWords(body['messages']) +
    countWords(body['input']) +
    countWords(body['prompt']) +
    countWords(body['system']) +
    countWords(body['instructions']) +
    countWords(body['contents']) +
    countWords(body['systemInstruction']);
  const scripted = script?.(body, request.model) ?? null;
  const call = scripted === null ? behaviourCall(request) : scriptedCall(scripted);
  const pieces = call === null ? textPieces(request, promptWords, echo, scripted) : [];
  const text = pieces.join('');
  const prompt = promptWords + 3;
  const completion = call === null ? countWords(text) : countWords(call.name) + countWords(call.arguments);
  const isCached = behaviours.has('cached');
  return {
    request: request,
    identity: behaviours.has('duplicate-id') ? 'duplicate' : identity,
    createdS: Math.floor(Date.now() / 1000),
    text,
    pieces,
    call,
    counts: {
      prompt,
      completion,
      cacheRead: isCached ? Math.floor(prompt / 2) : 0,
      cacheWrite: isCached ? Math.floor(prompt / 4) : 0,
      reasoning: isCached ? Math.floor(completion / 2) : 0,
    },
    hasUsage: !behaviours.has('no-usage'),
  };
}

function behaviourCall({ behaviours, endpoint, body }: ModelRequest): ToolCall | null {
  const calls = behaviours.has('loop') || (behaviours.has('tools') && !hasToolResult(body));
  return calls && CALLING.includes(endpoint) ? toolCall(body) : null;
}

function scriptedCall(scripted: ScriptedAnswer): ToolCall | null {
  return 'tool' in scripted ? callOf(scripted.tool, scripted.arguments) : null;
}

function textPieces(
  request: ModelRequest,
  promptWords: number,
  echo: () => string,
  scripted: ScriptedAnswer | null,
): readonly string[] {
  const { behaviours } = request;
  if (scripted !== null && 'text' in scripted) return sliced(scripted.text);
  if (behaviours.has('huge')) return Array<string>(HUGE_EVENTS).fill(HUGE_PIECE);
  const text = behaviours.has('echo')
    ? echo()
    : `Hello from ${request.model}: the demo gateway heard ${promptWords} words.`;
  const pieces = sliced(text);
  return behaviours.has('big-event') ? [...pieces, ` ${'x'.repeat(BIG_EVENT_BYTES)}`] : pieces;
}

function sliced(text: string): readonly string[] {
  const words = text.split(/(?<= )/, MOST_WORD_EVENTS + 1);
  if (words.length <= MOST_WORD_EVENTS) return words;
  const slices: string[] = [];
  for (let from = 0; from < text.length;) {
    // A slice never ends inside a surrogate pair: half a pair is not UTF-8 (RFC 3629 section 3).
    const code = text.charCodeAt(from + SLICE_CHARS - 1);
    const to = from + SLICE_CHARS + (code >= 0xd800 && code < 0xdc00 ? 1 : 0);
    slices.push(text.slice(from, to));
    from = to;
  }
  return slices;
}

/** Words in a string, in an array, or in the text members of messages and content parts. */
export function countWords(value: unknown): number {
  if (typeof value === 'string') {
    let words = 0;
    let isInside = false;
    for (let at = 0; at < value.length; at++) {
      const isWord = value.charCodeAt(at) > 32;
      if (isWord && !isInside) words++;
      isInside = isWord;
    }
    return words;
  }
  if (Array.isArray(value)) {
    let words = 0;
    for (const item of value) words += countWords(item);
    return words;
  }
  if (!isJson(value)) return 0;
  const parts = ['content', 'text', 'output', 'parts'];
  return parts.reduce((words, part) => words + countWords(value[part]), 0);
}

// The last turn carries a tool's result, in the three wire formats: the agent's loop must come to an end.
function hasToolResult(body: Json): boolean {
  const turns = body['messages'] ?? body['input'] ?? body['contents'];
  const last: unknown = Array.isArray(turns) ? turns.at(-1) : undefined;
  if (!isJson(last)) return false;
  if (last['role'] === 'tool' || last['type'] === 'function_call_output') return true;
  const content = last['content'] ?? last['parts'];
  const isResult = (part: unknown): boolean =>
    isJson(part) && (part['type'] === 'tool_result' || part['functionResponse'] !== undefined);
  return Array.isArray(content) && content.some(isResult);
}

function toolCall(body: Json): ToolCall {
  const tools = body['tools'];
  const tool: unknown = Array.isArray(tools) ? tools[0] : undefined;
  // Chat wraps the declaration in `function`, Gemini in a list; responses and messages have it flat.
  const wrapper = isJson(tool) ? tool : {};
  const list = wrapper['functionDeclarations'];
  const wrapped: unknown = Array.isArray(list) ? list[0] : wrapper['function'];
  const declared = isJson(wrapped) ? wrapped : wrapper;
  const schema = declared['parameters'] ?? declared['parametersJsonSchema'] ?? declared['input_schema'];
  const name = typeof declared['name'] === 'string' ? declared['name'] : 'demo_tool';
  return callOf(name, schema === undefined ? { query: 'a demo question' } : sample(schema));
}

function callOf(name: string, value: unknown): ToolCall {
  const text = JSON.stringify(value);
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += CALL_PIECE_CHARS)
    pieces.push(text.slice(at, at + CALL_PIECE_CHARS));
  return { name, arguments: text, pieces };
}

/** The plainest value that a JSON Schema of a tool's parameters allows. */
function sample(schema: unknown): unknown {
  if (!isJson(schema)) return null;
  const choices = schema['enum'];
  if (Array.isArray(choices)) return choices[0];
  if ('const' in schema) return schema['const'];
  const [stated] = [schema['type']].flat();
  const type = typeof stated === 'string' ? stated.toLowerCase() : stated; // Gemini writes STRING
  if (type === 'string') return 'demo';
  if (type === 'number' || type === 'integer') return 1;
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  const members = schema['properties'];
  if (!isJson(members)) return {};
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, sample(member)]));
}
