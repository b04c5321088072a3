// Reads a request of chat completions (platform.openai.com/docs/api-reference/chat/create), with what LiteLLM's dialect adds:
// `reasoning_content` and `thinking_blocks` of assistant messages, `cache_control` of parts.
import { asObject, isStated, objectIn, type Json } from '../../../bodies/json.ts';
import { allowedNames, onlyAllowed } from '../allowed-tools.ts';
import type { Conversation, Effort, Settings, Stated, TextPart, Tool, ToolChoice, Turn } from '../form.ts';
import type { Losses } from '../losses.ts';
import { leaveOpenAiRest, readEffort, readStructure } from '../openai-members.ts';
import {
  invalid,
  listOf,
  objectOf,
  optionalCount,
  optionalFlag,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalText,
  requiredText,
  stated,
} from '../read.ts';
import { cacheOf } from '../request-hints.ts';
import { readMessage } from './message-reader.ts';

const KNOWN: ReadonlySet<string> = new Set([
  'frequency_penalty',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'modalities',
  'model',
  'n',
  'parallel_tool_calls',
  'presence_penalty',
  'prompt_cache_key',
  'reasoning_effort',
  'response_format',
  'safety_identifier',
  'seed',
  'stop',
  'stream',
  'stream_options',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'top_k',
  'top_p',
  'user',
  'verbosity',
]);

export function readRequest(request: Json, losses: Losses): Conversation {
  const messages = listOf(request['messages'], 'messages');
  if (messages.length === 0) invalid('messages', 'a list of at least one message');
  const { instructions, turns } = partedInstructions(
    messages.map((message, index) => {
      const path = `messages[${index}]`;
      return readMessage(objectOf(message, path), path, losses);
    }),
  );
  leaveOpenAiRest(request, KNOWN, losses);
  leaveDefaults(request, losses);
  const options = optionalObject(request, 'stream_options');
  const tools = optionalList(request, 'tools').flatMap((tool, index) => {
    const path = `tools[${index}]`;
    return readTool(objectOf(tool, path), path, losses) ?? [];
  });
  const allowed = allowedTools(request['tool_choice']);
  return {
    instructions,
    turns,
    tools: onlyAllowed(tools, allowed && allowedNames(allowed, 'tool_choice.allowed_tools')),
    outputLimit: optionalCount(request, 'max_completion_tokens') ?? optionalCount(request, 'max_tokens'),
    settings: readSettings(request),
    showThoughts: null,
    cacheKey: optionalText(request, 'prompt_cache_key'),
    usageInStream: options?.['include_usage'] === true,
  };
}

/** Leading messages of the system are the instructions. */
function partedInstructions(read: readonly Turn[]): {
  readonly instructions: readonly TextPart[];
  readonly turns: readonly Turn[];
} {
  const first = read.findIndex(({ role }) => role !== 'system');
  const count = first < 0 ? read.length : first;
  const texts = read.slice(0, count).flatMap(({ parts }) => parts);
  return {
    instructions: texts.filter((part): part is TextPart => part.kind === 'text'),
    turns: read.slice(count),
  };
}

/** Members that ask for something else than one text, unless they state the default. */
function leaveDefaults(request: Json, losses: Losses): void {
  const n = optionalCount(request, 'n');
  if (n !== null && n !== 1) losses.cannot('n', 'its protocol gives one answer to a request.');
  if (optionalFlag(request, 'logprobs') === true)
    losses.cannot('logprobs', 'its protocol states no probabilities of tokens.');
  const modalities = optionalList(request, 'modalities');
  if (modalities.some((one) => one !== 'text')) losses.cannot('modalities', 'only text can be carried.');
}

function readSettings(request: Json): Settings {
  const choice = request['tool_choice'];
  const format = optionalObject(request, 'response_format');
  const holder = format === null ? null : (optionalObject(format, 'json_schema', 'response_format') ?? {});
  const structure =
    format === null || holder === null ? null : readStructure(format, holder, 'response_format');
  const user = optionalText(request, 'user');
  const identifier = optionalText(request, 'safety_identifier');
  return {
    ...stated('temperature', optionalNumber(request, 'temperature'), 'temperature'),
    ...stated('topP', optionalNumber(request, 'top_p'), 'top_p'),
    ...stated('topK', optionalCount(request, 'top_k'), 'top_k'),
    ...stated('seed', optionalNumber(request, 'seed'), 'seed'),
    ...stated('presencePenalty', optionalNumber(request, 'presence_penalty') || null, 'presence_penalty'),
    ...stated('frequencyPenalty', optionalNumber(request, 'frequency_penalty') || null, 'frequency_penalty'),
    ...stated('stop', readStop(request['stop']), 'stop'),
    ...readThinking(request),
    ...stated('structure', structure, 'response_format'),
    ...stated('verbosity', optionalText(request, 'verbosity'), 'verbosity'),
    ...stated('user', identifier ?? user, identifier === null ? 'user' : 'safety_identifier'),
    ...stated('choice', isStated(choice) ? readChoice(choice) : null, 'tool_choice'),
    ...stated('parallel', optionalFlag(request, 'parallel_tool_calls'), 'parallel_tool_calls'),
  };
}

/** LiteLLM takes Anthropic's `thinking` too. */
function readThinking(request: Json): { readonly effort?: Stated<Effort> } {
  const effort = readEffort(optionalText(request, 'reasoning_effort'), 'reasoning_effort');
  const thinking = optionalObject(request, 'thinking');
  if (thinking === null || effort.effort !== undefined) return effort;
  const tokens = optionalCount(thinking, 'budget_tokens', 'thinking');
  if (thinking['type'] === 'disabled') return stated('effort', { kind: 'off' } as const, 'thinking');
  if (tokens === null) return stated('effort', { kind: 'adaptive' } as const, 'thinking');
  return stated('effort', { kind: 'budget', tokens } as const, 'thinking');
}

function readStop(value: unknown): readonly string[] | null {
  if (!isStated(value)) return null;
  const list = typeof value === 'string' ? [value] : listOf(value, 'stop');
  const texts = list.filter((one) => typeof one === 'string');
  if (texts.length !== list.length) invalid('stop', 'a text or a list of texts');
  return texts.length === 0 ? null : texts;
}

function allowedTools(value: unknown): Json | null {
  return objectIn(asObject(value), 'allowed_tools');
}

function readChoice(value: unknown): ToolChoice {
  if (value === 'auto' || value === 'none') return { kind: value };
  if (value === 'required' || value === 'any') return { kind: 'any' };
  const allowed = allowedTools(value);
  if (allowed !== null) return { kind: allowed['mode'] === 'required' ? 'any' : 'auto' };
  const choice = asObject(value);
  const named = asObject(choice?.['function']) ?? asObject(choice?.['custom']);
  if (named === null) return invalid('tool_choice', 'auto, none, required or the name of a function');
  return { kind: 'tool', name: requiredText(named, 'name', 'tool_choice.function'), namespace: null };
}

function readTool(tool: Json, path: string, losses: Losses): Tool | null {
  const type = optionalText(tool, 'type', path) ?? 'function';
  const common = { namespace: null, ...cacheOf(tool) };
  if (type === 'custom') {
    const custom = objectOf(tool['custom'], `${path}.custom`);
    const format = optionalObject(custom, 'format', `${path}.custom`);
    return {
      ...common,
      name: requiredText(custom, 'name', `${path}.custom`),
      description: optionalText(custom, 'description', `${path}.custom`),
      schema: null,
      strict: null,
      format: asObject(format?.['grammar']) ?? format,
    };
  }
  if (type !== 'function') {
    losses.cannot('tools', `it has no tool of the type ${type.slice(0, 40)}.`);
    return null;
  }
  const definition = objectOf(tool['function'], `${path}.function`);
  return {
    ...common,
    name: requiredText(definition, 'name', `${path}.function`),
    description: optionalText(definition, 'description', `${path}.function`),
    schema: optionalObject(definition, 'parameters', `${path}.function`) ?? NO_INPUT,
    strict: optionalFlag(definition, 'strict', `${path}.function`),
    format: null,
  };
}

const NO_INPUT: Json = Object.freeze({ type: 'object', properties: {} });
