// Reads one message of Anthropic's protocol into a turn.
import { Buffer } from 'node:buffer';
import { isStated, textIn, type Json } from '../../../bodies/json.ts';
import type { ContentPart, Media, Part, ThinkingPart, Turn } from '../form.ts';
import type { Losses } from '../losses.ts';
import { readSignature, readTextless } from '../signatures.ts';
import { invalid, listOf, objectOf, optionalFlag, optionalText, requiredText, textOf } from '../read.ts';
import { cacheOf } from '../request-hints.ts';

/** @param first the block that it begins with: those before are not read */
export function readMessage(message: Json, path: string, losses: Losses, first = 0): Turn {
  const { role } = message;
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    return invalid(`${path}.role`, 'user, assistant or system');
  if (!isStated(message['content'])) invalid(`${path}.content`, 'a text or a list of blocks');
  return {
    role,
    parts: readBlocks(message['content'], `${path}.content`, losses, readBlock, first),
  };
}

type ReadBlock<T> = (block: Json, path: string, losses: Losses) => readonly T[];

function readBlocks<T>(
  content: unknown,
  path: string,
  losses: Losses,
  read: ReadBlock<T>,
  first = 0,
): readonly T[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content, path);
  return blocks.flatMap((one, index) => {
    if (index < first) return [];
    const at = `${path}[${index}]`;
    return read(objectOf(one, at), at, losses);
  });
}

function readBlock(block: Json, path: string, losses: Losses): readonly Part[] {
  const content = readContent(block, path, losses);
  if (content !== null) return content;
  const { type } = block;
  switch (type) {
    case 'thinking': {
      const text = textOf(block['thinking'] ?? '', `${path}.thinking`);
      return thought(text, readSignature(optionalText(block, 'signature', path), 'messages'));
    }
    case 'redacted_thinking':
      return thought('', readTextless(optionalText(block, 'data', path), 'messages_redacted'));
    case 'tool_use':
      return [
        {
          kind: 'call',
          id: requiredText(block, 'id', path),
          name: requiredText(block, 'name', path),
          namespace: null,
          form: 'json',
          input: JSON.stringify(isStated(block['input']) ? objectOf(block['input'], `${path}.input`) : {}),
          ...cacheOf(block),
        },
      ];
    case 'tool_result':
      return [
        {
          kind: 'result',
          id: requiredText(block, 'tool_use_id', path),
          name: null,
          form: 'json',
          parts: isStated(block['content'])
            ? readBlocks(block['content'], `${path}.content`, losses, readResultBlock)
            : [],
          isError: optionalFlag(block, 'is_error', path) === true,
          ...cacheOf(block),
        },
      ];
    case 'compaction': // without a summary it failed, and says nothing (request-reader.ts reads the others)
      return [];
    default:
      return leaveBlock(block, path, losses);
  }
}

const thought = (text: string, signature: ThinkingPart['signature']): readonly ThinkingPart[] =>
  text === '' && signature === null ? [] : [{ kind: 'thinking', text, signature }];

function readResultBlock(block: Json, path: string, losses: Losses): readonly ContentPart[] {
  return readContent(block, path, losses) ?? leaveBlock(block, path, losses);
}

/** What Anthropic's own tools did (web search, code execution ...) has no counterpart. */
function leaveBlock(block: Json, path: string, losses: Losses): readonly never[] {
  const type = optionalText(block, 'type', path) ?? invalid(`${path}.type`, 'the type of a block');
  losses.cannot(`messages.content.${type.slice(0, 40)}`, 'blocks of this type are of the vendor alone.');
  return [];
}

/** Texts, pictures and documents; null for other blocks. */
function readContent(block: Json, path: string, losses: Losses): readonly ContentPart[] | null {
  switch (block['type']) {
    case 'text': {
      const text = textOf(block['text'], `${path}.text`);
      return text === '' ? [] : [{ kind: 'text', text, ...cacheOf(block) }];
    }
    case 'image': {
      const media = readSource(objectOf(block['source'], `${path}.source`), `${path}.source`, losses);
      return [{ kind: 'image', media, detail: null, ...cacheOf(block) }];
    }
    case 'document':
      return readDocument(block, path, losses);
    case 'search_result': {
      const parts = readBlocks(block['content'], `${path}.content`, losses, readResultBlock);
      const head = [textIn(block, 'title'), textIn(block, 'source')].filter((one) => one !== null).join('\n');
      return head === '' ? parts : [{ kind: 'text', text: head }, ...parts];
    }
    default:
      return null;
  }
}

function readDocument(block: Json, path: string, losses: Losses): readonly ContentPart[] {
  const at = `${path}.source`;
  const source = objectOf(block['source'], at);
  const name = optionalText(block, 'title', path);
  if (source['type'] === 'content')
    return readBlocks(source['content'], `${at}.content`, losses, readResultBlock);
  if (source['type'] === 'text') {
    const base64 = Buffer.from(textOf(source['data'], `${at}.data`)).toString('base64');
    return [{ kind: 'file', media: { kind: 'data', type: 'text/plain', base64 }, name, ...cacheOf(block) }];
  }
  const media = readSource(source, at, losses);
  return [{ kind: 'file', media, name, ...cacheOf(block) }];
}

function readSource(source: Json, path: string, losses: Losses): Media {
  switch (source['type']) {
    case 'base64':
      return {
        kind: 'data',
        type: requiredText(source, 'media_type', path),
        base64: requiredText(source, 'data', path),
      };
    case 'url': {
      const url = requiredText(source, 'url', path);
      losses.checkAddress(url, `${path}.url`);
      return { kind: 'url', type: null, url };
    }
    case 'file':
      losses.refuseStoredFile(source, path);
      return invalid(`${path}.file_id`, 'a text');
    default:
      return invalid(`${path}.type`, 'base64, url or file');
  }
}
