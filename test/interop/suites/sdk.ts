// The LLM class of openhands-sdk against this proxy with a conversation's key: each spelling that the platform interface
// hands to agents, by Chat Completions and by Responses, whole and streamed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { agentModel } from '../../../platform/runtime/agent-model.ts';
import { agentPython } from '../harness/agent.ts';
import { MODELS, PlatformServer, type Json } from '../harness/platform-server.ts';
import { packageVersion, type PythonEnvironment } from '../harness/python.ts';
import { until, type InteropRun, type Suite } from '../harness/suite.ts';

const PROGRAM = join(import.meta.dirname, '..', 'programs', 'sdk-calls.py');

interface Call {
  readonly model: string;
  readonly way: 'chat' | 'responses';
  readonly streamed: boolean;
  readonly text?: string;
  readonly pieces?: number;
  readonly id?: string;
  readonly error?: string;
}

async function play(run: InteropRun, environment: PythonEnvironment): Promise<string> {
  const server = await PlatformServer.start(run, { isolation: 'none', spec: null, script: () => null });
  const task = (await server.api('POST', '/app-conversations', { llm_model: 'demo' })) as Json;
  const path = `/app-conversations?ids=${String(task['app_conversation_id'])}`;
  const [conversation] = (await server.api('GET', path)) as [Json];
  const own = String(conversation['llm_base_url']);
  const models = MODELS.map((name) => {
    const spelling = agentModel(name, { find: (one) => (MODELS.includes(one) ? 'listed' : null) });
    assert.ok(spelling !== null, name);
    return { name: spelling.model, base_url: spelling.hasV1 ? own : own.replace(/\/v1$/, '') };
  });
  const calls = await called(environment, {
    models,
    api_key: String(conversation['llm_api_key']),
  });
  assert.deepEqual(
    calls.filter(({ error }) => error !== undefined),
    [],
  );
  assert.equal(calls.length, MODELS.length * 4);
  for (const { model, way, streamed, text: said, pieces } of calls) {
    const call = `${model}, ${way}, ${streamed ? 'streamed' : 'whole'}`;
    assert.match(said ?? '', /^Hello from .* the demo gateway heard/, call);
    assert.equal((pieces ?? 0) > 1, streamed, call);
  }
  const rows = await until('the rows', async () => {
    const found = await server.rows(String(conversation['id']));
    return found.length >= calls.length ? found : null;
  });
  assert.equal(rows.length, calls.length);
  for (const name of MODELS) {
    const ways = rows.filter((row) => row['model_group'] === name).map((row) => String(row['call_type']));
    assert.equal(ways.length, 4, name);
    assert.equal(new Set(ways).size, 2, `${name}: ${ways.join(', ')}`);
  }
  return `${calls.length} calls, ${rows.length} rows`;
}

/** Runs the program to its end. */
async function called({ python }: PythonEnvironment, asked: Json): Promise<readonly Call[]> {
  const env = {
    PATH: process.env['PATH'],
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    OPENHANDS_SUPPRESS_BANNER: '1',
  };
  const child = spawn(python, [PROGRAM], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  child.stdin.end(JSON.stringify(asked));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await ended) as [number | null];
  assert.equal(code, 0, err.slice(-2_000));
  const lines = out.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Call);
}

export const sdk: Suite = {
  name: 'sdk',
  about: "the LLM class of openhands-sdk (PyPI) with a conversation's key",
  prepare: async (run) => {
    const environment = agentPython();
    const version = packageVersion(environment, 'openhands-sdk');
    const name = 'every model by chat and Responses, whole and streamed, each a row of the conversation';
    return {
      software: `openhands-sdk ${version}, LiteLLM ${packageVersion(environment, 'litellm')}, Python ${environment.version}`,
      cases: [{ name, play: () => play(run, environment) }],
    };
  },
};
