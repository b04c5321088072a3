// The OpenHands agent server in a sandbox: how one is started here, and a conversation with its agent.
import { join } from 'node:path';
import { scriptOf, toolOutputs } from '../../../proxy/cli/sandbox-script.ts';
import type { Script } from '../../../proxy/demo-gateway/compose.ts';
import type { Conversation, Json, PlatformServer } from './platform-server.ts';
import { pythonEnvironment, type PythonEnvironment } from './python.ts';
import { until } from './suite.ts';

const REQUIREMENTS = join(import.meta.dirname, '..', 'agent-server.txt');
const PYTHON_MINOR = 12;

/** A Python with the agent server, its SDK and its tools. @throws Missing */
export function agentPython(): PythonEnvironment {
  return pythonEnvironment(REQUIREMENTS, PYTHON_MINOR);
}

/** As config/samples/platform-openhands.yaml has it. */
export function specOf({ bin, folders }: PythonEnvironment): Json {
  return {
    command: [join(bin, 'agent-server'), '--host', '127.0.0.1', '--port', '{port}'],
    working_dir: '{sandbox_dir}/workspace',
    readable_paths: folders,
    initial_env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', OH_ENABLE_VSCODE: '0', OH_ENABLE_BROWSER: '0' },
    health_path: '/ready',
    conversations_path: '/api/conversations',
    limits: { memory_mb: 4096, open_files: 4096 },
  };
}

/** The agent runs what its user says behind `RUN:`, else the command given here. */
export function scriptFor(command: string): Script {
  return (body, model) => {
    const asked = JSON.stringify(body['messages'])
      .match(/RUN:([^\\"]+)/g)
      ?.at(-1);
    return scriptOf(asked === undefined ? command : asked.slice('RUN:'.length))(body, model);
  };
}

/** The output of the conversation's last command, once it has reached the model. */
export function outputOf(server: PlatformServer, { id }: Conversation, fits: RegExp): Promise<string> {
  return until(`an output like ${String(fits)}\n${server.logs()}`, () =>
    server
      .bodies(id)
      .flatMap(toolOutputs)
      .findLast((text) => fits.test(text)),
  );
}

export async function executionStatus(
  server: PlatformServer,
  { id, sandbox }: Conversation,
): Promise<unknown> {
  return ((await server.ofRuntime(sandbox, 'GET', `/api/conversations/${id}`)) as Json)['execution_status'];
}

export async function finished(server: PlatformServer, conversation: Conversation): Promise<void> {
  await until('the end of the conversation', async () =>
    (await executionStatus(server, conversation)) === 'finished' ? true : null,
  );
}

/** Another message of the user; returns at once. */
export async function say(
  server: PlatformServer,
  { id, sandbox }: Conversation,
  text: string,
): Promise<void> {
  const content = [{ type: 'text', text }];
  const body = { role: 'user', content, run: true };
  await server.ofRuntime(sandbox, 'POST', `/api/conversations/${id}/events`, body);
}
