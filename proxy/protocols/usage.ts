// Reads token counts out of the usage objects of OpenAI's and Anthropic's protocols into one set of counts, and splits them
// into buckets that are billed once each. Gateways answer one protocol with the spelling of another, so the spelling
// decides, not the endpoint. Pure; it never guesses: what is missing or is no count is null, contradictions become warnings,
// and the object itself is recorded as it was sent.
import type { Mutable } from '../base/mutable.ts';
import { asObject, isStated, type Json } from '../bodies/json.ts';
import { inPlainSpelling, isOfGemini } from './gemini-usage.ts';
import { withIterations } from './iteration-usage.ts';

/** Token counts; null = not stated. `prompt` and `completion` include all kinds that stand below them. */
export interface Tokens {
  readonly prompt: number | null;
  readonly completion: number | null;
  /** At least `prompt` + `completion`; more when the upstream states more. */
  readonly total: number | null;
  readonly cacheRead: number | null;
  /** Written to a prompt cache, whatever its lifetime. */
  readonly cacheWrite: number | null;
  /** Of these, to the cache that lives for an hour. */
  readonly cacheWrite1h: number | null;
  readonly reasoning: number | null;
  /** Audio and image tokens that were not read from a cache. */
  readonly inputAudio: number | null;
  readonly outputAudio: number | null;
  readonly inputImage: number | null;
  readonly outputImage: number | null;
}

/** Nothing is stated. */
export const NO_TOKENS: Tokens = Object.freeze({
  prompt: null,
  completion: null,
  total: null,
  cacheRead: null,
  cacheWrite: null,
  cacheWrite1h: null,
  reasoning: null,
  inputAudio: null,
  outputAudio: null,
  inputImage: null,
  outputImage: null,
});

/** The counts of two parts of one answer; what only one of them states is known of that one alone. */
export function sumOfTokens(a: Tokens, b: Tokens): Tokens {
  const sum = (one: number | null, other: number | null): number | null =>
    one === null ? other : one + (other ?? 0);
  return {
    prompt: sum(a.prompt, b.prompt),
    completion: sum(a.completion, b.completion),
    total: sum(a.total, b.total),
    cacheRead: sum(a.cacheRead, b.cacheRead),
    cacheWrite: sum(a.cacheWrite, b.cacheWrite),
    cacheWrite1h: sum(a.cacheWrite1h, b.cacheWrite1h),
    reasoning: sum(a.reasoning, b.reasoning),
    inputAudio: sum(a.inputAudio, b.inputAudio),
    outputAudio: sum(a.outputAudio, b.outputAudio),
    inputImage: sum(a.inputImage, b.inputImage),
    outputImage: sum(a.outputImage, b.outputImage),
  };
}

/** Every token of a request in exactly one place: the sum is `Tokens.total`. */
export interface Buckets {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  readonly inputAudio: number;
  readonly inputImage: number;
  readonly output: number;
  readonly reasoning: number;
  readonly outputAudio: number;
  readonly outputImage: number;
  /** In the stated total and in neither part of it; their cost is unknown. */
  readonly unassigned: number;
}

/** Without a token, to be filled. */
export const emptyBuckets = (): { -readonly [kind in keyof Buckets]: number } => ({
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  inputImage: 0,
  output: 0,
  reasoning: 0,
  outputAudio: 0,
  outputImage: 0,
  unassigned: 0,
});

/** No request has a trillion tokens; below it every sum is exact. */
const MOST = 2 ** 40;

/** Counts, and sentences on what in them could not be used. */
export interface TokenReading {
  readonly tokens: Tokens;
  readonly doubts: readonly string[];
}

const NOTHING: TokenReading = Object.freeze({ tokens: NO_TOKENS, doubts: Object.freeze([]) });

/**
 * The counts of a usage object as the upstream sent it.
 *
 * Protocols by their spelling: `prompt_tokens` is chat completions; `input_tokens` with `input_tokens_details` is
 * responses, images and audio; `input_tokens` beside `cache_read_input_tokens` or `cache_creation_input_tokens` is
 * messages, whose `input_tokens` leaves the cached ones out
 * (docs.anthropic.com/en/docs/build-with-claude/prompt-caching); with neither the two mean the same;
 * `promptTokenCount` is Gemini (gemini-usage.ts). What messages state of compactions beside their counts is in the counts here
 * (iteration-usage.ts). Numbers that are negative, fractional, above 2^40 or no numbers count as missing, with a doubt.
 */
export function readTokens(usage: Json | null): TokenReading {
  return usage === null
    ? NOTHING
    : new Reader(isOfGemini(usage) ? inPlainSpelling(usage) : withIterations(usage)).read();
}

class Reader {
  readonly #usage: Json;
  readonly #input: Json | null;
  readonly #output: Json | null;
  readonly #doubts: string[] = [];

  constructor(usage: Json) {
    this.#usage = usage;
    this.#input =
      asObject(usage['prompt_tokens_details']) ??
      asObject(usage['input_tokens_details']) ??
      asObject(usage['input_token_details']); // transcripts
    this.#output = asObject(usage['completion_tokens_details']) ?? asObject(usage['output_tokens_details']);
  }

  read(): TokenReading {
    const cacheRead =
      this.#in(this.#input, 'cached_tokens') ??
      this.#of('cache_read_input_tokens') ??
      this.#of('prompt_cache_hit_tokens') ??
      this.#of('cached_tokens');
    const cacheWrite =
      this.#in(this.#input, 'cache_creation_tokens') ??
      this.#in(this.#input, 'cache_write_tokens') ??
      this.#of('cache_creation_input_tokens');
    const cached = (cacheRead ?? 0) + (cacheWrite ?? 0);
    const prompt = this.#whole('prompt', this.#of('prompt_tokens') ?? this.#promptOfInput(), cached);
    let completion = this.#of('completion_tokens') ?? this.#of('output_tokens');
    const stated = this.#of('total_tokens');
    const reasoning = this.#in(this.#output, 'reasoning_tokens') ?? this.#in(this.#output, 'thinking_tokens');
    // Some upstreams count the reasoning beside the completion; the total shows it.
    if (prompt !== null && completion !== null && reasoning !== null && reasoning > 0) {
      if (stated === prompt + completion + reasoning) completion += reasoning;
    }
    completion = this.#whole('completion', completion, reasoning ?? 0);
    const creation =
      asObject(this.#usage['cache_creation']) ?? asObject(this.#input?.['cache_creation_token_details']);
    const cachedDetails = asObject(this.#input?.['cached_tokens_details']);
    return {
      tokens: {
        prompt,
        completion,
        total: this.#total(prompt, completion, stated),
        cacheRead,
        cacheWrite,
        cacheWrite1h: this.#in(creation, 'ephemeral_1h_input_tokens'),
        reasoning,
        inputAudio: this.#uncached('audio_tokens', cachedDetails),
        outputAudio: this.#in(this.#output, 'audio_tokens'),
        inputImage: this.#uncached('image_tokens', cachedDetails),
        outputImage: this.#in(this.#output, 'image_tokens'),
      },
      doubts: this.#doubts,
    };
  }

  /** All prompt tokens of the responses and messages spellings. */
  #promptOfInput(): number | null {
    const input = this.#of('input_tokens');
    if (input === null || this.#input !== null) return input;
    // Stated wrongly is not the same as not stated: the sum would be too small.
    const addends = ['cache_read_input_tokens', 'cache_creation_input_tokens'].map((name) =>
      isStated(this.#usage[name]) ? countOf(this.#usage[name]) : 0,
    );
    return addends.reduce((sum, one) => (sum === null || one === null ? null : sum + one), input);
  }

  /** A side of the call is no less than its parts: some upstreams leave them out of it, and all of them are charged. */
  #whole(side: string, stated: number | null, parts: number): number | null {
    if (stated === null || stated >= parts) return stated;
    this.#doubts.push(`usage: the ${side} has ${stated} tokens, its parts have ${parts}`);
    return parts;
  }

  #total(prompt: number | null, completion: number | null, stated: number | null): number | null {
    const sum = prompt === null || completion === null ? null : prompt + completion;
    if (stated === null) return sum;
    const least = sum ?? Math.max(prompt ?? 0, completion ?? 0);
    if (sum === null ? stated < least : stated !== sum)
      this.#doubts.push(`usage: total_tokens is ${stated}, its parts are ${least}`);
    return Math.max(stated, least);
  }

  #uncached(name: string, cached: Json | null): number | null {
    const all = this.#in(this.#input, name);
    const read = this.#in(cached, name);
    return all === null || read === null ? all : Math.max(0, all - read);
  }

  #of(name: string): number | null {
    return this.#in(this.#usage, name);
  }

  #in(holder: Json | null, name: string): number | null {
    const value = holder?.[name];
    if (!isStated(value)) return null;
    const count = countOf(value);
    if (count === null) {
      const doubt = `usage: ${name} is no count of tokens`;
      if (!this.#doubts.includes(doubt)) this.#doubts.push(doubt);
    }
    return count;
  }
}

/**
 * Whether a usage object has the counts that a cost follows from. `missing`: nulls, texts or the total alone. `zero`: one of
 * them is 0, which some gateways state whatever they answer; it is a count only of an answer without text.
 * @param counted what is charged: the answer has no count where it has no tokens
 */
export function countsIn(
  usage: Json,
  counted: 'prompt' | 'prompt and answer',
): 'stated' | 'zero' | 'missing' {
  const isGemini = isOfGemini(usage); // leaves out what is 0
  const prompt = isGemini
    ? (countOf(usage['promptTokenCount']) ?? 0)
    : (countOf(usage['prompt_tokens']) ?? countOf(usage['input_tokens']));
  const completion = isGemini
    ? (countOf(usage['candidatesTokenCount']) ?? 0)
    : (countOf(usage['completion_tokens']) ?? countOf(usage['output_tokens']));
  const needsCompletion = counted === 'prompt and answer';
  if (prompt === null || (needsCompletion && completion === null)) return 'missing';
  if (prompt > 0 && (!needsCompletion || completion !== 0)) return 'stated';
  const { tokens } = readTokens(usage); // tokens of a cache and of thoughts may stand beside
  const isZero = !isSome(tokens.prompt) || (needsCompletion && !isSome(tokens.completion));
  return isZero ? 'zero' : 'stated';
}

/** It is stated, and more than 0. */
export const isSome = (count: number | null): count is number => count !== null && count > 0;

/** All of its counts are 0. A gateway that states usage with each event may end a stream so; what it stated before holds. */
export const hasNoCounts = (usage: Json): boolean =>
  withIterations(usage) === usage && // a pause after a compaction has counts there alone
  Object.values(usage).every((value) => typeof value !== 'number' || value === 0);

function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST ? value : null;
}

/**
 * Splits counts into buckets. A part never exceeds its whole: what an upstream states of a kind beyond what is left of
 * the prompt or completion is cut. null when neither is known, or when only one is and the total does not tell the other.
 */
export function bucketsOf(tokens: Tokens): Buckets | null {
  const sides = sidesOf(tokens);
  if (sides === null) return null;
  const { prompt, completion } = sides;
  const input = new Share(prompt);
  const cacheRead = input.take(tokens.cacheRead);
  const written = new Share(input.take(tokens.cacheWrite));
  const cacheWrite1h = written.take(tokens.cacheWrite1h);
  const inputAudio = input.take(tokens.inputAudio);
  const inputImage = input.take(tokens.inputImage);
  const output = new Share(completion);
  const reasoning = output.take(tokens.reasoning);
  const outputAudio = output.take(tokens.outputAudio);
  const outputImage = output.take(tokens.outputImage);
  return {
    input: input.left,
    cacheRead,
    cacheWrite: written.left,
    cacheWrite1h,
    inputAudio,
    inputImage,
    output: output.left,
    reasoning,
    outputAudio,
    outputImage,
    unassigned: Math.max(0, (tokens.total ?? 0) - prompt - completion),
  };
}

/** Embeddings state prompt and total only; some upstreams completion and total only. */
function sidesOf({ prompt, completion, total }: Tokens): { prompt: number; completion: number } | null {
  if (prompt !== null) return { prompt, completion: completion ?? Math.max(0, (total ?? prompt) - prompt) };
  if (completion === null || total === null) return null;
  return { prompt: Math.max(0, total - completion), completion };
}

class Share {
  left: number;

  constructor(whole: number) {
    this.left = whole;
  }

  take(part: number | null): number {
    const taken = Math.min(part ?? 0, this.left);
    this.left -= taken;
    return taken;
  }
}

/** What was counted beside tokens; `milliseconds` of audio, all others in ones. Absent = not counted. */
export interface Units {
  readonly images?: number;
  readonly milliseconds?: number;
  readonly characters?: number;
  /** Search units of a rerank call. */
  readonly queries?: number;
  /** Web searches that the model made. */
  readonly searches?: number;
  /** Further tools of the upstream that it used: searches in stored files and on maps, containers that code ran in. */
  readonly fileSearches?: number;
  readonly mapSearches?: number;
  readonly containers?: number;
}

const MOST_SECONDS = 1e9;

/** The units that a usage object states: seconds of audio, search units of a rerank, web searches. */
export function readUnits(usage: Json | null): Units {
  if (usage === null) return {};
  const seconds = usage['seconds'];
  const queries = countOf(usage['search_units']);
  const details = asObject(usage['prompt_tokens_details']);
  const searches = countOf(
    asObject(usage['server_tool_use'])?.['web_search_requests'] ??
      details?.['web_search_requests'] ??
      asObject(usage['server_side_tool_usage_details'])?.['web_search_calls'], // xAI
  );
  const units: Mutable<Units> = {};
  if (isSeconds(seconds)) units.milliseconds = Math.round(seconds * 1000);
  if (queries !== null) units.queries = queries;
  if (searches !== null && searches !== 0) units.searches = searches;
  return units;
}

/** A plausible length of audio, seconds. */
export function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MOST_SECONDS;
}
