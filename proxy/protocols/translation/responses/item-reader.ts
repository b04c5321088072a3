// Reads one item of the input of responses into a turn. Calls and results belong together by `call_id` alone.
import { asObject, isStated, textIn, type Json } from '../../../bodies/json.ts';
import type { ContentPart, Part, Turn } from '../form.ts';
import type { Losses } from '../losses.ts';
import { mediaOfUrl } from '../media.ts';
import { readSignature, readTextless } from '../signatures.ts';
import { invalid, listOf, objectOf, optionalList, optionalText, requiredText, textOf } from '../read.ts';

/** Clients refer to the items of an answer unless they are told that it is not stored, as OpenAI's own API stores it. */
const NOT_STORED =
  'it refers to an item of an earlier answer, and translated answers are not stored. Send the item itself: ' +
  'clients do with `store: false` (AI SDK: `providerOptions: { openai: { store: false } }`).';

/** The item is the whole conversation before it, encrypted. */
const COMPACTED =
  'it holds the conversation so far in a form that its vendor alone can read. Send the conversation itself.';

/** null: the item says nothing that can be carried. */
export function readItem(item: Json, path: string, losses: Losses): Turn | null {
  const type = optionalText(item, 'type', path) ?? 'message';
  switch (type) {
    case 'message':
      return readMessage(item, path, losses);
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [readCall(item, type, path)] };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'user', parts: readOutput(item, type, path, losses) };
    case 'reasoning':
      return { role: 'assistant', parts: readReasoning(item, path) };
    case 'item_reference':
      return losses.refuse(path, NOT_STORED);
    case 'compaction':
    case 'compaction_summary':
      return losses.refuse(path, COMPACTED);
    default:
      losses.cannot(`input.${type.slice(0, 40)}`, 'items of this type are of the vendor alone.');
      return null;
  }
}

function readMessage(item: Json, path: string, losses: Losses): Turn {
  const { role, content } = item;
  const turn = role === 'developer' ? 'system' : role;
  if (turn !== 'system' && turn !== 'user' && turn !== 'assistant')
    return invalid(`${path}.role`, 'user, assistant, system or developer');
  if (!isStated(content)) invalid(`${path}.content`, 'a text or a list of parts');
  return { role: turn, parts: readContent(content, `${path}.content`, losses) };
}

function readContent(content: unknown, path: string, losses: Losses): readonly ContentPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  return listOf(content, path).flatMap((one, index) => {
    const at = `${path}[${index}]`;
    return readPart(objectOf(one, at), at, losses);
  });
}

function readPart(part: Json, path: string, losses: Losses): readonly ContentPart[] {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text': {
      const text = textOf(part['text'], `${path}.text`);
      return text === '' ? [] : [{ kind: 'text', text }];
    }
    case 'refusal':
      return [{ kind: 'text', text: textOf(part['refusal'], `${path}.refusal`) }];
    case 'input_image':
    case 'output_image': {
      if (!isStated(part['image_url'])) losses.refuseStoredFile(part, path);
      const url = requiredText(part, 'image_url', path);
      losses.checkAddress(url, `${path}.image_url`);
      const media = mediaOfUrl(url) ?? invalid(`${path}.image_url`, 'an address or a data URL');
      return [{ kind: 'image', media, detail: optionalText(part, 'detail', path) }];
    }
    case 'input_file': {
      if (!isStated(part['file_data'] ?? part['file_url'])) losses.refuseStoredFile(part, path);
      const data = optionalText(part, 'file_data', path);
      const url = data === null ? requiredText(part, 'file_url', path) : dataUrl(data);
      losses.checkAddress(url, `${path}.file_url`);
      const media = mediaOfUrl(url) ?? invalid(`${path}.file_data`, 'a data URL');
      return [{ kind: 'file', media, name: optionalText(part, 'filename', path) }];
    }
    case 'input_audio': {
      const audio = objectOf(part['input_audio'], `${path}.input_audio`);
      const base64 = requiredText(audio, 'data', `${path}.input_audio`);
      const format = optionalText(audio, 'format', `${path}.input_audio`) ?? 'wav';
      return [{ kind: 'file', media: { kind: 'data', type: `audio/${format}`, base64 }, name: null }];
    }
    default:
      return invalid(`${path}.type`, 'input_text, input_image, input_file, input_audio or output_text');
  }
}

const dataUrl = (data: string): string =>
  data.startsWith('data:') ? data : `data:application/pdf;base64,${data}`;

function readCall(item: Json, type: 'function_call' | 'custom_tool_call', path: string): Part {
  const common = {
    kind: 'call',
    id: requiredText(item, 'call_id', path),
    name: requiredText(item, 'name', path),
    namespace: optionalText(item, 'namespace', path),
  } as const;
  return type === 'function_call'
    ? { ...common, form: 'json', input: textOf(item['arguments'] ?? '', `${path}.arguments`) }
    : { ...common, form: 'text', input: textOf(item['input'] ?? '', `${path}.input`) };
}

/** Without a `call_id` the text can only be told; Codex sends such outputs of calls that it made itself. */
function readOutput(item: Json, type: string, path: string, losses: Losses): readonly Part[] {
  const id = optionalText(item, 'call_id', path) ?? '';
  const output = item['output'];
  const parts = isStated(output) ? readContent(output, `${path}.output`, losses) : [];
  if (id === '') return parts;
  const form = type === 'function_call_output' ? 'json' : 'text';
  return [{ kind: 'result', id, name: null, form, parts, isError: false }];
}

function readReasoning(item: Json, path: string): readonly Part[] {
  const texts = [...optionalList(item, 'summary', path), ...optionalList(item, 'content', path)];
  const text = texts.map((one) => textIn(asObject(one), 'text') ?? '').join('\n\n');
  const read = text === '' ? readTextless : readSignature;
  const signature = read(optionalText(item, 'encrypted_content', path), 'responses');
  return text === '' && signature === null ? [] : [{ kind: 'thinking', text, signature }];
}
