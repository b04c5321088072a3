// The most that a call may cost: what it reserves before it goes upstream. Pure. Every token of the prompt at the dearest price
// that input may have, output up to what the request allows and the model can, other units as the request states them; at the
// dearest of the deployments that may serve it.
import { picoOf, TOO_LARGE, type ChargeTerms, type PriceSources } from '../../spend/record/cost.ts';
import type { TokenKind, UnitKind } from '../../../config/price-table.ts';
import type { Mutable } from '../../base/mutable.ts';
import { emptyBuckets, type Units } from '../../protocols/usage.ts';
import { promptTokensAtMost } from './prompt-tokens.ts';

/**
 * Where neither the request nor the model says how long an answer may be; the dialect reserves as much. A budget must hold, so this
 * is what it may have; limits take an estimate (`UNSTATED_OUTPUT_ESTIMATE`).
 */
export const UNSTATED_OUTPUT_AT_MOST = 16_384;
/** The largest image of gpt-image-1 in high quality has 6,240 tokens. */
const IMAGE_OUTPUT_TOKENS = 6_240;
/** The largest that it reads, in high fidelity, has 6,500: more bytes are not more tokens. */
const IMAGE_INPUT_TOKENS = 7_000;
const IMAGE_BYTES_PER_TOKEN = 8;
/** No file of sound that is worth transcribing has less than 16 kbit/s. */
const SOUND_BYTES_PER_MS = 2;
/** Of sound that is billed by the token: 32 of them a second (Gemini; others take 10), at 16 kbit/s. Speech is fewer. */
const SOUND_BYTES_PER_TOKEN = 62;
/** No call is taken to ask for more; one of which it is not known how many it asks for, to ask for as many. */
export const MOST_IMAGES = 1_000;
/** Of spoken text: 1.5 tokens of sound where it is English, some 4 where it is Chinese. */
const SPEECH_TOKENS_PER_CHARACTER = 5;
/** Of one answer: what vendors allow by default. */
const MOST_USES = 10;
/** A code interpreter runs in one container. */
const MOST_CONTAINERS = 1;
/** How requests state another number of uses; who asks for more gets more. */
const USES_STATED = /"max_(?:tool_calls|uses)"\s*:\s*(\d{1,6})/g;

/** The texts are looked for first: most bodies have none. */
interface Statement {
  readonly texts: readonly string[];
  readonly pattern: RegExp;
}

/** As the kind of a tool or as a member: not within a text, and not as the name of a function that the client runs. */
const statedBy = (...texts: readonly string[]): Statement => ({
  texts,
  pattern: new RegExp(`(?<!\\\\|"name"\\s*:\\s*)"(?:${texts.join('|')})`),
});

/** A tool of upstreams. */
interface Tool {
  readonly count: keyof Units;
  readonly prices: readonly UnitKind[];
  /** How a request that may use it says so; or it asks a model whose name has the text. */
  readonly stated: Statement;
  readonly ofModel: string | null;
  readonly most: number;
}

const TOOLS: readonly Tool[] = [
  {
    count: 'searches',
    prices: ['searches', 'searchPrompts'],
    stated: statedBy(
      'web_search',
      'google_search',
      'googleSearch',
      'enterprise_web_search',
      'enterpriseWebSearch',
    ),
    ofModel: 'search', // gpt-4o-search-preview and its like search without being asked
    most: MOST_USES,
  },
  {
    count: 'fileSearches',
    prices: ['fileSearches'],
    stated: statedBy('file_search'),
    ofModel: null,
    most: MOST_USES,
  },
  {
    count: 'mapSearches',
    prices: ['mapSearches', 'mapPrompts'],
    stated: statedBy('google_maps', 'googleMaps'),
    ofModel: null,
    most: MOST_USES,
  },
  {
    count: 'containers',
    prices: ['containers'],
    stated: statedBy('code_interpreter'),
    ofModel: null,
    most: MOST_CONTAINERS,
  },
];

/** Service tiers that cost less than ordinary calls: who asks for one does not always get it. */
const CHEAPER: ReadonlySet<string> = new Set(['flex', 'balanced', 'batch']);

/** More than a row can say; no call costs as much. */
const MOST_PICO = BigInt(Number.MAX_SAFE_INTEGER);

/** What is charged beside the tokens of the answer. */
type PricedBy = 'tokens' | 'images' | 'characters';

/** What a request says of its own size. */
export interface RequestSize {
  readonly body: Buffer;
  /** Of a body that is no form, where it is counted elsewhere too. */
  readonly promptTokens?: () => number;
  /** Of a form, how many parts it has; null = it is none. */
  readonly formParts: number | null;
  readonly pricedBy: PricedBy;
  /** The endpoint answers with tokens that a model writes. */
  readonly writes: boolean;
  /** `max_tokens` and its other names; null = not stated. */
  readonly maxOutput: number | null;
  /** Answers that are asked for. */
  readonly choices: number;
  readonly units: Units;
  readonly serviceTier: string | null;
}

/** A deployment that may serve the call. */
export interface Candidate {
  readonly model: string;
  readonly prices: PriceSources;
  /** What the model can write at most; null = not known. */
  readonly maxOutput: number | null;
  /** What a request asks of this deployment, where its entry states members of requests; absent: what it asks of all. */
  readonly asked?: Pick<RequestSize, 'maxOutput' | 'choices' | 'serviceTier'>;
}

/** The most that a call may cost, in pico-dollars. */
export interface ReservedCost {
  /** 0n where no price is known. */
  readonly pico: bigint;
  /** Of `pico`, what the prompt costs: asked where a call is refused, or its end leaves open what it cost. */
  readonly inputPico: () => bigint;
  /** Tokens of output that `pico` pays for. */
  readonly output: number;
  /** Why there is no amount; '' = there is. */
  readonly reason: string;
}

/** What a call reserves, and what of it is for one answer. */
export interface CallCost {
  readonly whole: ReservedCost;
  readonly answer: ReservedCost;
  /** How often the stream of the answer may go on elsewhere. */
  readonly continuations: number;
}

/** Of a call whose answer comes from one deployment, as far as it costs anything. */
export const costOfOne = (answer: ReservedCost): CallCost => ({
  whole: answer,
  answer,
  continuations: answer.pico === 0n ? Infinity : 0,
});

/**
 * Of a stream that another deployment may go on with: that one reads the prompt and what was said, and may write as much.
 * @param once of a call that is answered by one
 */
export function withContinuation(
  answer: ReservedCost,
  once: ReservedCost,
  request: RequestSize,
  candidates: readonly Candidate[],
): CallCost {
  if (answer.pico === 0n) return costOfOne(answer);
  const promptTokens = (): number => promptOf(request) + once.output;
  const further = mostCost({ ...request, promptTokens }, candidates);
  const inputPico = (): bigint => answer.inputPico() + once.inputPico();
  return { whole: { ...answer, pico: answer.pico + further.pico, inputPico }, answer, continuations: 1 };
}

/** Of a call that costs nothing, whatever it says. */
export const FREE: ReservedCost = Object.freeze({ pico: 0n, inputPico: () => 0n, output: 0, reason: '' });

/** Of the dearest candidate; those without a price count nothing beside others that have one. */
export function mostCost(request: RequestSize, candidates: readonly Candidate[]): ReservedCost {
  const prompt = promptOf(request);
  let dearest: ReservedCost | null = null;
  let reason = '';
  for (const candidate of candidates) {
    const cost = costAtMost(request, prompt, candidate);
    if (cost.reason !== '') reason ||= cost.reason;
    else if (dearest === null || cost.pico > dearest.pico) dearest = cost;
  }
  if (dearest !== null) return dearest;
  return { ...FREE, reason: reason || 'no deployment is known' };
}

function promptOf({ body, promptTokens, formParts, pricedBy }: RequestSize): number {
  if (formParts === null) return promptTokens?.() ?? promptTokensAtMost(body);
  if (pricedBy !== 'images') return soundTokens(body);
  return Math.min(Math.ceil(body.length / IMAGE_BYTES_PER_TOKEN), formParts * IMAGE_INPUT_TOKENS);
}

const soundTokens = (body: Buffer): number => Math.ceil(body.length / SOUND_BYTES_PER_TOKEN);

function costAtMost(size: RequestSize, prompt: number, candidate: Candidate): ReservedCost {
  const request = candidate.asked === undefined ? size : { ...size, ...candidate.asked };
  const output = outputOf(request, candidate);
  const charge = {
    units: unitsOf(request, candidate),
    serviceTier: CHEAPER.has(request.serviceTier ?? '') ? null : request.serviceTier,
    model: candidate.model,
  };
  const inputs = inputsOf(request, candidate);
  const outputs = outputsOf(request, candidate);
  const { prices } = candidate;
  const pico = dearestOf(charge, prices, { inputs, prompt, outputs, output });
  if (typeof pico === 'string') return { ...FREE, reason: pico };
  const inputPico = (): bigint => {
    const input = dearestOf(charge, prices, { inputs, prompt, outputs: PLAIN_OUTPUT, output: 0 });
    return typeof input === 'string' ? 0n : input;
  };
  return { pico, inputPico, output, reason: '' };
}

function outputOf(
  { body, formParts, writes, pricedBy, maxOutput, choices, units }: RequestSize,
  candidate: Candidate,
): number {
  if (pricedBy === 'images') return IMAGE_OUTPUT_TOKENS * (units.images ?? MOST_IMAGES);
  if (pricedBy === 'characters') return SPEECH_TOKENS_PER_CHARACTER * (units.characters ?? body.length);
  const limit = candidate.maxOutput ?? Infinity;
  if (formParts !== null) return Math.min(soundTokens(body), limit);
  if (!writes) return 0;
  const stated = maxOutput ?? (limit === Infinity ? UNSTATED_OUTPUT_AT_MOST : limit);
  return Math.min(Math.min(stated, limit) * choices, Number.MAX_SAFE_INTEGER);
}

const PLAIN_INPUT: readonly TokenKind[] = ['input'];
const PLAIN_OUTPUT: readonly TokenKind[] = ['output'];
const IMAGE_OUTPUT: readonly TokenKind[] = ['outputImage'];
/** As OpenAI's protocols hold sound and ask for it, and Gemini's; not the path of a file in a text. */
const SOUND = ['input_audio', 'data:audio', '"audio/', '"audio\\/'];
const AUDIO = ['"audio"', '"AUDIO"', '"Audio"'];

/** A prompt may be read from the cache, written to it for an hour, or hold sound: whichever costs most. */
function inputsOf({ body, formParts }: RequestSize, of: Candidate): readonly TokenKind[] {
  const kinds = [...PLAIN_INPUT];
  if (hasPrice(of, 'inputImage')) kinds.push('inputImage');
  const isForm = formParts !== null;
  if (hasPrice(of, 'inputAudio') && (isForm || SOUND.some((name) => body.includes(name))))
    kinds.push('inputAudio');
  if (isForm) return kinds;
  if (hasPrice(of, 'cacheWrite')) kinds.push('cacheWrite'); // some vendors cache by themselves
  if (hasPrice(of, 'cacheWrite1h') && body.includes('cache_control')) kinds.push('cacheWrite1h');
  return kinds;
}

/** A kind of tokens without a price of its own costs what others do, and is not counted apart. */
const hasPrice = ({ prices: { deployment, catalogue } }: Candidate, kind: TokenKind): boolean =>
  deployment?.tokens[kind] !== undefined || catalogue?.tokens[kind] !== undefined;

function outputsOf({ pricedBy, body, formParts }: RequestSize, of: Candidate): readonly TokenKind[] {
  if (pricedBy === 'images') return IMAGE_OUTPUT;
  const kinds = [...PLAIN_OUTPUT];
  if (hasPrice(of, 'reasoning')) kinds.push('reasoning');
  if (formParts !== null) return kinds;
  const isHeard = pricedBy === 'characters' || AUDIO.some((name) => body.includes(name));
  if (hasPrice(of, 'outputAudio') && isHeard) kinds.push('outputAudio');
  if (hasPrice(of, 'outputImage')) kinds.push('outputImage'); // some models draw without being asked
  return kinds;
}

/** The kinds that all tokens of a side may be of. */
interface TokenSides {
  readonly inputs: readonly TokenKind[];
  readonly prompt: number;
  readonly outputs: readonly TokenKind[];
  readonly output: number;
}

/** Pico-dollars of the dearest way to count the tokens, or why there is no price. */
function dearestOf(
  charge: ChargeTerms,
  prices: PriceSources,
  { inputs, prompt, outputs, output }: TokenSides,
): bigint | string {
  let most = -1;
  let reason = '';
  for (const input of inputs)
    for (const kind of outputs) {
      const buckets = emptyBuckets();
      buckets[input] = prompt;
      buckets[kind] = output;
      const pico = picoOf(charge, buckets, prices);
      if (pico === TOO_LARGE) return MOST_PICO;
      if (typeof pico === 'string') reason = pico;
      else if (pico > most) most = pico;
    }
  return most < 0 ? reason : BigInt(most);
}

function unitsOf(
  { units, body, formParts, pricedBy }: RequestSize,
  { model, prices: { deployment, catalogue } }: Candidate,
): Units {
  const uses: Mutable<Units> = {};
  if (formParts === null)
    for (const { count, prices, stated, ofModel, most } of TOOLS) {
      const isPriced = prices.some(
        (unit) => deployment?.units[unit] !== undefined || catalogue?.units[unit] !== undefined,
      );
      if (!isPriced) continue;
      if ((ofModel !== null && model.includes(ofModel)) || isStated(stated, body))
        uses[count] = most === MOST_USES ? usesAtMost(body) : most;
    }
  return {
    queries: 1,
    ...uses,
    ...(pricedBy === 'images' ? { images: MOST_IMAGES } : {}),
    ...(formParts !== null && pricedBy === 'tokens'
      ? { milliseconds: Math.ceil(body.length / SOUND_BYTES_PER_MS) }
      : {}),
    ...units,
  };
}

const isStated = ({ texts, pattern }: Statement, body: Buffer): boolean =>
  texts.some((text) => body.includes(text)) && pattern.test(body.toString('latin1'));

function usesAtMost(body: Buffer): number {
  let most = MOST_USES;
  if (!body.includes('max_tool_calls"') && !body.includes('max_uses"')) return most;
  for (const [, stated] of body.toString('latin1').matchAll(USES_STATED))
    most = Math.max(most, Number(stated));
  return most;
}

/** The longest answer that so much pays for; null = not even the prompt, or the answer is not what costs. */
export function outputWithin(cost: ReservedCost, leftPico: bigint, choices: number): number | null {
  const { pico, output } = cost;
  const inputPico = cost.inputPico();
  if (output === 0 || pico <= inputPico || leftPico <= inputPico) return null;
  const tokens = Number(((leftPico - inputPico) * BigInt(output)) / (pico - inputPico));
  const each = Math.floor(tokens / choices);
  return each >= 1 ? each : null;
}
