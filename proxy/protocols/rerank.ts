// Rerank, `POST /v1/rerank` (docs.cohere.com/reference/rerank), charged by search units, or by the tokens of what is ranked.
import type { Json } from '../bodies/json.ts';
import { endpoint } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { TASK } from './task.ts';
import { readTokens, type TokenReading } from './usage.ts';

export const rerank: Protocol = {
  ...TASK,
  name: 'rerank',
  endpoints: [endpoint('rerank', 'arerank')],
  readTokens: readRanked,
};

/** Jina and Voyage state the total alone; nothing is written, so all of it was read. */
function readRanked(usage: Json | null): TokenReading {
  const { tokens, doubts } = readTokens(usage);
  const isTotalAlone = tokens.prompt === null && tokens.completion === null;
  return { tokens: isTotalAlone ? { ...tokens, prompt: tokens.total } : tokens, doubts };
}
