// The vendors' Python SDKs and LiteLLM read streams that were translated from each other protocol's, and their own requests go
// upstream translated.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import type { Json } from '../../../proxy/bodies/json.ts';
import { NAMES, type Name } from '../../proxy/protocols/translation/fixture/requests.ts';
import { between, streamed } from '../../proxy/protocols/translation/fixture/talk.ts';
import { UPSTREAMS } from '../../proxy/protocols/translation/fixture/upstreams.ts';
import { agentPython } from '../harness/agent.ts';
import { packageVersion, type PythonEnvironment } from '../harness/python.ts';
import type { InteropRun, Suite } from '../harness/suite.ts';

const PROGRAM = join(import.meta.dirname, '..', 'programs', 'translated-streams.py');
const CALLERS: Readonly<Record<string, Name>> = {
  completions: 'chat',
  responses: 'responses',
  messages: 'messages',
};
/** The word of an end with calls. */
const ENDS: Readonly<Record<Name, string>> = {
  chat: 'tool_calls',
  messages: 'tool_use',
  responses: 'completed',
  gemini: 'STOP',
};

interface Called {
  readonly sdk: string;
  readonly caller: Name;
  readonly upstream: Name;
  readonly text?: string;
  readonly calls?: unknown;
  readonly usage?: unknown;
  readonly end?: string;
  readonly error?: string;
}

/** `/messages/v1/chat/completions`: a caller of chat, an upstream of messages. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?');
  const [, upstream = ''] = path.split('/');
  const from = CALLERS[path.split('/').at(-1) ?? ''] ?? 'gemini';
  const to = NAMES.find((name) => name === upstream) ?? 'chat';
  const body = (await json(request)) as Json;
  response.setHeader('content-type', 'text/event-stream');
  response.end(streamed(between(from, to, body), UPSTREAMS[to]));
}

async function play(run: InteropRun, { python }: PythonEnvironment): Promise<string> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  run.teardown(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { PATH: process.env['PATH'], LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
  const child = spawn(python, [PROGRAM], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  child.stdin.end(JSON.stringify({ base: `http://127.0.0.1:${port}`, protocols: NAMES }));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await ended) as [number | null];
  assert.equal(code, 0, err.slice(-2_000));
  const lines = out.split('\n').filter((line) => line.startsWith('{'));
  const calls = lines.map((line) => JSON.parse(line) as Called);
  for (const { sdk, caller, upstream, error, ...said } of calls) {
    assert.equal(error, undefined, `${sdk}: ${caller} from ${upstream}: ${error ?? ''}`);
    const end = sdk === 'litellm' ? ENDS.chat : ENDS[caller];
    const tools = [
      ['read_file', { path: 'a.txt' }],
      ['draw', { input: 'a circle' }],
    ];
    assert.deepEqual(
      said,
      { text: 'Once more.', calls: tools, usage: [100, 30], end },
      `${sdk}: ${caller} from ${upstream}`,
    );
  }
  assert.equal(calls.length, 18);
  return `${calls.length} streams`;
}

export const translations: Suite = {
  name: 'translations',
  about: 'openai, anthropic, google-genai and litellm (PyPI) read translated streams',
  prepare: (run) => {
    const environment = agentPython();
    const named = ['openai', 'anthropic', 'google-genai', 'litellm'].map(
      (name) => `${name} ${packageVersion(environment, name)}`,
    );
    const name = 'text, two calls and usage of each SDK from each other protocol';
    return Promise.resolve({
      software: `${named.join(', ')}, Python ${environment.version}`,
      cases: [{ name, play: () => play(run, environment) }],
    });
  },
};
