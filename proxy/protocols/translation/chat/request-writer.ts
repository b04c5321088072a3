// Writes a request of chat completions. Many servers speak this protocol, so members that only OpenAI knows are written only
// where the caller states what needs them.
import type { Json } from '../../../bodies/json.ts';
import { callSignatures, isCarriedByCall, sentCallId } from '../call-signatures.ts';
import type { Target } from '../dialect.ts';
import { levelOf } from '../effort.ts';
import type {
  CallPart,
  ContentPart,
  Conversation,
  FilePart,
  ImagePart,
  Media,
  ResultPart,
  Settings,
  Structure,
  TextPart,
  ThinkingPart,
  Tool,
  ToolChoice,
  Turn,
} from '../form.ts';
import { audioFormat, recordingKind, textOfMedia, urlOfMedia } from '../media.ts';
import { isClaude, isOpenAi, isOpenAiReasoning } from '../models.ts';
import { writeSchema } from '../openai-members.ts';
import { dropCacheHints, userLabel } from '../request-hints.ts';
import { withTakenSampling } from '../sampling.ts';
import {
  bridgedTool,
  inputJson,
  isCall,
  isContent,
  isResult,
  joinedTexts,
  NOTHING_SAID,
  resultsAfterCalls,
} from '../turns.ts';

/** platform.openai.com/docs/api-reference/chat/create, `stop`. */
const MOST_STOPS = 4;

export function writeRequest(conversation: Conversation, target: Target): Json {
  const { instructions, turns, tools, outputLimit, settings } = conversation;
  if (!isClaude(target.model)) dropCacheHints(conversation, target.losses);
  const system = writeSystem(instructions, target);
  const ordered = resultsAfterCalls(turns);
  const signatures = callSignatures(ordered, target.model);
  const said = ordered.flatMap((turn) => writeTurn(turn, signatures, target));
  const limit = isOpenAiReasoning(target.model) ? 'max_completion_tokens' : 'max_tokens';
  return {
    model: target.model,
    messages: [
      ...(system === null ? [] : [{ role: 'system', content: system }]),
      ...(said.length === 0 ? [NOTHING] : said),
    ],
    ...(outputLimit === null ? {} : { [limit]: outputLimit }),
    ...writeTools(tools, settings, target),
    ...writeSettings(withTakenSampling(settings, target), target),
    ...writeCacheKey(conversation, target),
    ...(target.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/** Servers that have Claude behind chat completions (LiteLLM, OpenRouter) take its marks of caches. */
function mark({ cache }: { readonly cache?: Json }, { model }: Target): Json {
  return cache !== undefined && isClaude(model) ? { cache_control: cache } : {};
}

function writeSystem(instructions: readonly TextPart[], target: Target): unknown {
  if (instructions.length === 0) return null;
  if (!isClaude(target.model) || !instructions.some(({ cache }) => cache !== undefined))
    return joinedTexts(instructions);
  return instructions.map((part) => ({ type: 'text', text: part.text, ...mark(part, target) }));
}

/** Of the servers that are not OpenAI's some refuse the member. */
function writeCacheKey({ cacheKey }: Conversation, { model, sessionId, losses }: Target): Json {
  const key = cacheKey ?? sessionId;
  if (key !== null && isOpenAi(model)) return { prompt_cache_key: key };
  if (cacheKey !== null) losses.drop('prompt_cache_key');
  return {};
}

function writeTools(tools: readonly Tool[], settings: Settings, target: Target): Json {
  if (tools.length === 0) return {};
  const { choice, parallel } = settings;
  return {
    tools: tools.map((tool) => writeTool(tool, target)),
    ...(choice === undefined ? {} : { tool_choice: writeChoice(choice.value, target) }),
    ...(parallel?.value === false ? { parallel_tool_calls: false } : {}),
  };
}

function writeTool(tool: Tool, target: Target): Json {
  const bridged = tool.schema === null ? bridgedTool(tool.description, tool.format) : null;
  const description = bridged?.description ?? tool.description;
  return {
    type: 'function',
    function: {
      name: target.names.sent(tool),
      ...(description === null ? {} : { description }),
      parameters: bridged?.schema ?? tool.schema,
      ...(tool.strict === true ? { strict: true } : {}),
    },
    ...mark(tool, target),
  };
}

function writeChoice(choice: ToolChoice, { names }: Target): unknown {
  switch (choice.kind) {
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name: names.sent(choice) } };
    case 'auto':
    case 'none':
      return choice.kind;
  }
}

function writeSettings(settings: Settings, { losses }: Target): Json {
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty, stop, user } = settings;
  if (topK !== undefined) losses.cannot(topK.member, 'chat completions have no top_k.');
  if (stop !== undefined && stop.value.length > MOST_STOPS)
    losses.cannot(stop.member, `chat completions take at most ${MOST_STOPS} stop sequences.`);
  const level = settings.effort === undefined ? null : levelOf(settings.effort.value);
  return {
    ...(temperature === undefined ? {} : { temperature: temperature.value }),
    ...(topP === undefined ? {} : { top_p: topP.value }),
    ...(seed === undefined ? {} : { seed: seed.value }),
    ...(presencePenalty === undefined ? {} : { presence_penalty: presencePenalty.value }),
    ...(frequencyPenalty === undefined ? {} : { frequency_penalty: frequencyPenalty.value }),
    ...(stop === undefined ? {} : { stop: stop.value.slice(0, MOST_STOPS) }),
    ...(level === null ? {} : { reasoning_effort: level }),
    ...(settings.verbosity === undefined ? {} : { verbosity: settings.verbosity.value }),
    ...(settings.structure === undefined
      ? {}
      : { response_format: writeStructure(settings.structure.value) }),
    ...(user === undefined ? {} : { user: userLabel(user.value) }),
  };
}

function writeStructure(structure: Structure): Json {
  if (structure.kind === 'json') return { type: 'json_object' };
  return { type: 'json_schema', json_schema: writeSchema(structure) };
}

type Signatures = ReadonlyMap<string, string>;

function writeTurn(turn: Turn, signatures: Signatures, target: Target): readonly Json[] {
  switch (turn.role) {
    case 'system': {
      const texts = turn.parts.filter((part): part is TextPart => part.kind === 'text');
      return texts.length === 0 ? [] : [{ role: 'system', content: joinedTexts(texts) }];
    }
    case 'user':
      return writeUser(turn, signatures, target);
    case 'assistant':
      return writeAssistant(turn, signatures, target);
  }
}

/** Messages of the role `tool` hold text alone: pictures follow in a message of the user, after all results. */
function writeUser({ parts }: Turn, signatures: Signatures, target: Target): readonly Json[] {
  const results = parts.filter(isResult);
  const shown = results.flatMap((result) =>
    result.parts.filter((part): part is ImagePart | FilePart => part.kind !== 'text' && !isText(part)),
  );
  const content = writeContent([...shown, ...parts.filter(isContent)], target);
  const written = results.map((result) => writeResult(result, signatures, target));
  if (content !== null) written.push({ role: 'user', content });
  return written.length === 0 && parts.length > 0 ? [NOTHING] : written;
}

const NOTHING: Json = { role: 'user', content: NOTHING_SAID };

function isText(part: ContentPart): boolean {
  return part.kind === 'file' && textOfMedia(part.media) !== null;
}

function writeResult(result: ResultPart, signatures: Signatures, target: Target): Json {
  const texts = result.parts.flatMap((part) => {
    if (part.kind === 'text') return part.text;
    if (part.kind === 'image') return '[image: see the next message]';
    return textOfMedia(part.media) ?? '[file: see the next message]';
  });
  const text = texts.join('\n');
  const isMarked = !result.isError || /^\W*error/i.test(text.slice(0, 64));
  return {
    role: 'tool',
    tool_call_id: sentCallId(result.id, target.model, signatures),
    content: isMarked ? text : `Error: ${text}`,
    ...mark(result, target),
  };
}

/** One text stays a text: not every server takes lists. */
function writeContent(parts: readonly ContentPart[], target: Target): unknown {
  const [only] = parts;
  if (only === undefined) return null;
  const isMarked = parts.some((part) => Object.keys(mark(part, target)).length > 0);
  if (parts.length === 1 && only.kind === 'text' && !isMarked) return only.text;
  const written = parts.flatMap((part) => writePart(part, target) ?? []);
  return written.length === 0 ? null : written;
}

function writePart(part: ContentPart, target: Target): Json | null {
  const { losses } = target;
  if (part.kind === 'text') return { type: 'text', text: part.text, ...mark(part, target) };
  if (part.kind === 'image') {
    const { detail } = part;
    return {
      type: 'image_url',
      image_url: { url: urlOfMedia(part.media), ...(detail === null ? {} : { detail }) },
    };
  }
  const { media, name } = part;
  const text = textOfMedia(media);
  if (text !== null) return { type: 'text', text };
  if (media.kind === 'url') {
    losses.cannot('messages.content', 'chat completions take documents as data, not by address.');
    return null;
  }
  return writeBytes(media, name, target);
}

/** Servers that have other vendors behind chat completions (LiteLLM, OpenRouter) take more formats, and video as a file. */
function writeBytes(
  media: Media & { readonly kind: 'data' },
  name: string | null,
  { model, losses }: Target,
): Json | null {
  const recording = recordingKind(media);
  const format = recording === 'audio' ? audioFormat(media.type) : null;
  if (isOpenAi(model) && recording !== null && format !== 'wav' && format !== 'mp3') {
    losses.cannot('messages.content', 'of sound and video, this model takes wav and mp3 alone.');
    return null;
  }
  if (format !== null) return { type: 'input_audio', input_audio: { data: media.base64, format } };
  const invented = recording === 'video' ? 'video' : 'document.pdf';
  return { type: 'file', file: { filename: name ?? invented, file_data: urlOfMedia(media) } };
}

function writeAssistant({ parts }: Turn, signatures: Signatures, target: Target): readonly Json[] {
  const texts = parts.filter((part) => part.kind === 'text' || part.kind === 'refusal');
  const calls = parts.filter(isCall);
  const thoughts = writeThoughts(parts, target);
  if (texts.length === 0 && calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: texts.length === 0 ? null : texts.map(({ text }) => text).join(''),
      ...thoughts,
      ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => writeCall(call, signatures, target)) }),
    },
  ];
}

/** Only thoughts that came from such an upstream go back: DeepSeek wants them, others may refuse the members. */
function writeThoughts(parts: Turn['parts'], { losses, model }: Target): Json {
  const thoughts = parts.filter(
    (part): part is ThinkingPart => part.kind === 'thinking' && !isCarriedByCall(part, model),
  );
  const own = thoughts.filter(
    ({ signature }) => signature?.origin === 'chat' || signature?.origin === 'chat_redacted',
  );
  if (own.length < thoughts.length) losses.drop('messages.thinking');
  if (own.length === 0) return {};
  const text = own.map((thought) => thought.text).join('');
  const signed = own.filter(({ signature }) => signature !== null && signature.data !== '');
  const blocks = signed.map(({ text: thinking, signature }) =>
    signature?.origin === 'chat_redacted'
      ? { type: 'redacted_thinking', data: signature?.data }
      : { type: 'thinking', thinking, signature: signature?.data },
  );
  return {
    ...(text === '' ? {} : { reasoning_content: text }),
    ...(blocks.length === 0 ? {} : { thinking_blocks: blocks }),
  };
}

function writeCall(call: CallPart, signatures: Signatures, { names, model }: Target): Json {
  const signature = signatures.get(call.id);
  return {
    id: sentCallId(call.id, model, signatures),
    type: 'function',
    function: { name: names.sent(call), arguments: inputJson(call) },
    ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
  };
}
