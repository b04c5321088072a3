// The texts of a request and of an answer that a model reads and writes, for a count of their tokens. Pure; runs in the
// estimator's thread. It keeps nothing. Pictures, sound and ids are not text and are left out.
import { Buffer } from 'node:buffer';
import { asObject, parseObject, type Json } from '../bodies/json.ts';
import { spellings } from './gemini-spelling.ts';
import type { TextRules } from './protocol.ts';

/** What was relayed of a response, and its format. */
export interface Delivered {
  readonly form: 'json' | 'events';
  /** The first bytes. */
  readonly head: Uint8Array;
  /** How many bytes there were; `head` stands for all of them. */
  readonly bytes: number;
}

/** Texts, and tokens that are known without them. */
export interface Texts {
  readonly texts: readonly string[];
  readonly tokens: number;
}

/** Members that hold something else than what a model reads: addresses, data, ids, switches. */
const OPAQUE: ReadonlySet<string> = new Set([
  'audio',
  'cache_control',
  'call_id',
  'data',
  'detail',
  'encrypted_content',
  'file_data',
  'file_id',
  ...spellings('fileUri'),
  'finish_reason',
  'finishReason',
  'format',
  'id',
  'image_url',
  'index',
  'input_audio',
  'logprobs',
  'media_type',
  ...spellings('mimeType'),
  'role',
  'signature',
  'source',
  'status',
  'stop_reason',
  ...spellings('thoughtSignature'),
  'tool_call_id',
  'tool_use_id',
  'type',
  'url',
]);
/** And what is said of an answer beside it: why it ended, what it was judged by. */
const OPAQUE_IN_ANSWERS: ReadonlySet<string> = new Set([
  ...OPAQUE,
  'citationMetadata',
  'container',
  'content_filter_results',
  'error',
  'finishMessage',
  'matched_stop',
  'native_finish_reason',
  'safetyRatings',
  'stop_details',
  'stop_sequence',
]);
/** Role and separators of one message (github.com/openai/openai-cookbook, how to count tokens with tiktoken). */
const TOKENS_PER_MESSAGE = 4;
const DEEPEST = 64;

/** The prompt in a request's JSON; the whole text where it is no JSON object (a cut one). */
export function promptTexts(body: string, rules: TextRules): Texts {
  const json = parseObject(body);
  if (json === null) return { texts: [body], tokens: 0 };
  const found: string[] = [];
  let tokens = 0;
  for (const name of rules.prompt) {
    const value = json[name];
    tokens += tokenIds(value);
    collect(value, found, DEEPEST, OPAQUE);
    if (Array.isArray(value) && value.some((one) => asObject(one) !== null))
      tokens += TOKENS_PER_MESSAGE * value.length;
  }
  for (const name of rules.tools) if (json[name] !== undefined) found.push(JSON.stringify(json[name]));
  return { texts: found, tokens };
}

/** Of a prompt that is a list of tokens, or of those in a list of prompts: how many there are. */
function tokenIds(prompt: unknown): number {
  if (!Array.isArray(prompt)) return 0;
  const lists = prompt.every((one) => typeof one === 'number') ? [prompt] : prompt;
  return lists.reduce<number>((sum, one) => sum + tokensOf(one), 0);
}

const tokensOf = (list: unknown): number =>
  Array.isArray(list) && list.every((one) => typeof one === 'number') ? list.length : 0;

/** An answer that is JSON, as far as it was kept; null: it cannot be read, or is no JSON. */
export function answerObject({ form, head, bytes }: Delivered): Json | null {
  return form === 'json' ? objectOf(textOf(head), head.length < bytes) : null;
}

const textOf = (head: Uint8Array): string => Buffer.from(head).toString('utf8');

/** What the model wrote, in the part of an answer that was kept. */
export function answerTexts(delivered: Delivered, rules: TextRules): Texts {
  const { form, head, bytes } = delivered;
  const found: string[] = [];
  if (form === 'json') collectAnswer(answerObject(delivered), rules, found);
  else {
    const isPart = head.length < bytes;
    const lines = textOf(head).split(/\r\n|\n|\r/);
    for (const [i, line] of lines.entries()) {
      if (!line.startsWith('data:')) continue;
      const data = line.slice(5);
      const event = objectOf(data, isPart && i === lines.length - 1);
      if (event !== null) collect(rules.inEvent(event), found, DEEPEST, OPAQUE_IN_ANSWERS);
    }
  }
  return { texts: found, tokens: 0 };
}

/** The part of an answer that was kept has some text, or the call of a tool. */
export const holdsText = (delivered: Delivered, rules: TextRules): boolean =>
  answerTexts(delivered, rules).texts.length > 0;

const objectOf = (json: string, isCut: boolean): Json | null =>
  parseObject(json) ?? (isCut ? parseObject(closed(json)) : null);

/** JSON that was cut inside a string, with its end: an answer or an event may be larger than what is kept of it. */
function closed(json: string): string {
  const closers: string[] = [];
  let inString = false;
  let at = 0;
  for (; at < json.length; at += 1) {
    const char = json[at];
    if (inString && char === '\\') at += json[at + 1] === 'u' ? 5 : 1;
    else if (char === '"') inString = !inString;
    else if (!inString && char === '{') closers.unshift('}');
    else if (!inString && char === '[') closers.unshift(']');
    else if (!inString && (char === '}' || char === ']')) closers.shift();
  }
  const whole = at > json.length ? json.slice(0, json.lastIndexOf('\\')) : json; // without half an escape
  return `${whole}${inString ? '"' : ''}${closers.join('')}`;
}

function collectAnswer(json: Json | null, rules: TextRules, found: string[]): void {
  for (const name of rules.answer) collect(json?.[name], found, DEEPEST, OPAQUE_IN_ANSWERS);
}

function collect(value: unknown, found: string[], levels: number, opaque: ReadonlySet<string>): void {
  if (typeof value === 'string') {
    if (value !== '' && !value.startsWith('data:')) found.push(value);
  } else if (levels > 0 && Array.isArray(value)) {
    for (const one of value) collect(one, found, levels - 1, opaque);
  } else if (levels > 0 && typeof value === 'object' && value !== null) {
    for (const [name, one] of Object.entries(value))
      if (!opaque.has(name)) collect(one, found, levels - 1, opaque);
  }
}
