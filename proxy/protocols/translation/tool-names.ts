// Names of tools on their way upstream and back. A name that the upstream's protocol does not take (too long, MCP servers
// make such; foreign characters; a tool in a namespace) gets a beginning and a hash instead, the same on every turn of a
// conversation, and answers get the caller's name back.
import { createHash } from 'node:crypto';
import type { Tool } from './form.ts';

/** OpenAI's limit (platform.openai.com/docs/api-reference/chat/create, tools.function.name). */
const LONGEST = 64;
const HASH_CHARS = 8;
const ANSWER = 'json_answer';

/** Names that every protocol takes. */
const PLAIN = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const FOREIGN = /[^a-zA-Z0-9_-]/g;

interface ToolName {
  readonly name: string;
  readonly namespace: string | null;
}

/** The tool that an answer calls. */
interface CalledTool extends ToolName {
  /** A custom tool that went upstream as a function with one text. */
  readonly isBridged: boolean;
}

/** Hex digits that stand for a text. */
export function digest(text: string, chars: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, chars);
}

export class ToolNames {
  readonly #original = new Map<string, CalledTool>();
  #answer: string | null = null;

  /** @param hasCustom the upstream's protocol knows custom tools */
  constructor(tools: readonly Tool[], hasCustom: boolean) {
    for (const tool of tools) {
      const { name, namespace } = tool;
      const isBridged = tool.schema === null && !hasCustom;
      this.#original.set(this.sent(tool), { name, namespace, isBridged });
    }
  }

  /** The name that goes upstream. */
  sent({ name, namespace }: ToolName): string {
    const full = namespace === null ? name : `${namespace}__${name}`;
    if (PLAIN.test(full)) return full;
    const plain = full.replace(FOREIGN, '_');
    const begun = /^[a-zA-Z_]/.test(plain) ? plain : `t_${plain}`;
    return `${begun.slice(0, LONGEST - HASH_CHARS - 1)}_${digest(full, HASH_CHARS)}`;
  }

  /** The name of a tool whose input is the answer itself, for a model that can write JSON in no other way. */
  answerTool(): string {
    this.#answer = this.#original.has(ANSWER) ? `${ANSWER}_2` : ANSWER;
    return this.#answer;
  }

  /** The call is the answer: its input is a text for the caller. */
  isAnswer(sent: string): boolean {
    return sent === this.#answer;
  }

  /** The tool that the upstream calls by `sent`; the name itself where the caller offered no such tool. */
  called(sent: string): CalledTool {
    return this.#original.get(sent) ?? { name: sent, namespace: null, isBridged: false };
  }
}
