// Members that requests of OpenAI's two protocols share, and those that the proxy itself or a gateway reads in any protocol.
import { isStated, type Json } from '../../bodies/json.ts';
import { isLevel } from './effort.ts';
import type { Effort, Stated, Structure } from './form.ts';
import type { Losses } from './losses.ts';
import { invalid, objectOf, optionalFlag, optionalText, stated, statedMembers } from './read.ts';

/** Of gateways and clients: they say nothing to a model (docs.litellm.ai/docs/proxy/clientside_auth, reliability, tags). */
const OF_GATEWAYS: ReadonlySet<string> = new Set([
  'allowed_openai_params',
  'cache',
  'client_metadata',
  'drop_params',
  'extra_body',
  'extra_headers',
  'fallbacks',
  'guardrails',
  'max_retries',
  'num_retries',
  'request_timeout',
  'tags',
  'timeout',
]);

/** Say nothing about the answer itself: storage, tiers, labels, speed. */
const OPENAI_HINTS: ReadonlySet<string> = new Set([
  'metadata',
  'prediction',
  'prompt_cache_breakpoint',
  'prompt_cache_options',
  'prompt_cache_retention',
  'service_tier',
  'store',
  'stream_options',
]);

/** Drops or refuses what a reader does not know. */
export function leaveRest(
  request: Json,
  known: ReadonlySet<string>,
  hints: ReadonlySet<string>,
  losses: Losses,
): void {
  for (const member of statedMembers(request)) {
    if (known.has(member)) continue;
    if (hints.has(member) || OF_GATEWAYS.has(member)) losses.drop(member);
    else losses.cannot(member, 'its protocol has no such member.');
  }
}

/** The same for OpenAI's two protocols, whose hints are the same. */
export function leaveOpenAiRest(request: Json, known: ReadonlySet<string>, losses: Losses): void {
  leaveRest(request, known, OPENAI_HINTS, losses);
}

/** @param member the dotted path, for messages */
export function readEffort(value: string | null, member: string): { readonly effort?: Stated<Effort> } {
  if (value === null) return {};
  if (!isLevel(value)) invalid(member, 'none, minimal, low, medium, high, xhigh or max');
  return stated('effort', { kind: 'level', level: value } as const, member);
}

/**
 * `json_schema` of chat completions, or the flat form of responses.
 * @param format the object with `type`
 * @param holder the object with `schema`
 */
export function readStructure(format: Json, holder: Json, member: string): Structure | null {
  const type = optionalText(format, 'type', member);
  if (type === 'text' || type === null) return null;
  if (type === 'json_object') return { kind: 'json' };
  if (type !== 'json_schema') invalid(`${member}.type`, 'text, json_object or json_schema');
  return {
    kind: 'schema',
    name: optionalText(holder, 'name', member),
    description: optionalText(holder, 'description', member),
    schema: isStated(holder['schema']) ? objectOf(holder['schema'], `${member}.schema`) : {},
    strict: optionalFlag(holder, 'strict', member),
  };
}

/** The same, written: what `json_schema` of chat completions holds, or the flat form of responses. */
export function writeSchema(structure: Extract<Structure, { kind: 'schema' }>): Json {
  const { name, description, schema, strict } = structure;
  return {
    name: name ?? 'answer',
    ...(description === null ? {} : { description }),
    schema,
    ...(strict === null ? {} : { strict }),
  };
}
