// What runtimes report of their conversations, by webhook. Each comes with the key of a sandbox and is taken for the
// conversations of that sandbox alone.
import { refuse } from '../api/refusal.ts';
import type { Handler } from '../api/router.ts';
import { hexOf } from '../ids.ts';
import type { Conversations } from './conversations.ts';

/** The handlers, by operation id. */
export function runtimeReports(conversations: Conversations): Record<string, Handler> {
  const take: Handler = async ({ sandboxId, body }) => {
    const { id } = body as { readonly id: string };
    const conversation = await conversations.find(hexOf(id) ?? '');
    // One that its agent server began by itself is no conversation of this interface; a refusal would be sent again.
    if (conversation !== null && conversation.sandboxId !== sandboxId)
      throw refuse(403, 'The conversation belongs to another sandbox');
    return { body: { success: true } };
  };
  return { reportConversation: take, reportConversationOf: take };
}
