// Members without which an endpoint has nothing to do: a call without them is refused before it costs anything, with the text
// that clients of LiteLLM know. What one gateway takes in place of another's member counts, too.

/** By endpoint: of each list, one member must be there. */
const NEEDS: ReadonlyMap<string, readonly (readonly [string, ...string[]])[]> = new Map([
  ['chat/completions', [['messages']]],
  ['completions', [['prompt', 'prompt_embeds']]], // vLLM takes the embeddings of a prompt
  ['embeddings', [['input', 'messages']]], // vLLM embeds conversations
  ['responses', [['input', 'prompt', 'previous_response_id', 'conversation']]],
  ['responses/compact', [['input', 'previous_response_id']]],
  ['messages', [['messages']]],
  ['messages/count_tokens', [['messages']]],
  ['images/generations', [['prompt']]],
  ['moderations', [['input']]],
  ['audio/speech', [['input']]],
  ['rerank', [['query'], ['documents']]],
]);

/** Every member that some endpoint needs. */
export const NEEDED_MEMBERS: ReadonlySet<string> = new Set([...NEEDS.values()].flat(2));

/** What a call of an endpoint must have, as its own API names it. */
export const neededMembers = (path: string): readonly string[] =>
  (NEEDS.get(path) ?? []).map(([first]) => first);

/** The first member that is missing; null = none. @param path of the endpoint, below its version */
export function missingMember(path: string, has: (name: string) => boolean): string | null {
  const missing = NEEDS.get(path)?.find((names) => !names.some(has));
  return missing?.[0] ?? null;
}
