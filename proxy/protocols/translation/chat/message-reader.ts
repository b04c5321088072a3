// Reads one message of chat completions into a turn.
import { asObject, isStated, textIn, type Json } from '../../../bodies/json.ts';
import { withCallSignature } from '../call-signatures.ts';
import type { CallPart, ContentPart, Part, TextPart, ThinkingPart, Turn } from '../form.ts';
import type { Losses } from '../losses.ts';
import { mediaOfUrl } from '../media.ts';
import { readSignature } from '../signatures.ts';
import { invalid, listOf, objectOf, optionalList, optionalText, requiredText, textOf } from '../read.ts';
import { cacheOf } from '../request-hints.ts';

export function readMessage(message: Json, path: string, losses: Losses): Turn {
  const role = optionalText(message, 'role', path);
  const content = readContent(message['content'], `${path}.content`, losses);
  const cache = asObject(message['cache_control']);
  const marked = cache === null ? content : withCache(content, cache);
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', parts: marked };
    case 'user':
      return { role: 'user', parts: marked };
    case 'assistant':
      return { role: 'assistant', parts: readAssistant(message, marked, path, losses) };
    case 'tool': {
      const id = requiredText(message, 'tool_call_id', path);
      const name = optionalText(message, 'name', path);
      return {
        role: 'user',
        parts: [
          { kind: 'result', id, name, form: 'json', parts: content, isError: false, ...cacheOf(message) },
        ],
      };
    }
    case 'function':
      return losses.refuse(`${path}.role`, 'use `tool` with `tool_call_id` instead of `function`.');
    case null:
    default:
      return invalid(`${path}.role`, 'system, developer, user, assistant or tool');
  }
}

function withCache(parts: readonly ContentPart[], cache: Json): readonly ContentPart[] {
  return parts.map((part, index) => (index === parts.length - 1 ? { ...part, cache } : part));
}

function readContent(content: unknown, path: string, losses: Losses): readonly ContentPart[] {
  if (!isStated(content)) return [];
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  return listOf(content, path).flatMap((one, index) => {
    const at = `${path}[${index}]`;
    return readPart(typeof one === 'string' ? { type: 'text', text: one } : objectOf(one, at), at, losses);
  });
}

function readPart(part: Json, path: string, losses: Losses): readonly ContentPart[] {
  switch (part['type']) {
    case 'text': {
      const text = textOf(part['text'], `${path}.text`);
      return text === '' ? [] : [{ kind: 'text', text, ...cacheOf(part) }];
    }
    case 'refusal':
      return [{ kind: 'text', text: textOf(part['refusal'], `${path}.refusal`) }];
    case 'image_url': {
      const image = typeof part['image_url'] === 'string' ? { url: part['image_url'] } : part['image_url'];
      const holder = objectOf(image, `${path}.image_url`);
      const url = requiredText(holder, 'url', `${path}.image_url`);
      losses.checkAddress(url, `${path}.image_url.url`);
      const media = mediaOfUrl(url) ?? invalid(`${path}.image_url.url`, 'an address or a data URL');
      return [{ kind: 'image', media, detail: optionalText(holder, 'detail', path), ...cacheOf(part) }];
    }
    case 'input_audio': {
      const audio = objectOf(part['input_audio'], `${path}.input_audio`);
      const base64 = requiredText(audio, 'data', `${path}.input_audio`);
      const format = optionalText(audio, 'format', `${path}.input_audio`) ?? 'wav';
      return [{ kind: 'file', media: { kind: 'data', type: `audio/${format}`, base64 }, name: null }];
    }
    case 'file':
      return readFile(part, path, losses);
    default:
      return invalid(`${path}.type`, 'text, image_url, input_audio, file or refusal');
  }
}

function readFile(part: Json, path: string, losses: Losses): readonly ContentPart[] {
  const file = objectOf(part['file'], `${path}.file`);
  if (!isStated(file['file_data'])) losses.refuseStoredFile(file, `${path}.file`);
  const data = requiredText(file, 'file_data', `${path}.file`);
  // OpenRouter's API takes an address here too.
  const url = /^(?:data|https?):/i.test(data) ? data : `data:application/pdf;base64,${data}`;
  losses.checkAddress(url, `${path}.file.file_data`);
  const media = mediaOfUrl(url) ?? invalid(`${path}.file.file_data`, 'a data URL');
  return [{ kind: 'file', media, name: optionalText(file, 'filename', `${path}.file`), ...cacheOf(part) }];
}

function readAssistant(
  message: Json,
  content: readonly ContentPart[],
  path: string,
  losses: Losses,
): readonly Part[] {
  if (isStated(message['function_call']))
    losses.refuse(`${path}.function_call`, 'use `tool_calls` instead, which have ids.');
  if (isStated(message['audio'])) losses.cannot('messages.audio', 'a spoken answer is kept by its vendor.');
  const refusal = optionalText(message, 'refusal', path);
  const refused: TextPart[] = refusal === null || refusal === '' ? [] : [{ kind: 'text', text: refusal }];
  const calls = optionalList(message, 'tool_calls', path).map((call, index) => {
    const at = `${path}.tool_calls[${index}]`;
    return readCall(objectOf(call, at), at);
  });
  return [...readThoughts(message, path), ...content, ...refused, ...calls];
}

/** LiteLLM's `thinking_blocks` are Anthropic's; `reasoning_content` alone has no signature. */
function readThoughts(message: Json, path: string): readonly ThinkingPart[] {
  const blocks = optionalList(message, 'thinking_blocks', path).flatMap((one): ThinkingPart[] => {
    const block = asObject(one);
    const text = textIn(block, 'thinking') ?? '';
    const signature =
      block?.['type'] === 'redacted_thinking'
        ? readSignature(textIn(block, 'data'), 'messages_redacted')
        : readSignature(textIn(block, 'signature'), 'messages');
    return text === '' && signature === null ? [] : [{ kind: 'thinking', text, signature }];
  });
  if (blocks.length > 0) return blocks;
  const text = textIn(message, 'reasoning_content') ?? textIn(message, 'reasoning');
  return text === null ? [] : [{ kind: 'thinking', text, signature: null }];
}

function readCall(call: Json, path: string): CallPart {
  const id = withCallSignature(requiredText(call, 'id', path), call);
  const common = { kind: 'call', id, namespace: null } as const;
  if (call['type'] === 'custom') {
    const custom = objectOf(call['custom'], `${path}.custom`);
    const name = requiredText(custom, 'name', `${path}.custom`);
    return { ...common, name, form: 'text', input: textOf(custom['input'] ?? '', `${path}.custom.input`) };
  }
  const called = objectOf(call['function'], `${path}.function`);
  const name = requiredText(called, 'name', `${path}.function`);
  return {
    ...common,
    name,
    form: 'json',
    input: textOf(called['arguments'] ?? '', `${path}.function.arguments`),
  };
}
