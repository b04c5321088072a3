// Reads a request of Gemini's generateContent (ai.google.dev/api/generate-content).
import { isStated, objectIn, type Json } from '../../../bodies/json.ts';
import { camelMembers } from '../../gemini-spelling.ts';
import { isLevel } from '../effort.ts';
import { onlyAllowed } from '../allowed-tools.ts';
import type {
  Conversation,
  Effort,
  Settings,
  Stated,
  Structure,
  TextPart,
  Tool,
  ToolChoice,
} from '../form.ts';
import type { Losses } from '../losses.ts';
import { leaveRest } from '../openai-members.ts';
import {
  invalid,
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
  statedMembers,
} from '../read.ts';
import { jsonSchemaOfGemini } from '../schemas.ts';
import { ContentReader } from './content-reader.ts';
import { objectsIn } from './lists.ts';

const KNOWN: ReadonlySet<string> = new Set([
  'cachedContent',
  'contents',
  'generationConfig',
  'model',
  'stream',
  'systemInstruction',
  'toolConfig',
  'tools',
]);
const HINTS: ReadonlySet<string> = new Set(['labels', 'safetySettings', 'serviceTier', 'store']);

const KNOWN_CONFIG: ReadonlySet<string> = new Set([
  'candidateCount',
  'frequencyPenalty',
  'maxOutputTokens',
  'presencePenalty',
  'responseJsonSchema',
  'responseMimeType',
  'responseModalities',
  'responseSchema',
  'seed',
  'stopSequences',
  'temperature',
  'thinkingConfig',
  'topK',
  'topP',
]);
const CONFIG_HINTS: ReadonlySet<string> = new Set(['mediaResolution']);

export function readRequest(stated: Json, losses: Losses): Conversation {
  const request = camelMembers(stated);
  const contents = objectsIn(request, 'contents');
  if (contents.length === 0) invalid('contents', 'a list of at least one content');
  if (isStated(request['cachedContent']))
    losses.refuse('cachedContent', 'it names what another vendor has stored. Send the whole conversation.');
  leaveRest(request, KNOWN, HINTS, losses);
  const config = camelMembers(optionalObject(request, 'generationConfig') ?? {});
  const thinking = camelMembers(optionalObject(config, 'thinkingConfig', 'generationConfig') ?? {});
  leaveConfig(config, losses);
  const calling = readCalling(request);
  const tools = objectsIn(request, 'tools').flatMap((tool, index) => {
    const path = `tools[${index}]`;
    return readTools(camelMembers(objectOf(tool, path)), path, losses);
  });
  return {
    instructions: readInstruction(request['systemInstruction']),
    turns: new ContentReader(losses).turns(contents),
    tools: onlyAllowed(tools, calling.allowed),
    outputLimit: optionalCount(config, 'maxOutputTokens', 'generationConfig'),
    settings: readSettings(config, thinking, calling),
    showThoughts: optionalFlag(thinking, 'includeThoughts', 'generationConfig.thinkingConfig'),
    cacheKey: null,
    usageInStream: true,
  };
}

function readInstruction(value: unknown): readonly TextPart[] {
  if (!isStated(value)) return [];
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  const content = objectOf(value, 'systemInstruction');
  return objectsIn(content, 'parts', 'systemInstruction').flatMap((one, index): TextPart[] => {
    const path = `systemInstruction.parts[${index}]`;
    const text = optionalText(objectOf(one, path), 'text', path) ?? '';
    return text === '' ? [] : [{ kind: 'text', text }];
  });
}

function leaveConfig(config: Json, losses: Losses): void {
  for (const member of statedMembers(config)) {
    const path = `generationConfig.${member}`;
    if (CONFIG_HINTS.has(member)) losses.drop(path);
    else if (!KNOWN_CONFIG.has(member) && config[member] !== false)
      losses.cannot(path, 'its protocol has no such member.');
  }
  const count = optionalCount(config, 'candidateCount', 'generationConfig');
  if (count !== null && count !== 1)
    losses.cannot('generationConfig.candidateCount', 'its protocol gives one answer to a request.');
  const modalities = optionalList(config, 'responseModalities', 'generationConfig');
  if (modalities.some((one) => String(one).toUpperCase() !== 'TEXT'))
    losses.cannot('generationConfig.responseModalities', 'only text can be carried.');
}

function readSettings(config: Json, thinking: Json, calling: Calling): Settings {
  const at = 'generationConfig';
  const number = (name: string): number | null => optionalNumber(config, name, at);
  return {
    ...stated('temperature', number('temperature'), `${at}.temperature`),
    ...stated('topP', number('topP'), `${at}.topP`),
    ...stated('topK', number('topK'), `${at}.topK`),
    ...stated('seed', number('seed'), `${at}.seed`),
    ...stated('presencePenalty', number('presencePenalty') || null, `${at}.presencePenalty`),
    ...stated('frequencyPenalty', number('frequencyPenalty') || null, `${at}.frequencyPenalty`),
    ...stated('stop', optionalTexts(config, 'stopSequences', at), `${at}.stopSequences`),
    ...readEffort(thinking),
    ...readStructure(config),
    ...calling.choice,
  };
}

/** A budget of -1 lets the model choose. */
function readEffort(thinking: Json): { readonly effort?: Stated<Effort> } {
  const at = 'generationConfig.thinkingConfig';
  const level = optionalText(thinking, 'thinkingLevel', at)?.toLowerCase() ?? null;
  if (level !== null && isLevel(level))
    return stated('effort', { kind: 'level', level } as const, `${at}.thinkingLevel`);
  const tokens = optionalNumber(thinking, 'thinkingBudget', at);
  if (tokens === null) return {};
  const member = `${at}.thinkingBudget`;
  if (tokens < 0) return stated('effort', { kind: 'adaptive' } as const, member);
  if (tokens === 0) return stated('effort', { kind: 'off' } as const, member);
  return stated('effort', { kind: 'budget', tokens } as const, member);
}

function readStructure(config: Json): { readonly structure?: Stated<Structure> } {
  const own = optionalObject(config, 'responseSchema', 'generationConfig');
  const schema =
    optionalObject(config, 'responseJsonSchema', 'generationConfig') ??
    (own === null ? null : jsonSchemaOfGemini(own));
  if (schema !== null) {
    const structure = { kind: 'schema', name: null, description: null, schema, strict: null } as const;
    return stated('structure', structure, 'generationConfig.responseSchema');
  }
  const type = optionalText(config, 'responseMimeType', 'generationConfig');
  if (type === null || type === 'text/plain') return {};
  if (type !== 'application/json')
    invalid('generationConfig.responseMimeType', 'text/plain or application/json');
  return stated('structure', { kind: 'json' } as const, 'generationConfig.responseMimeType');
}

interface Calling {
  readonly choice: { readonly choice?: Stated<ToolChoice> };
  /** The tools that may be called; null: all. */
  readonly allowed: readonly string[] | null;
}

function readCalling(request: Json): Calling {
  const outer = optionalObject(request, 'toolConfig');
  const inner = objectIn(outer === null ? null : camelMembers(outer), 'functionCallingConfig');
  if (inner === null) return { choice: {}, allowed: null };
  const at = 'toolConfig.functionCallingConfig';
  const config = camelMembers(inner);
  const names = optionalList(config, 'allowedFunctionNames', at).filter((one) => typeof one === 'string');
  const allowed = names.length === 0 ? null : names;
  const choice = (kind: 'any' | 'none' | 'auto'): Calling => ({
    choice: stated('choice', { kind }, at),
    allowed,
  });
  const mode = optionalText(config, 'mode', at)?.toUpperCase() ?? 'AUTO';
  const [only] = names;
  if (mode === 'ANY' && names.length === 1 && only !== undefined)
    return { choice: stated('choice', { kind: 'tool', name: only, namespace: null }, at), allowed: null };
  switch (mode) {
    case 'ANY':
      return choice('any');
    case 'NONE':
      return choice('none');
    case 'AUTO':
    case 'VALIDATED':
    case 'MODE_UNSPECIFIED':
      return choice('auto');
    default:
      return invalid(`${at}.mode`, 'AUTO, ANY, NONE or VALIDATED');
  }
}

function readTools(tool: Json, path: string, losses: Losses): readonly Tool[] {
  for (const name of statedMembers(tool))
    if (name !== 'functionDeclarations')
      losses.cannot('tools', `${name.slice(0, 40)} is run by the vendor that offers it.`);
  return objectsIn(tool, 'functionDeclarations', path).map((one, index) => {
    const at = `${path}.functionDeclarations[${index}]`;
    const declaration = camelMembers(objectOf(one, at));
    const own = optionalObject(declaration, 'parameters', at);
    return {
      name: requiredText(declaration, 'name', at),
      namespace: null,
      description: optionalText(declaration, 'description', at),
      schema:
        optionalObject(declaration, 'parametersJsonSchema', at) ??
        (own === null ? { type: 'object', properties: {} } : jsonSchemaOfGemini(own)),
      strict: null,
      format: null,
    };
  });
}
