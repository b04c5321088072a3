// The usage of a session: the sum of what its responses state. A response states its own tokens, so nothing counts twice
// (platform.openai.com/docs/api-reference/realtime-server-events/response/done).
import { asObject, type Json } from '../../bodies/json.ts';
import { readTokens, type TokenReading } from '../usage.ts';

/** The counts of a response; what else it states is not added up. */
const COUNTS: readonly string[] = ['input_tokens', 'output_tokens', 'total_tokens'];
const INPUT_DETAILS: readonly string[] = ['text_tokens', 'audio_tokens', 'image_tokens', 'cached_tokens'];
const CACHED_DETAILS: readonly string[] = ['text_tokens', 'audio_tokens', 'image_tokens'];
const OUTPUT_DETAILS: readonly string[] = ['text_tokens', 'audio_tokens'];

/** What a session without a response has used. */
export const NO_USAGE: Json = Object.freeze({ input_tokens: 0, output_tokens: 0, total_tokens: 0 });

export function sumOfUsage(before: Json, more: Json): Json {
  const input = sumIn(before, more, 'input_token_details', INPUT_DETAILS);
  const cached = sumIn(
    asObject(before['input_token_details']) ?? {},
    asObject(more['input_token_details']) ?? {},
    'cached_tokens_details',
    CACHED_DETAILS,
  );
  const output = sumIn(before, more, 'output_token_details', OUTPUT_DETAILS);
  return {
    ...sums(before, more, COUNTS),
    ...(input === null
      ? {}
      : { input_token_details: cached === null ? input : { ...input, cached_tokens_details: cached } }),
    ...(output === null ? {} : { output_token_details: output }),
  };
}

/** The counts of a session: in the spelling of its events, which call the details otherwise than all other APIs. */
export function readRealtimeTokens(usage: Json | null): TokenReading {
  const details = asObject(usage?.['output_token_details']);
  return readTokens(
    usage === null || details === null ? usage : { ...usage, output_tokens_details: details },
  );
}

function sumIn(before: Json, more: Json, member: string, names: readonly string[]): Json | null {
  const [a, b] = [asObject(before[member]), asObject(more[member])];
  return a === null && b === null ? null : sums(a ?? {}, b ?? {}, names);
}

/** What neither states is not stated. */
function sums(a: Json, b: Json, names: readonly string[]): Json {
  const sum: Record<string, number> = {};
  for (const name of names) {
    const stated = [a[name], b[name]].filter((one) => one !== undefined && one !== null);
    if (stated.length > 0) sum[name] = stated.reduce<number>((all, one) => all + countOf(one), 0);
  }
  return sum;
}

/** Anything that is no count makes the sum none: it is recorded as a doubt. */
const countOf = (value: unknown): number => (typeof value === 'number' ? value : Number.NaN);
