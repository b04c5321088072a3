// Writes a request of responses. Nothing is stored at the vendor: thoughts travel with the conversation, encrypted.
import type { Json } from '../../../bodies/json.ts';
import { callSignatures, isCarriedByCall, sentCallId } from '../call-signatures.ts';
import type { Target } from '../dialect.ts';
import { levelOf } from '../effort.ts';
import type {
  ContentPart,
  Conversation,
  Part,
  ResultPart,
  Settings,
  Structure,
  TextPart,
  Tool,
  ToolChoice,
  Turn,
} from '../form.ts';
import { recordingKind, textOfMedia, urlOfMedia } from '../media.ts';
import { isOpenAiReasoning } from '../models.ts';
import { writeSchema } from '../openai-members.ts';
import { dropCacheHints, userLabel } from '../request-hints.ts';
import { withTakenSampling } from '../sampling.ts';
import { objectSchema } from '../schemas.ts';
import { inputJson, isCall, isContent, isResult, joinedTexts, NOTHING_SAID } from '../turns.ts';

/** platform.openai.com/docs/api-reference/responses/create, `max_output_tokens` */
const LEAST_OUTPUT = 16;

export function writeRequest(conversation: Conversation, target: Target): Json {
  const { instructions, turns, outputLimit, settings } = conversation;
  dropCacheHints(conversation, target.losses);
  const text = joinedTexts(instructions);
  const custom = new Set(
    turns.flatMap(({ parts }) =>
      parts.filter(isCall).flatMap((call) => (call.form === 'text' ? call.id : [])),
    ),
  );
  const calls = { custom, signatures: callSignatures(turns, target.model) };
  const input = turns.flatMap((turn) => writeTurn(turn, calls, target));
  const cacheKey = conversation.cacheKey ?? target.sessionId;
  return {
    model: target.model,
    ...(text === '' ? {} : { instructions: text }),
    input: input.length === 0 ? [NOTHING] : input,
    ...(outputLimit === null ? {} : { max_output_tokens: Math.max(outputLimit, LEAST_OUTPUT) }),
    ...writeTools(conversation, target),
    ...writeSettings(withTakenSampling(settings, target), target),
    ...writeReasoning(conversation, target),
    ...(cacheKey === null ? {} : { prompt_cache_key: cacheKey }),
    store: false,
    ...(target.stream ? { stream: true } : {}),
  };
}

function writeTools({ tools, settings }: Conversation, target: Target): Json {
  if (tools.length === 0) return {};
  const { choice, parallel } = settings;
  return {
    tools: tools.map((tool) => writeTool(tool, target)),
    ...(choice === undefined ? {} : { tool_choice: writeChoice(choice.value, tools, target) }),
    ...(parallel?.value === false ? { parallel_tool_calls: false } : {}),
  };
}

/** `strict` is on where it is left out, and all members become required then. */
function writeTool(tool: Tool, { names }: Target): Json {
  const described = tool.description === null ? {} : { description: tool.description };
  const common = { name: names.sent(tool), ...described };
  if (tool.schema === null)
    return { type: 'custom', ...common, ...(tool.format === null ? {} : { format: tool.format }) };
  return {
    type: 'function',
    ...common,
    parameters: objectSchema(tool.schema),
    strict: tool.strict === true,
  };
}

function writeChoice(choice: ToolChoice, tools: readonly Tool[], { names }: Target): unknown {
  switch (choice.kind) {
    case 'any':
      return 'required';
    case 'tool': {
      const isCustom = tools.some(({ name, schema }) => name === choice.name && schema === null);
      return { type: isCustom ? 'custom' : 'function', name: names.sent(choice) };
    }
    case 'auto':
    case 'none':
      return choice.kind;
  }
}

function writeSettings(settings: Settings, { losses }: Target): Json {
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty, stop, user } = settings;
  for (const one of [topK, seed, presencePenalty, frequencyPenalty, stop])
    if (one !== undefined) losses.cannot(one.member, 'responses have no such member.');
  const { structure, verbosity } = settings;
  const text = {
    ...(structure === undefined ? {} : { format: writeStructure(structure.value) }),
    ...(verbosity === undefined ? {} : { verbosity: verbosity.value }),
  };
  return {
    ...(temperature === undefined ? {} : { temperature: temperature.value }),
    ...(topP === undefined ? {} : { top_p: topP.value }),
    ...(structure === undefined && verbosity === undefined ? {} : { text }),
    ...(user === undefined ? {} : { user: userLabel(user.value) }),
  };
}

function writeStructure(structure: Structure): Json {
  if (structure.kind === 'json') return { type: 'json_object' };
  return { type: 'json_schema', ...writeSchema(structure) };
}

/** Models that do not reason refuse to be asked for encrypted thoughts. */
function writeReasoning({ settings, showThoughts }: Conversation, { model }: Target): Json {
  const level = settings.effort === undefined ? null : levelOf(settings.effort.value);
  const summary = showThoughts === true ? { summary: 'auto' } : {};
  const isReasoning = isOpenAiReasoning(model) || (level !== null && level !== 'none');
  if (!isReasoning) return level === null ? {} : { reasoning: { effort: level } };
  const reasoning = { ...(level === null ? {} : { effort: level }), ...summary };
  return {
    ...(Object.keys(reasoning).length === 0 ? {} : { reasoning }),
    include: ['reasoning.encrypted_content'],
  };
}

/** Of the whole conversation, by their ids. */
interface Calls {
  readonly custom: ReadonlySet<string>;
  readonly signatures: ReadonlyMap<string, string>;
}

function writeTurn(turn: Turn, calls: Calls, target: Target): readonly Json[] {
  switch (turn.role) {
    case 'system': {
      const texts = turn.parts.filter((part): part is TextPart => part.kind === 'text');
      return texts.length === 0 ? [] : [message('developer', writeContent(texts, target))];
    }
    case 'user': {
      const results = turn.parts.filter(isResult);
      const content = writeContent(turn.parts.filter(isContent), target);
      const written = results.map((result) => writeResult(result, calls, target));
      if (content.length > 0) written.push(message('user', content));
      return written.length === 0 && turn.parts.length > 0 ? [NOTHING] : written;
    }
    case 'assistant': {
      const items = turn.parts.flatMap((part): Json[] => {
        const item = writeAssistantPart(part, calls, target);
        return item === null ? [] : [item];
      });
      // A thought without what it led to is refused.
      const last = items.findLastIndex((item) => item['type'] !== 'reasoning');
      return items.slice(0, last + 1);
    }
  }
}

const message = (role: string, content: readonly Json[]): Json => ({ type: 'message', role, content });

const NOTHING = message('user', [{ type: 'input_text', text: NOTHING_SAID }]);

function writeContent(parts: readonly ContentPart[], { losses }: Target): readonly Json[] {
  return parts.flatMap((part): Json[] => {
    if (part.kind === 'text') return part.text === '' ? [] : [{ type: 'input_text', text: part.text }];
    const { media } = part;
    if (part.kind === 'image')
      return [{ type: 'input_image', image_url: urlOfMedia(media), detail: part.detail ?? 'auto' }];
    const text = textOfMedia(media);
    if (text !== null) return [{ type: 'input_text', text }];
    if (media.kind === 'url') return [{ type: 'input_file', file_url: media.url }];
    if (recordingKind(media) !== null) {
      losses.cannot('messages.content', 'responses take neither sound nor video.');
      return [];
    }
    return [{ type: 'input_file', filename: part.name ?? 'document.pdf', file_data: urlOfMedia(media) }];
  });
}

function writeResult(result: ResultPart, { custom, signatures }: Calls, target: Target): Json {
  const isCustom = result.form === 'text' || custom.has(result.id);
  const texts = result.parts.flatMap((part) => (part.kind === 'text' ? part.text : []));
  const isPlain = texts.length === result.parts.length;
  const error = result.isError && !/^\W*error/i.test((texts[0] ?? '').slice(0, 64)) ? 'Error: ' : '';
  const marked: readonly ContentPart[] = error === '' ? [] : [{ kind: 'text', text: error }];
  const content = isPlain ? [] : writeContent([...marked, ...result.parts], target);
  return {
    type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: sentCallId(result.id, target.model, signatures),
    output: content.length === 0 ? error + texts.join('\n') : content,
  };
}

function writeAssistantPart(
  part: Part,
  { signatures }: Calls,
  { model, names, losses }: Target,
): Json | null {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? null : message('assistant', [{ type: 'output_text', text: part.text }]);
    case 'thinking': {
      if (part.signature?.origin !== 'responses') {
        if (!isCarriedByCall(part, model)) losses.drop('messages.thinking');
        return null;
      }
      const summary = part.text === '' ? [] : [{ type: 'summary_text', text: part.text }];
      return { type: 'reasoning', summary, encrypted_content: part.signature.data };
    }
    case 'call': {
      const common = { call_id: sentCallId(part.id, model, signatures), name: names.sent(part) };
      return part.form === 'text'
        ? { type: 'custom_tool_call', ...common, input: part.input }
        : { type: 'function_call', ...common, arguments: inputJson(part) };
    }
    case 'image':
    case 'file':
    case 'result':
      return null;
  }
}
