// Reads a request of Anthropic's messages (platform.claude.com/docs/en/api/messages).
import { asObject, isStated, type Json } from '../../../bodies/json.ts';
import { isLevel } from '../effort.ts';
import type {
  Conversation,
  Effort,
  Settings,
  Stated,
  Structure,
  TextPart,
  Tool,
  ToolChoice,
  Turn,
} from '../form.ts';
import type { Losses } from '../losses.ts';
import { leaveRest } from '../openai-members.ts';
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
  optionalTexts,
  requiredText,
  stated,
  textOf,
} from '../read.ts';
import { cacheOf } from '../request-hints.ts';
import { requiresAll } from '../schemas.ts';
import { lastCompaction, summaryTurn } from './compaction.ts';
import { readMessage } from './message-reader.ts';

const KNOWN: ReadonlySet<string> = new Set([
  'max_tokens',
  'messages',
  'metadata',
  'model',
  'output_config',
  'output_format',
  'stop_sequences',
  'stream',
  'system',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'top_k',
  'top_p',
]);
/** `context_management` clears what the model has seen long ago; Claude Code sends it with every call. */
const HINTS: ReadonlySet<string> = new Set([
  'betas',
  'cache_control',
  'context_management',
  'diagnostics',
  'service_tier',
  'speed',
]);
/** Claude Code's first block of the system prompt. It changes with every call, so no prompt cache would hit. */
const BILLING_HEADER = 'x-anthropic-billing-header';
/** The id of the session in `metadata.user_id`, as JSON or at the end of a text. */
const SESSION = /session_(?:id"\s*:\s*")?([0-9a-f-]{36})/;

export function readRequest(request: Json, losses: Losses): Conversation {
  const messages = listOf(request['messages'], 'messages');
  if (messages.length === 0) invalid('messages', 'a list of at least one message');
  leaveRest(request, KNOWN, HINTS, losses);
  const user = readUser(request);
  return {
    instructions: readSystem(request['system'], losses),
    turns: readTurns(messages, losses),
    tools: optionalList(request, 'tools').flatMap((tool, index) => {
      const path = `tools[${index}]`;
      return readTool(objectOf(tool, path), path, losses) ?? [];
    }),
    outputLimit: optionalCount(request, 'max_tokens'),
    settings: { ...readSettings(request), ...stated('user', user, 'metadata.user_id') },
    showThoughts: readShow(request),
    cacheKey: user === null ? null : (SESSION.exec(user)?.[1] ?? null),
    usageInStream: true,
  };
}

function readTurns(messages: readonly unknown[], losses: Losses): readonly Turn[] {
  const compaction = lastCompaction(messages);
  const first = compaction?.message ?? 0;
  const turns = messages.slice(first).map((message, place) => {
    const path = `messages[${first + place}]`;
    return readMessage(objectOf(message, path), path, losses, place === 0 ? compaction?.next : 0);
  });
  return compaction === null ? turns : [summaryTurn(compaction), ...turns];
}

function readUser(request: Json): string | null {
  const metadata = optionalObject(request, 'metadata');
  return metadata === null ? null : optionalText(metadata, 'user_id', 'metadata');
}

function readSystem(system: unknown, losses: Losses): readonly TextPart[] {
  if (!isStated(system)) return [];
  if (typeof system === 'string') return system === '' ? [] : [{ kind: 'text', text: system }];
  return listOf(system, 'system').flatMap((one, index): TextPart[] => {
    const path = `system[${index}]`;
    const block = objectOf(one, path);
    if (block['type'] !== 'text') invalid(`${path}.type`, '`text`');
    const text = textOf(block['text'], `${path}.text`);
    if (text.startsWith(BILLING_HEADER)) {
      losses.drop(`system.${BILLING_HEADER}`);
      return [];
    }
    return text === '' ? [] : [{ kind: 'text', text, ...cacheOf(block) }];
  });
}

function readSettings(request: Json): Settings {
  const choice = optionalObject(request, 'tool_choice');
  const isSerial = choice === null ? null : optionalFlag(choice, 'disable_parallel_tool_use', 'tool_choice');
  return {
    ...stated('temperature', optionalNumber(request, 'temperature'), 'temperature'),
    ...stated('topP', optionalNumber(request, 'top_p'), 'top_p'),
    ...stated('topK', optionalCount(request, 'top_k'), 'top_k'),
    ...stated('stop', optionalTexts(request, 'stop_sequences'), 'stop_sequences'),
    ...readEffort(request),
    ...readStructure(request),
    ...stated('choice', choice === null ? null : readChoice(choice), 'tool_choice'),
    ...stated('parallel', isSerial === true ? false : null, 'tool_choice.disable_parallel_tool_use'),
  };
}

/** `output_config.effort` is the finer word; a `budget_tokens` beside it says how much at most. */
function readEffort(request: Json): { readonly effort?: Stated<Effort> } {
  const thinking = optionalObject(request, 'thinking');
  const type = thinking === null ? null : requiredText(thinking, 'type', 'thinking');
  // Anthropic itself takes `between_tools` for `disabled` where a model does not have it.
  if (type === 'disabled' || type === 'between_tools')
    return stated('effort', { kind: 'off' } as const, 'thinking');
  const config = optionalObject(request, 'output_config');
  const level = config === null ? null : optionalText(config, 'effort', 'output_config');
  if (level !== null) {
    if (!isLevel(level)) invalid('output_config.effort', 'low, medium, high, xhigh or max');
    return stated('effort', { kind: 'level', level } as const, 'output_config.effort');
  }
  if (thinking === null) return {};
  if (type === 'adaptive') return stated('effort', { kind: 'adaptive' } as const, 'thinking');
  if (type !== 'enabled') invalid('thinking.type', 'enabled, adaptive, between_tools or disabled');
  const tokens =
    optionalCount(thinking, 'budget_tokens', 'thinking') ?? invalid('thinking.budget_tokens', 'a number');
  return stated('effort', { kind: 'budget', tokens } as const, 'thinking.budget_tokens');
}

function readShow(request: Json): boolean | null {
  const thinking = asObject(request['thinking']);
  return thinking === null ? null : thinking['type'] !== 'disabled' && thinking['display'] !== 'omitted';
}

function readStructure(request: Json): { readonly structure?: Stated<Structure> } {
  const config = optionalObject(request, 'output_config');
  const inner = config === null ? null : optionalObject(config, 'format', 'output_config');
  const format = inner ?? optionalObject(request, 'output_format');
  if (format === null) return {};
  const member = inner === null ? 'output_format' : 'output_config.format';
  if (format['type'] !== 'json_schema') invalid(`${member}.type`, '`json_schema`');
  const schema = objectOf(format['schema'], `${member}.schema`);
  return stated(
    'structure',
    {
      kind: 'schema',
      name: null,
      description: null,
      schema,
      strict: requiresAll(schema) ? true : null,
    } as const,
    member,
  );
}

function readChoice(choice: Json): ToolChoice {
  const { type } = choice;
  if (type === 'auto' || type === 'any' || type === 'none') return { kind: type };
  if (type !== 'tool') invalid('tool_choice.type', 'auto, any, tool or none');
  return { kind: 'tool', name: requiredText(choice, 'name', 'tool_choice'), namespace: null };
}

function readTool(tool: Json, path: string, losses: Losses): Tool | null {
  const type = optionalText(tool, 'type', path) ?? 'custom';
  if (type !== 'custom') {
    losses.cannot('tools', `it has no tool of the type ${type.slice(0, 40)}.`);
    return null;
  }
  return {
    name: requiredText(tool, 'name', path),
    namespace: null,
    description: optionalText(tool, 'description', path),
    schema: objectOf(tool['input_schema'], `${path}.input_schema`),
    strict: optionalFlag(tool, 'strict', path),
    format: null,
    ...cacheOf(tool),
  };
}
