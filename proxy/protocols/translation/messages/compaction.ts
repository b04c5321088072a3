// Anthropic's compaction: a block of an assistant holds a summary of all that stands before it, which the API does not read then
// (platform.claude.com/docs/en/build-with-claude/compaction). Others are told the summary, and not what it stands for.
import { asObject, textIn } from '../../../bodies/json.ts';
import type { Turn } from '../form.ts';

interface Compaction {
  /** Where its message stands in the list, and where the blocks after it begin in the message. */
  readonly message: number;
  readonly next: number;
  readonly summary: string;
}

/** The last one with a summary: one without has failed, and what stands before it holds. null: there is none. */
export function lastCompaction(messages: readonly unknown[]): Compaction | null {
  for (let message = messages.length - 1; message >= 0; message--) {
    const content = asObject(messages[message])?.['content'];
    if (!Array.isArray(content)) continue;
    for (let index = content.length - 1; index >= 0; index--) {
      const block = asObject(content[index]);
      const summary = block?.['type'] === 'compaction' ? textIn(block, 'content') : null;
      if (summary !== null) return { message, next: index + 1, summary };
    }
  }
  return null;
}

/** The user tells it: conversations begin with the user, and what an assistant says last is a text to go on with. */
export const summaryTurn = ({ summary }: Compaction): Turn => ({
  role: 'user',
  parts: [{ kind: 'text', text: `Summary of the conversation so far:\n\n${summary}` }],
});
