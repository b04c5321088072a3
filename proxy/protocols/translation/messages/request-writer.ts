// Writes a request of Anthropic's messages. Only what the version 2023-06-01 of its API takes is written.
import type { Json } from '../../../bodies/json.ts';
import { anthropicCallId } from '../call-ids.ts';
import type { Target } from '../dialect.ts';
import type {
  ContentPart,
  Conversation,
  Media,
  Part,
  ResultPart,
  Settings,
  Tool,
  ToolChoice,
  Turn,
} from '../form.ts';
import { recordingKind, textOfMedia } from '../media.ts';
import { hasStructuredOutput, refusesForcedTools } from '../models.ts';
import { userLabel } from '../request-hints.ts';
import { withTakenSampling } from '../sampling.ts';
import { objectSchema, outputSchema } from '../schemas.ts';
import { bridgedTool, inputObject, mergedTurns, NOTHING_SAID, OPENING, type MergedTurn } from '../turns.ts';
import { writeThinking } from './thinking.ts';

/** platform.claude.com/docs/en/build-with-claude/prompt-caching */
const MOST_CACHE_MARKS = 4;

export function writeRequest(conversation: Conversation, target: Target): Json {
  const { tools, settings } = conversation;
  const instructions = conversation.instructions.filter((part) => !isBlank(part));
  const marks = new CacheMarks();
  const turns = mergedTurns(conversation.turns.map((turn) => withOwnThoughts(turn, target)));
  const begun = turns[0]?.role === 'user' ? turns : [OPENING, ...turns];
  const maxTokens = conversation.outputLimit ?? target.defaultMaxTokens;
  const answer = answerTool(settings, target);
  const choice = answer === null ? writeChoice(settings, tools, target) : forced(answer, tools);
  const isForced = choice?.['type'] === 'any' || choice?.['type'] === 'tool';
  const thinking = writeThinking(conversation, begun, maxTokens, isForced, target);
  const written = [
    ...tools.map((tool) => writeTool(tool, target, marks)),
    ...(answer === null ? [] : [answer]),
  ];
  return {
    model: target.model,
    max_tokens: maxTokens,
    // In the order in which Anthropic's caches read: tools, system, messages.
    ...(written.length === 0 ? {} : { tools: written }),
    ...(choice === null ? {} : { tool_choice: choice }),
    ...(instructions.length === 0
      ? {}
      : { system: instructions.map((part) => ({ type: 'text', text: part.text, ...marks.of(part) })) }),
    messages: begun.map((turn, index) => ({
      role: turn.role,
      content: writeTurn(turn, index === begun.length - 1, target, marks),
    })),
    ...writeSettings(withTakenSampling(settings, target), thinking !== null, target),
    ...thinking,
    ...(answer === null ? writeStructure(settings, thinking, target) : {}),
    ...(target.stream ? { stream: true } : {}),
  };
}

/** Anthropic takes four marks in all; further ones are left out. */
class CacheMarks {
  #left = MOST_CACHE_MARKS;

  of({ cache }: { readonly cache?: Json }): Json {
    if (cache === undefined || this.#left === 0) return {};
    this.#left--;
    return { cache_control: cache };
  }
}

/** "text content blocks must contain non-whitespace text"; models write blank lines before their calls. */
const isBlank = ({ text }: { readonly text: string }): boolean => text.trim() === '';

/** Thoughts that Anthropic signed stay where they are; others it would refuse. */
function withOwnThoughts(turn: Turn, { losses }: Target): Turn {
  const parts = turn.parts.filter((part) => {
    const isForeign =
      part.kind === 'thinking' &&
      part.signature?.origin !== 'messages' &&
      part.signature?.origin !== 'messages_redacted';
    if (isForeign) losses.drop('messages.thinking');
    return !isForeign && !(part.kind === 'text' && isBlank(part));
  });
  return { role: turn.role, parts };
}

function writeTurn(turn: MergedTurn, isLast: boolean, target: Target, marks: CacheMarks): readonly Json[] {
  const written = turn.parts.flatMap((part) => writePart(part, target, marks));
  if (written.length === 0) return [{ type: 'text', text: NOTHING_SAID }];
  if (turn.role === 'user' || !isLast) return written;
  // White space at the end of a beginning that the model shall continue is refused.
  return written.map((block, index) => {
    const { text } = block;
    return index === written.length - 1 && typeof text === 'string'
      ? { ...block, text: text.trimEnd() }
      : block;
  });
}

function writePart(part: Part, target: Target, marks: CacheMarks): readonly Json[] {
  switch (part.kind) {
    case 'text':
    case 'image':
    case 'file':
      return writeContent(part, target, marks);
    case 'refusal':
      return isBlank(part) ? [] : [{ type: 'text', text: part.text }];
    case 'thinking':
      return part.signature?.origin === 'messages_redacted'
        ? [{ type: 'redacted_thinking', data: part.signature.data }]
        : [{ type: 'thinking', thinking: part.text, signature: part.signature?.data ?? '' }];
    case 'call':
      return [
        {
          type: 'tool_use',
          id: anthropicCallId(part.id),
          name: target.names.sent(part),
          input: inputObject(part),
          ...marks.of(part),
        },
      ];
    case 'result':
      return writeResult(part, target, marks);
  }
}

/** A result without the id of its call can only be told. */
function writeResult(result: ResultPart, target: Target, marks: CacheMarks): readonly Json[] {
  const content = result.parts.flatMap((part) => writeContent(part, target, marks));
  if (result.id === '') return content;
  return [
    {
      type: 'tool_result',
      tool_use_id: anthropicCallId(result.id),
      ...(content.length === 0 ? {} : { content }),
      ...(result.isError ? { is_error: true } : {}),
      ...marks.of(result),
    },
  ];
}

function writeContent(part: ContentPart, { losses }: Target, marks: CacheMarks): readonly Json[] {
  if (part.kind === 'text')
    return isBlank(part) ? [] : [{ type: 'text', text: part.text, ...marks.of(part) }];
  const { media } = part;
  if (part.kind === 'image') return [{ type: 'image', source: writeSource(media), ...marks.of(part) }];
  if (media.kind === 'data' && recordingKind(media) !== null) {
    losses.cannot('messages.content', 'messages take neither sound nor video.');
    return [];
  }
  const text = textOfMedia(media);
  const source = text === null ? writeSource(media) : { type: 'text', media_type: 'text/plain', data: text };
  const title = part.name === null ? {} : { title: part.name };
  return [{ type: 'document', source, ...title, ...marks.of(part) }];
}

function writeSource(media: Media): Json {
  return media.kind === 'url'
    ? { type: 'url', url: media.url }
    : { type: 'base64', media_type: media.type, data: media.base64 };
}

function writeTool(tool: Tool, { names, losses }: Target, marks: CacheMarks): Json {
  const bridged = tool.schema === null ? bridgedTool(tool.description, tool.format) : null;
  const description = bridged?.description ?? tool.description;
  if (tool.strict === true) losses.drop('tools.strict');
  return {
    name: names.sent(tool),
    ...(description === null || description === '' ? {} : { description }),
    input_schema: objectSchema(bridged?.schema ?? tool.schema ?? {}),
    ...marks.of(tool),
  };
}

function writeChoice({ choice, parallel }: Settings, tools: readonly Tool[], target: Target): Json | null {
  if (tools.length === 0) return null;
  const stated: ToolChoice = choice?.value ?? { kind: 'auto' };
  const isSerial = parallel?.value === false && stated.kind !== 'none';
  if (choice === undefined && !isSerial) return null;
  if (choice !== undefined && isForcing(stated) && refusesForcedTools(target.model)) {
    target.losses.cannot(choice.member, 'this model decides itself whether it calls a tool.');
    return writeChoice(parallel === undefined ? {} : { parallel }, tools, target);
  }
  return {
    type: stated.kind,
    ...(stated.kind === 'tool' ? { name: target.names.sent(stated) } : {}),
    ...(isSerial ? { disable_parallel_tool_use: true } : {}),
  };
}

const isForcing = ({ kind }: ToolChoice): boolean => kind === 'any' || kind === 'tool';

/** Older models write JSON by a schema as the input of a tool that they must call; the translation makes it a text again. */
function answerTool({ structure }: Settings, { model, names }: Target): Json | null {
  if (structure?.value.kind !== 'schema' || hasStructuredOutput(model)) return null;
  const description = structure.value.description ?? 'Gives the final answer.';
  return { name: names.answerTool(), description, input_schema: objectSchema(structure.value.schema) };
}

/** Beside other tools the model chooses when to answer. */
function forced({ name }: Json, tools: readonly Tool[]): Json {
  return tools.length === 0 ? { type: 'tool', name } : { type: 'any' };
}

function writeSettings(settings: Settings, isThinking: boolean, { losses }: Target): Json {
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty, stop, user } = settings;
  for (const one of [seed, presencePenalty, frequencyPenalty])
    if (one !== undefined) losses.cannot(one.member, 'messages have no such member.');
  if (settings.verbosity !== undefined) losses.drop(settings.verbosity.member);
  const isHot = temperature !== undefined && temperature.value > 1;
  if (isHot) losses.cannot(temperature.member, 'messages take a temperature of at most 1.');
  const stops = stop?.value.filter((one) => one.trim() !== '') ?? [];
  if (stop !== undefined && stops.length < stop.value.length)
    losses.cannot(stop.member, 'messages take no stop sequence of white space alone.');
  const samples = {
    ...(temperature === undefined || isHot ? {} : { temperature: temperature.value }),
    // 1 says nothing, and beside a temperature newer models refuse it.
    ...(topP === undefined || topP.value === 1 ? {} : { top_p: topP.value }),
    ...(topK === undefined ? {} : { top_k: topK.value }),
  };
  // A model that thinks takes no sampling of the caller. But for a top_k, 1 says nothing.
  const saying = [temperature, topP].filter((one) => one?.value !== 1);
  if (isThinking) for (const one of [...saying, topK]) if (one !== undefined) losses.drop(one.member);
  return {
    ...(isThinking ? {} : samples),
    ...(stops.length === 0 ? {} : { stop_sequences: stops }),
    ...(user === undefined ? {} : { metadata: { user_id: userLabel(user.value) } }),
  };
}

function writeStructure({ structure }: Settings, thinking: Json | null, { losses }: Target): Json {
  if (structure === undefined) return {};
  if (structure.value.kind === 'json') {
    losses.cannot(structure.member, 'messages write JSON by a schema only.');
    return {};
  }
  const format = { type: 'json_schema', schema: outputSchema(structure.value.schema) };
  const config = thinking?.['output_config'];
  return { output_config: { ...(typeof config === 'object' ? config : {}), format } };
}
