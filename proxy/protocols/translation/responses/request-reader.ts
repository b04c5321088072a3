// Reads a request of responses (platform.openai.com/docs/api-reference/responses/create). What the vendor keeps between calls is
// not known to another: such requests are refused.
import { asObject, isStated, type Json } from '../../../bodies/json.ts';
import { allowedNames, onlyAllowed } from '../allowed-tools.ts';
import type { Conversation, Settings, TextPart, Tool, ToolChoice, Turn } from '../form.ts';
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
import { append } from '../turns.ts';
import { readItem } from './item-reader.ts';

const KNOWN: ReadonlySet<string> = new Set([
  'background',
  'conversation',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'model',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'reasoning',
  'safety_identifier',
  'stream',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
]);
/** What OpenAI does with a conversation that grows too long. */
const HINTS: readonly string[] = ['context_management', 'max_tool_calls', 'truncation'];

export function readRequest(request: Json, losses: Losses): Conversation {
  refuseStored(request, losses);
  const turns = readInput(request['input'], losses);
  for (const member of HINTS) if (isStated(request[member])) losses.drop(member);
  leaveOpenAiRest(request, new Set([...KNOWN, ...HINTS]), losses);
  if ((optionalCount(request, 'top_logprobs') ?? 0) > 0)
    losses.cannot('top_logprobs', 'its protocol states no probabilities of tokens.');
  const instructions = optionalText(request, 'instructions') ?? '';
  const first = turns.findIndex(({ role }) => role !== 'system');
  const count = first < 0 ? turns.length : first;
  const leading = turns.slice(0, count).flatMap(({ parts }) => parts);
  const reasoning = optionalObject(request, 'reasoning');
  const choice = asObject(request['tool_choice']);
  const tools = optionalList(request, 'tools').flatMap((tool, index) => {
    const path = `tools[${index}]`;
    return readTool(objectOf(tool, path), path, null, losses);
  });
  const summary = reasoning === null ? null : optionalText(reasoning, 'summary', 'reasoning');
  return {
    instructions: [
      ...(instructions === '' ? [] : [{ kind: 'text', text: instructions } as const]),
      ...leading.filter((part): part is TextPart => part.kind === 'text'),
    ],
    turns: turns.slice(count),
    tools: onlyAllowed(
      tools,
      choice?.['type'] === 'allowed_tools' ? allowedNames(choice, 'tool_choice') : null,
    ),
    outputLimit: optionalCount(request, 'max_output_tokens'),
    settings: readSettings(request, reasoning),
    showThoughts: summary === null ? null : summary !== 'none',
    cacheKey: optionalText(request, 'prompt_cache_key'),
    usageInStream: true,
  };
}

function refuseStored(request: Json, losses: Losses): void {
  for (const member of ['previous_response_id', 'conversation', 'prompt']) {
    if (isStated(request[member]))
      losses.refuse(
        member,
        'it names what a vendor has stored, and translated answers are not stored. Send the whole conversation in `input`, as clients do that are told `store: false`.',
      );
  }
  if (optionalFlag(request, 'background') === true)
    losses.refuse('background', 'answers in the background can be read from the vendor alone.');
}

/** One turn for neighbours that the same side says, so that parallel calls stay together. */
function readInput(input: unknown, losses: Losses): readonly Turn[] {
  if (typeof input === 'string') return [{ role: 'user', parts: [{ kind: 'text', text: input }] }];
  const items = listOf(input, 'input');
  if (items.length === 0) invalid('input', 'a text or a list of at least one item');
  const turns: { readonly role: Turn['role']; readonly parts: Turn['parts'][number][] }[] = [];
  for (const [index, item] of items.entries()) {
    const path = `input[${index}]`;
    const turn = readItem(objectOf(item, path), path, losses);
    const last = turns.at(-1);
    if (last !== undefined && last.role === turn?.role) append(last.parts, turn.parts);
    else if (turn !== null) turns.push({ role: turn.role, parts: [...turn.parts] });
  }
  return turns;
}

function readSettings(request: Json, reasoning: Json | null): Settings {
  const choice = request['tool_choice'];
  const text = optionalObject(request, 'text');
  const format = text === null ? null : optionalObject(text, 'format', 'text');
  const user = optionalText(request, 'user');
  const identifier = optionalText(request, 'safety_identifier');
  const effort = reasoning === null ? null : optionalText(reasoning, 'effort', 'reasoning');
  const verbosity = text === null ? null : optionalText(text, 'verbosity', 'text');
  return {
    ...stated('temperature', optionalNumber(request, 'temperature'), 'temperature'),
    ...stated('topP', optionalNumber(request, 'top_p'), 'top_p'),
    ...readEffort(effort, 'reasoning.effort'),
    ...stated(
      'structure',
      format === null ? null : readStructure(format, format, 'text.format'),
      'text.format',
    ),
    ...stated('verbosity', verbosity, 'text.verbosity'),
    ...stated('user', identifier ?? user, identifier === null ? 'user' : 'safety_identifier'),
    ...stated('choice', isStated(choice) ? readChoice(choice) : null, 'tool_choice'),
    ...stated('parallel', optionalFlag(request, 'parallel_tool_calls'), 'parallel_tool_calls'),
  };
}

function readChoice(value: unknown): ToolChoice {
  if (value === 'auto' || value === 'none') return { kind: value };
  if (value === 'required') return { kind: 'any' };
  const choice = asObject(value);
  if (choice?.['type'] === 'allowed_tools') return { kind: choice['mode'] === 'required' ? 'any' : 'auto' };
  if (choice === null || (choice['type'] !== 'function' && choice['type'] !== 'custom'))
    return invalid('tool_choice', 'auto, none, required or the name of a function');
  const name = requiredText(choice, 'name', 'tool_choice');
  return { kind: 'tool', name, namespace: optionalText(choice, 'namespace', 'tool_choice') };
}

function readTool(tool: Json, path: string, namespace: string | null, losses: Losses): readonly Tool[] {
  const type = optionalText(tool, 'type', path) ?? 'function';
  switch (type) {
    case 'function':
    case 'custom':
      return [
        {
          name: requiredText(tool, 'name', path),
          namespace,
          description: optionalText(tool, 'description', path),
          schema: type === 'custom' ? null : (optionalObject(tool, 'parameters', path) ?? NO_INPUT),
          strict: optionalFlag(tool, 'strict', path),
          format: type === 'custom' ? optionalObject(tool, 'format', path) : null,
        },
      ];
    case 'namespace': {
      const name = requiredText(tool, 'name', path);
      return optionalList(tool, 'tools', path).flatMap((inner, index) => {
        const at = `${path}.tools[${index}]`;
        return readTool(objectOf(inner, at), at, name, losses);
      });
    }
    default:
      losses.cannot('tools', `a tool of the type ${type.slice(0, 40)} is run by the vendor that offers it.`);
      return [];
  }
}

const NO_INPUT: Json = Object.freeze({ type: 'object', properties: {} });
