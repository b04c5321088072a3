// What the messages of a request are in each protocol: who speaks, which tools an assistant calls, and what they return.
// The three shapes become one list of pieces, for readers that compare the turns of a conversation.
import { asObject, textIn, type Json } from '../bodies/json.ts';
import { asList, camelMembers, spellings } from './gemini-spelling.ts';

/** What one element of the messages holds. `id` links a result to its call. */
export type Piece =
  | { readonly kind: 'user'; readonly content: unknown }
  | { readonly kind: 'assistant'; readonly content: unknown }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly kind: 'result'; readonly id: string; readonly content: unknown; readonly isError: boolean };

/** Where a request of one protocol holds its messages, and how one of them is read. */
export interface ConversationRules {
  /** The member that holds the messages. */
  readonly member: string;
  /** Names of the member that holds the instructions of the agent; none: they are the first message. */
  readonly instructions: readonly string[];
  /** Members that name messages which the API has stored: beside one of them `member` holds only what is new. */
  readonly stored: readonly string[];
  pieces(element: Json): readonly Piece[];
}

const NONE: readonly Piece[] = Object.freeze([]);

/** The objects of a list; [] when it is none. */
function objectsOf(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return [];
  return value.map(asObject).filter((one) => one !== null);
}

const isFilled = (content: unknown): boolean => content !== undefined && content !== null && content !== '';

export const CHAT_CONVERSATION: ConversationRules = {
  member: 'messages',
  instructions: [],
  stored: [],
  pieces: (element) => {
    const { content } = element;
    switch (element['role']) {
      case 'user':
        return [{ kind: 'user', content }];
      case 'tool':
      case 'function': {
        const id = textIn(element, 'tool_call_id') ?? textIn(element, 'name') ?? '';
        return [{ kind: 'result', id, content, isError: false }];
      }
      case 'assistant': {
        const text: Piece[] = isFilled(content) ? [{ kind: 'assistant', content }] : [];
        const legacy = asObject(element['function_call']);
        const calls = objectsOf(element['tool_calls']).map((call) => chatCall(call));
        if (legacy !== null) calls.push(functionCall(legacy, textIn(legacy, 'name') ?? ''));
        return [...text, ...calls];
      }
      default:
        return NONE;
    }
  },
};

function chatCall(call: Json): Piece {
  const called = asObject(call['function']) ?? asObject(call['custom']) ?? call;
  return functionCall(called, textIn(call, 'id') ?? '');
}

const functionCall = (called: Json, id: string): Piece => ({
  kind: 'call',
  id,
  name: textIn(called, 'name') ?? '',
  input: called['arguments'] ?? called['input'],
});

export const MESSAGES_CONVERSATION: ConversationRules = {
  member: 'messages',
  instructions: ['system'],
  stored: [],
  pieces: (element) => {
    const { role, content } = element;
    if (role !== 'user' && role !== 'assistant') return NONE;
    if (!Array.isArray(content)) return [{ kind: role, content }];
    const blocks = objectsOf(content);
    const tools = blocks.map(toolBlock).filter((piece) => piece !== null);
    const texts = blocks.filter(({ type }) => type === 'text');
    // Agents write reminders of their own beside the results of tools; their users write messages of their own.
    if (role === 'user' && tools.some(({ kind }) => kind === 'result')) return tools;
    return texts.length === 0 && tools.length > 0 ? tools : [{ kind: role, content: texts }, ...tools];
  },
};

/** A block that calls a tool or holds what one returned; null for the others. */
function toolBlock(block: Json): Piece | null {
  const type = textIn(block, 'type') ?? '';
  if (type.endsWith('tool_use')) {
    const id = textIn(block, 'id') ?? '';
    return { kind: 'call', id, name: textIn(block, 'name') ?? '', input: block['input'] };
  }
  if (!type.endsWith('tool_result')) return null;
  const id = textIn(block, 'tool_use_id') ?? '';
  return { kind: 'result', id, content: block['content'], isError: block['is_error'] === true };
}

export const RESPONSES_CONVERSATION: ConversationRules = {
  member: 'input',
  instructions: ['instructions'],
  stored: ['previous_response_id', 'conversation'],
  pieces: (element) => {
    const type = textIn(element, 'type') ?? 'message';
    const id = textIn(element, 'call_id') ?? '';
    if (type.endsWith('_call_output')) {
      return [{ kind: 'result', id, content: element['output'], isError: false }];
    }
    if (type.endsWith('_call')) {
      const name = textIn(element, 'name') ?? type;
      return [
        { kind: 'call', id, name, input: element['arguments'] ?? element['input'] ?? element['action'] },
      ];
    }
    const { role, content } = element;
    return type === 'message' && (role === 'user' || role === 'assistant') ? [{ kind: role, content }] : NONE;
  },
};

export const GEMINI_CONVERSATION: ConversationRules = {
  member: 'contents',
  instructions: spellings('systemInstruction'),
  stored: [],
  pieces: (element) => {
    const role = element['role'] === 'model' ? 'assistant' : 'user';
    const parts = objectsOf(asList(element['parts'])).map(camelMembers);
    const tools = parts.flatMap((part): Piece[] => {
      const call = asObject(part['functionCall']);
      const result = asObject(part['functionResponse']);
      // Calls mostly have no id: a result belongs to the call of its name.
      if (call !== null) {
        const name = textIn(call, 'name') ?? '';
        return [{ kind: 'call', id: textIn(call, 'id') ?? name, name, input: call['args'] }];
      }
      if (result === null) return [];
      const id = textIn(result, 'id') ?? textIn(result, 'name') ?? '';
      const content = result['response'];
      return [{ kind: 'result', id, content, isError: isFilled(asObject(content)?.['error']) }];
    });
    const texts = parts.filter((part) => isFilled(part['text']) && part['thought'] !== true);
    return texts.length === 0 && tools.length > 0 ? tools : [{ kind: role, content: texts }, ...tools];
  },
};
