// Client libraries of PyPI and npm against this proxy, each in an environment of its own: a gateway that speaks chat completions
// alone, so that callers of the other protocols are translated.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import type { Script } from '../../../proxy/demo-gateway/compose.ts';
import { npm } from '../../support/npm.ts';
import { KEY, startRig, type Rig } from '../../support/rig.ts';
import { packageVersion, pythonEnvironment, type PythonEnvironment } from '../harness/python.ts';
import { Missing, until, type Case, type InteropRun, type Suite } from '../harness/suite.ts';

const REQUIREMENTS = join(import.meta.dirname, '..', 'clients.txt');
const PYTHON_MINOR = 11;
const PROGRAM = join(import.meta.dirname, '..', 'programs', 'client-libraries');
const OF_PYPI = ['langchain-openai', 'langchain-anthropic', 'google-genai', 'litellm'];
const PACKAGES = {
  ai: '7.0.173',
  '@ai-sdk/openai': '4.0.118',
  '@ai-sdk/anthropic': '4.0.105',
  '@ai-sdk/openai-compatible': '3.0.92',
  '@google/genai': '3.1.0',
  zod: '4.6.7',
};
const OF_NPM = [
  '@ai-sdk/openai (responses)',
  '@ai-sdk/openai (chat)',
  '@ai-sdk/anthropic',
  '@ai-sdk/openai-compatible',
  '@google/genai',
];
const PLACE = { city: 'Oslo', days: 3 };
const SAID = 'Both are sunny.';

interface Line {
  readonly client: string;
  readonly case: string;
  readonly value?: unknown;
  readonly error?: string;
  /** The class of the error, and its status. */
  readonly kind?: string;
  readonly status?: number | null;
}

const configOf = (url: string, refusing: string): object => {
  const entry = (name: string, upstream: string, base: string): object => ({
    model_name: name,
    litellm_params: {
      model: `litellm_proxy/${upstream}`,
      api_base: base,
      api_key: 'sk-upstream',
      supported_endpoints: ['/v1/chat/completions'],
      num_retries: 0,
    },
  });
  return {
    model_list: [
      ...['text', 'two-cities', 'structured'].map((name) => entry(name, name, url)),
      entry('refused', 'demo-refuse-400', url),
      entry('stalls', 'demo-stall', url),
      entry('retry', 'text', refusing),
    ],
    litellm_settings: { drop_params: true },
    general_settings: { master_key: KEY },
  };
};

/** A gateway that refuses its first call with 503, and answers every later one. */
async function refusingOnce(run: InteropRun): Promise<string> {
  let calls = 0;
  const message = { role: 'assistant', content: 'Hello from text: the demo gateway heard 3 words.' };
  const answer = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'text',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 6, completion_tokens: 9, total_tokens: 15 },
  };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      calls += 1;
      const body = calls === 1 ? { error: { message: 'busy', type: 'server_error' } } : answer;
      response.writeHead(calls === 1 ? 503 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  run.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** By the model's name. */
const script: Script = (body, model) => {
  const messages = JSON.stringify(body['messages']);
  if (model === 'structured') return answered(body);
  if (model !== 'two-cities') return null;
  const city = ['Oslo', 'Rome'].find((one) => !messages.includes(`${one}: sun`));
  return city === undefined ? { text: SAID } : { tool: 'weather', arguments: { city, days: 1 } };
};

/** A schema is asked for as a format, or as a tool that must be called. */
function answered(body: Readonly<Record<string, unknown>>): ReturnType<Script> {
  const [tool] = Array.isArray(body['tools'])
    ? (body['tools'] as readonly { function?: { name?: string } }[])
    : [];
  const name = tool?.function?.name;
  return name === undefined ? { text: JSON.stringify(PLACE) } : { tool: name, arguments: PLACE };
}

/** What each library must say of a case. */
function judge(line: Line): void {
  const { client, case: name, value, error, kind = '', status } = line;
  const at = `${client}, ${name}: ${error ?? JSON.stringify(value)}`;
  const sentence = /^Hello from \S+: the demo gateway heard \d+ words\.$/;
  if (name === 'chat' || name === 'image' || name === 'retry')
    return assert.match(String(value), sentence, at);
  if (name === 'usage') return assert.deepEqual(value, [6, 9], at);
  if (name === 'tools') return assert.deepEqual(value, [['Oslo', 'Rome'], SAID], at);
  if (name === 'structured') return assert.deepEqual(value, PLACE, at);
  if (name === 'abort') return assert.equal(value, 'abort', at);
  if (name === 'stream') {
    const [whole, isPieces] = value as [string, boolean];
    assert.match(whole, sentence, at);
    return assert.ok(isPieces, at);
  }
  assert.notEqual(error, undefined, at);
  const wanted = name === 'wrong key' ? 401 : 400;
  const isClass = wanted === 401 ? /Authentication/ : /BadRequest|InvalidRequest/;
  assert.ok(status === wanted || isClass.test(kind), `${at} (${kind}, ${status})`);
}

async function play(
  run: InteropRun,
  clients: readonly string[],
  start: { readonly command: string; readonly args: readonly string[]; readonly cwd: string },
): Promise<string> {
  const refusing = await refusingOnce(run);
  const config = (demo: DemoGateway): string => JSON.stringify(configOf(demo.url, refusing));
  const rig: Rig = await startRig(run, { demo: { script }, config });
  const child = spawn(start.command, start.args, {
    cwd: start.cwd,
    env: {
      PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      HOME: run.folder(),
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  run.teardown(() => child.kill('SIGKILL'));
  const ended = once(child, 'close');
  child.stdin.end(JSON.stringify({ base: rig.url, key: KEY, clients }));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await ended) as [number | null];
  assert.equal(code, 0, err.slice(-2_000));
  const lines = out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
  const failures = lines.flatMap((line) => {
    try {
      judge(line);
      return [];
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  });
  assert.deepEqual(failures, [], failures.join('\n'));
  assert.equal(new Set(lines.map(({ client }) => client)).size, clients.length, err.slice(-2_000));
  assert.ok(lines.length >= clients.length * 9);
  await until('the rows', async () => ((await rig.rows()).length > 0 ? true : null));
  await rig.stop();
  return `${lines.length} cases`;
}

function installed(run: InteropRun): string {
  const folder = run.folder();
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: PACKAGES }));
  console.error(`installing ${Object.keys(PACKAGES).join(', ')} into ${folder}`);
  const { status, err } = npm(folder, 'npm', 'install', '--ignore-scripts');
  if (status !== 0) throw new Missing(`client libraries cannot be installed: ${err.trim().slice(-300)}`);
  return folder;
}

function python(): PythonEnvironment | string {
  try {
    return pythonEnvironment(REQUIREMENTS, PYTHON_MINOR);
  } catch (error) {
    if (error instanceof Missing) return error.message;
    throw error;
  }
}

export const clients: Suite = {
  name: 'clients',
  about: 'LangChain, google-genai, litellm (PyPI), the AI SDK and @google/genai (npm) call through the proxy',
  prepare: (run) => {
    const environment = python();
    const missing = typeof environment === 'string' ? environment : null;
    const folder = installed(run);
    const ofNpm = { command: process.execPath, args: [`${PROGRAM}.mjs`], cwd: folder };
    const cases: Case[] = OF_NPM.map((name) => ({ name, play: () => play(run, [name], ofNpm) }));
    for (const name of OF_PYPI)
      cases.push({
        name,
        missing,
        play: () => {
          assert.ok(typeof environment !== 'string');
          return play(run, [name], { command: environment.python, args: [`${PROGRAM}.py`], cwd: folder });
        },
      });
    const named = Object.entries(PACKAGES).map(([name, version]) => `${name} ${version}`);
    if (typeof environment !== 'string')
      named.push(...OF_PYPI.map((name) => `${name} ${packageVersion(environment, name)}`));
    return Promise.resolve({ software: named.join(', '), cases });
  },
};
