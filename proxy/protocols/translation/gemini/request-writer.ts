// Writes a request of Gemini's generateContent. The model and whether the answer streams stand in the path.
import type { Json } from '../../../bodies/json.ts';
import type { Target } from '../dialect.ts';
import { budgetOfLevel, levelOf } from '../effort.ts';
import type {
  ContentPart,
  Conversation,
  Effort,
  Media,
  Part,
  ResultPart,
  Settings,
  Tool,
  ToolChoice,
} from '../form.ts';
import { textOfMedia } from '../media.ts';
import { geminiBudgets, isGemini3 } from '../models.ts';
import { dropCacheHints } from '../request-hints.ts';
import { geminiSchema } from '../schemas.ts';
import {
  bridgedTool,
  inputObject,
  isCall,
  isContent,
  isResult,
  mergedTurns,
  NOTHING_SAID,
  OPENING,
  type MergedTurn,
} from '../turns.ts';
import { PLACEHOLDER } from './signatures.ts';

const BY_EXTENSION: Readonly<Record<string, string>> = {
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
  png: 'image/png',
  webp: 'image/webp',
};

export function writeRequest(conversation: Conversation, target: Target): Json {
  const { instructions, tools, settings } = conversation;
  dropCacheHints(conversation, target.losses);
  const turns = mergedTurns(conversation.turns);
  const begun = turns[0]?.role === 'user' ? turns : [OPENING, ...turns];
  const names = callNames(turns, target);
  const config = writeConfig(conversation, target);
  return {
    contents: begun.map((turn, index) => ({
      role: turn.role === 'assistant' ? 'model' : 'user',
      parts:
        turn.role === 'assistant'
          ? writeModel(turn, target)
          : writeUser(turn, begun[index - 1]?.parts ?? [], names, target),
    })),
    ...(instructions.length === 0
      ? {}
      : { systemInstruction: { parts: instructions.map(({ text }) => ({ text })) } }),
    ...writeTools(tools, settings, target),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  };
}

/** The names of the tools by the ids of their calls: results must state them. */
function callNames(turns: readonly MergedTurn[], { names }: Target): ReadonlyMap<string, string> {
  const calls = turns.flatMap(({ parts }) => parts.filter(isCall));
  return new Map(calls.map((call) => [call.id, names.sent(call)]));
}

/**
 * In the order of their calls: older models pair two of one name by order alone.
 */
function inOrderOfCalls(results: readonly ResultPart[], before: readonly Part[]): readonly ResultPart[] {
  if (results.length < 2) return results;
  const calls = before.filter(isCall);
  const places = new Map(calls.map(({ id }, index) => [id, index]));
  const placeOf = ({ id }: ResultPart): number => places.get(id) ?? calls.length;
  return results.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** Results stand together; pictures of tools follow them, but for Gemini 3, which takes them inside. */
function writeUser(
  { parts }: MergedTurn,
  before: readonly Part[],
  names: ReadonlyMap<string, string>,
  target: Target,
): readonly Json[] {
  const results = inOrderOfCalls(parts.filter(isResult), before);
  const isInside = isGemini3(target.model);
  const shown = isInside
    ? []
    : results.flatMap((result) => result.parts.filter((part) => textOfContent(part) === null));
  const written = [
    ...results.flatMap((result) => writeResult(result, names, isInside, target)),
    ...[...shown, ...parts.filter(isContent)].map((part) => writeContent(part)),
  ];
  return written.length === 0 ? [{ text: NOTHING_SAID }] : written;
}

function writeResult(
  result: ResultPart,
  names: ReadonlyMap<string, string>,
  isInside: boolean,
  { names: toolNames, model }: Target,
): readonly Json[] {
  const named = result.name === null ? null : toolNames.sent({ name: result.name, namespace: null });
  const name = names.get(result.id) ?? named;
  if (name === null) return result.parts.map((part) => writeContent(part));
  const text = result.parts.flatMap((part) => textOfContent(part) ?? []).join('\n');
  const media = result.parts.filter((part) => textOfContent(part) === null);
  return [
    {
      functionResponse: {
        ...(names.has(result.id) ? idMember(result, model) : {}),
        name,
        response: result.isError ? { error: text } : { output: text },
        ...(isInside && media.length > 0 ? { parts: media.map((part) => writeContent(part)) } : {}),
      },
    },
  ];
}

/**
 * Gemini 3 pairs a result with its call by their id, on Google AI and Vertex AI alike; older models answer 400 to one, and Vertex AI
 * did to all until September 2026 (github.com/anomalyco/opencode/pull/50504).
 */
const idMember = ({ id }: { readonly id: string }, model: string): Json => (isGemini3(model) ? { id } : {});

/** A signature goes onto what its thought led to. */
function writeModel({ parts }: MergedTurn, { names, model, losses }: Target): readonly Json[] {
  const written: Json[] = [];
  let signature: string | null = null;
  let hasCalls = false;
  const signed = (part: Json): Json => {
    const thoughtSignature = signature;
    signature = null;
    return thoughtSignature === null ? part : { ...part, thoughtSignature };
  };
  for (const part of parts) {
    if (part.kind === 'thinking') {
      if (part.signature?.origin === 'gemini') signature = part.signature.data;
      else losses.drop('messages.thinking');
    } else if (part.kind === 'call') {
      // Gemini 3 refuses the first call of a turn without a signature.
      if (!hasCalls && signature === null && isGemini3(model)) signature = PLACEHOLDER;
      hasCalls = true;
      written.push(
        signed({
          functionCall: { ...idMember(part, model), name: names.sent(part), args: inputObject(part) },
        }),
      );
    } else {
      const text = textOfPart(part);
      if (text !== '') written.push(signed({ text }));
    }
  }
  return written.length === 0 ? [{ text: NOTHING_SAID }] : written;
}

function textOfPart(part: Part): string {
  return part.kind === 'text' || part.kind === 'refusal' ? part.text : '';
}

function writeContent(part: ContentPart): Json {
  const text = textOfContent(part);
  return text === null && part.kind !== 'text' ? writeMedia(part.media) : { text };
}

/** A text, or a document that is one: beside a result Gemini takes media alone. */
function textOfContent(part: ContentPart): string | null {
  if (part.kind === 'text') return part.text;
  return part.kind === 'file' ? textOfMedia(part.media) : null;
}

function writeMedia(media: Media): Json {
  if (media.kind === 'data') return { inlineData: { mimeType: media.type, data: media.base64 } };
  const extension = /\.([a-z]{3,4})(?:[?#]|$)/i.exec(media.url)?.[1]?.toLowerCase() ?? '';
  const mimeType = media.type ?? BY_EXTENSION[extension];
  return { fileData: { fileUri: media.url, ...(mimeType === undefined ? {} : { mimeType }) } };
}

function writeTools(tools: readonly Tool[], settings: Settings, target: Target): Json {
  if (tools.length === 0) return {};
  const { choice, parallel } = settings;
  if (parallel?.value === false) target.losses.drop(parallel.member);
  return {
    tools: [{ functionDeclarations: tools.map((tool) => writeTool(tool, target)) }],
    ...(choice === undefined
      ? {}
      : { toolConfig: { functionCallingConfig: writeChoice(choice.value, target) } }),
  };
}

function writeTool(tool: Tool, { names }: Target): Json {
  const bridged = tool.schema === null ? bridgedTool(tool.description, tool.format) : null;
  return {
    name: names.sent(tool),
    description: bridged?.description ?? tool.description ?? '',
    parametersJsonSchema: geminiSchema(bridged?.schema ?? tool.schema ?? {}),
  };
}

function writeChoice(choice: ToolChoice, { names }: Target): Json {
  switch (choice.kind) {
    case 'auto':
      return { mode: 'AUTO' };
    case 'any':
      return { mode: 'ANY' };
    case 'none':
      return { mode: 'NONE' };
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [names.sent(choice)] };
  }
}

function writeConfig({ settings, outputLimit, showThoughts }: Conversation, target: Target): Json {
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty, stop, structure } = settings;
  for (const one of [settings.user, settings.verbosity])
    if (one !== undefined) target.losses.drop(one.member);
  const thinking = writeThinking(settings.effort?.value ?? null, showThoughts, target.model);
  return {
    ...(outputLimit === null ? {} : { maxOutputTokens: outputLimit }),
    ...(temperature === undefined ? {} : { temperature: temperature.value }),
    ...(topP === undefined ? {} : { topP: topP.value }),
    ...(topK === undefined ? {} : { topK: topK.value }),
    ...(seed === undefined ? {} : { seed: seed.value }),
    ...(presencePenalty === undefined ? {} : { presencePenalty: presencePenalty.value }),
    ...(frequencyPenalty === undefined ? {} : { frequencyPenalty: frequencyPenalty.value }),
    ...(stop === undefined ? {} : { stopSequences: stop.value }),
    ...(structure === undefined ? {} : { responseMimeType: 'application/json' }),
    ...(structure?.value.kind === 'schema'
      ? { responseJsonSchema: geminiSchema(structure.value.schema) }
      : {}),
    ...(Object.keys(thinking).length === 0 ? {} : { thinkingConfig: thinking }),
  };
}

/** Gemini 3 thinks by level, older models by a budget. Thoughts are shown to callers that asked for thinking. */
function writeThinking(effort: Effort | null, showThoughts: boolean | null, model: string): Json {
  if (effort === null) return showThoughts === true ? { includeThoughts: true } : {};
  const level = levelOf(effort);
  const isOff = effort.kind === 'off' || level === 'none';
  const shown = isOff || showThoughts === false ? {} : { includeThoughts: true };
  if (isGemini3(model)) return { ...shown, ...levelMember(effort, /gemini-3-pro/i.test(model)) };
  const { off, least, most } = geminiBudgets(model);
  if (isOff) return { thinkingBudget: off };
  if (level === null) return { ...shown, thinkingBudget: -1 };
  const wanted = effort.kind === 'budget' ? effort.tokens : budgetOfLevel(level);
  return { ...shown, thinkingBudget: Math.min(Math.max(wanted, least), most) };
}

/** Gemini 3 Pro knows two levels; no model of the third generation can be stopped from thinking. */
function levelMember(effort: Effort, isPro: boolean): Json {
  const level = effort.kind === 'off' ? 'none' : levelOf(effort);
  switch (level) {
    case null:
      return {};
    case 'none':
    case 'minimal':
    case 'low':
      return { thinkingLevel: 'low' };
    case 'medium':
      return { thinkingLevel: isPro ? 'high' : 'medium' };
    case 'high':
    case 'xhigh':
    case 'max':
      return { thinkingLevel: 'high' };
  }
}
