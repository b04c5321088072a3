// What `throughline sandbox-check` makes the agent do: the scripted answers of its demo gateway, the command that the
// agent runs in the sandbox, and what the command's output says. Pure.
import { isObject, type Json } from '../bodies/json.ts';
import type { Script, ScriptedAnswer } from '../demo-gateway/compose.ts';

/** The command prints this; its own text, which terminals repeat, holds the sum in its place. */
export const OUTPUT_MARK = 'sandbox-check-42';
const MARK_SOURCE = 'sandbox-check-$((6*7))';
/** What the user says after a pause. */
export const SECOND_MESSAGE = 'Answer once more, after the pause.';
/** Names under which agents have a tool that runs commands. */
const TERMINAL = /terminal|bash|shell|execute|run_command/i;

/** What a command in the sandbox found out. */
interface CommandReport {
  /** Whether the file can be read, in the order of the question. */
  readonly readable: readonly boolean[];
  readonly canWrite: boolean;
}

/** One line of POSIX shell. Answers are short: terminals wrap long lines. */
export function commandFor(files: readonly string[]): string {
  const looks = files.map((file, at) => `if [ -r ${quoted(file)} ]; then echo readable-${at}; fi`);
  const writes = 'if touch .sandbox-check 2>/dev/null; then rm .sandbox-check; echo can-write; fi';
  return [`echo ${MARK_SOURCE}`, ...looks, writes, 'echo sandbox-check-$((6*8))'].join('; ');
}

/** null: the text is not the whole output of the command. */
export function reportOf(output: string, fileCount: number): CommandReport | null {
  const from = output.indexOf(OUTPUT_MARK);
  if (from < 0 || !output.includes('sandbox-check-48')) return null;
  const lines = new Set(
    output
      .slice(from)
      .split(/[\r\n]+/)
      .map((line) => line.trim()),
  );
  return {
    readable: Array.from({ length: fileCount }, (_, at) => lines.has(`readable-${at}`)),
    canWrite: lines.has('can-write'),
  };
}

/** Calls the agent's terminal once, then ends each turn with a text. */
export function scriptOf(command: string): Script {
  return (body) => {
    const messages = listOf(body['messages']);
    const last = messages.at(-1);
    if (last?.['role'] === 'tool') return { text: 'The command has run.' };
    const isAgain = textIn(last).includes(SECOND_MESSAGE);
    const call = isAgain ? null : terminalCall(body, command);
    return call ?? { text: isAgain ? 'Here I am again.' : 'Sandbox check' };
  };
}

/** Names of the tools that a request offers. */
export function toolsOf(body: Json): readonly string[] {
  return listOf(body['tools']).map((tool) => String(declarationOf(tool)['name']));
}

/** Outputs of tools in the messages of a request. */
export function toolOutputs(body: Json): readonly string[] {
  return listOf(body['messages'])
    .filter(({ role }) => role === 'tool')
    .map(textIn);
}

function terminalCall(body: Json, command: string): ScriptedAnswer | null {
  for (const tool of listOf(body['tools'])) {
    const { name, parameters } = declarationOf(tool);
    if (typeof name !== 'string' || !TERMINAL.test(name) || !isObject(parameters)) continue;
    const members = parameters['properties'];
    if (!isObject(members) || !isObject(members['command'])) continue;
    const required = Array.isArray(parameters['required']) ? parameters['required'].map(String) : [];
    const others = required.filter((one) => one !== 'command');
    return {
      tool: name,
      arguments: {
        command,
        ...Object.fromEntries(others.map((one) => [one, plainest(members[one])])),
      },
    };
  }
  return null;
}

/** Some value that a member's schema allows; of levels of risk the low one, which no agent asks about. */
function plainest(schema: unknown): unknown {
  if (!isObject(schema)) return '';
  const choices = schema['enum'];
  if (Array.isArray(choices)) return choices.includes('LOW') ? 'LOW' : choices[0];
  if (schema['type'] === 'boolean') return false;
  if (schema['type'] === 'integer' || schema['type'] === 'number') return 1;
  return 'sandbox check';
}

function declarationOf(tool: Json): Json {
  return isObject(tool['function']) ? tool['function'] : tool;
}

function textIn(message: Json | undefined): string {
  const content = message?.['content'];
  if (typeof content === 'string') return content;
  return listOf(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('\n');
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
