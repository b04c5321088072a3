// What the checks expect of answers, and how they read them.
import assert from 'node:assert/strict';
import type { Answer } from '../../support/rig.ts';
import { rowOf, type Chain } from './chain.ts';

export type Json = Readonly<Record<string, unknown>>;

export const DELTA = ['choices', 0, 'delta'] as const;
export const FINISH = ['choices', 0, 'finish_reason'] as const;
export const WEATHER = { city: 'Oslo', days: 3 };
export const PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
};
export const TOOLS = [
  { type: 'function', function: { name: 'weather', description: 'The weather.', parameters: PARAMETERS } },
];

/** The provider's text for a model. */
export const says = (model: string): RegExp =>
  new RegExp(`^Hello from ${model}: the demo gateway heard \\d+ words\\.$`);

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member of members; undefined where one of them is not there. */
export function dig(value: unknown, ...path: readonly (string | number)[]): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Readonly<Record<string | number, unknown>>)[step];
  }
  return at;
}

/** The same, as a text; '' = there is none. */
export function text(value: unknown, ...path: readonly (string | number)[]): string {
  const found = dig(value, ...path);
  return typeof found === 'string' ? found : '';
}

export function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

/** The counts of the row are those of the provider, and what the client was told, where it was told any. */
export async function equalUsage(chain: Chain, answer: Answer, told: unknown): Promise<void> {
  const { prompt_tokens: prompt, completion_tokens: completion, ...row } = await rowOf(chain, answer);
  // A question of three words, of which the provider makes six tokens; its sentence has nine.
  assert.deepEqual([prompt, completion], [6, 9], 'counts of the row');
  assert.equal(row['usage_source'], 'upstream', 'source of the counts');
  if (told === undefined) return;
  const counted = [
    dig(told, 'prompt_tokens') ?? dig(told, 'input_tokens') ?? dig(told, 'promptTokenCount'),
    dig(told, 'completion_tokens') ?? dig(told, 'output_tokens') ?? dig(told, 'candidatesTokenCount'),
  ];
  assert.deepEqual(counted, [6, 9], 'counts of the answer');
}
