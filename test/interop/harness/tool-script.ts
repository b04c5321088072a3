// What the demo gateway answers to a coding agent: the given calls, one a turn, then a text that says whether the outputs of
// the tools have arrived. The same for all four protocols.
import { isJson, type Json } from '../../../proxy/demo-gateway/model-request.ts';
import type { Script, ScriptedAnswer } from '../../../proxy/demo-gateway/compose.ts';

export type ScriptedCall = Extract<ScriptedAnswer, { readonly tool: string }>;

export const ARRIVED = 'The file is written, and was read.';
const LOST = 'The output of the last tool did not arrive.';

/** @param output stands in what the last call returns */
export function toolScript(calls: readonly ScriptedCall[], output: string): Script {
  return (body) => {
    const results = toolResults(body);
    const call = calls[results.length];
    // Agents also ask for titles, without tools.
    if (call !== undefined) return offers(body, call.tool) ? call : { text: 'A note' };
    return { text: JSON.stringify(results.at(-1)).includes(output) ? ARRIVED : LOST };
  };
}

/** What tools returned, in the order of the conversation. */
function toolResults(body: Json): readonly Json[] {
  const turns = listOf(body['messages'] ?? body['input'] ?? body['contents']);
  return turns
    .flatMap((turn) => [turn, ...listOf(turn['content'] ?? turn['parts'])])
    .filter(
      ({ role, type, functionResponse }) =>
        role === 'tool' ||
        type === 'tool_result' ||
        type === 'function_call_output' ||
        functionResponse !== undefined,
    );
}

function offers(body: Json, tool: string): boolean {
  return listOf(body['tools'])
    .flatMap((one) => [one, ...listOf([one['function']]), ...listOf(one['functionDeclarations'])])
    .some(({ name }) => name === tool);
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}
