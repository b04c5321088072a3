// A stopped conversation as the SDKs of agents see it: they do not send the call again, and show their users why.
import { spawn } from 'node:child_process';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import t from 'tap';
import { defaultConfig, KEY, send, startRig } from '../support/rig.ts';
import { thrown } from '../support/thrown.ts';

const rig = await startRig(t, {
  config: (demo) =>
    defaultConfig(
      demo,
      'brake: { mode: enforce, polling_seconds: 0, rules: { repeated_step: { slow: false, stop: 2 } } }',
    ),
});

const calls = (id: string): object => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{"path":"/a"}' } }],
});
const results = (id: string): object => ({ role: 'tool', tool_call_id: id, content: 'nothing there' });
const CHAT = [{ role: 'user', content: 'Find it.' }, calls('a'), results('a'), calls('b'), results('b')];

/** How many requests of this session the proxy has refused. */
async function refused(session: string): Promise<number> {
  const { text } = await send(rig.url, 'GET', `/conversations/${session}/brake`);
  return (JSON.parse(text) as { refused: number }).refused;
}

t.test('the OpenAI SDK raises BadRequestError at once, streamed or not', async (t) => {
  const defaultHeaders = { 'x-litellm-session-id': 'openai' };
  const client = new OpenAI({ baseURL: `${rig.url}/v1`, apiKey: KEY, maxRetries: 5, defaultHeaders });
  const messages = CHAT as OpenAI.ChatCompletionMessageParam[];
  for (const stream of [false, true]) {
    const error = await thrown(client.chat.completions.create({ model: 'demo', messages, stream }));
    t.type(error, OpenAI.BadRequestError);
    t.match(error, { code: 'conversation_stopped', type: 'runaway_conversation' });
    t.match((error as Error).message, /runaway brake.*same tool call.*write a new message/);
  }
  t.equal(await refused('openai'), 2, 'one request for each call');
});

t.test('the Anthropic SDK raises BadRequestError at once', async (t) => {
  const defaultHeaders = { 'x-litellm-session-id': 'anthropic' };
  const client = new Anthropic({ baseURL: rig.url, apiKey: KEY, maxRetries: 5, defaultHeaders });
  const turn = (id: string): Anthropic.MessageParam[] => [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'look', input: { path: '/a' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'nothing there' }] },
  ];
  const messages: Anthropic.MessageParam[] = [
    { role: 'user', content: 'Find it.' },
    ...turn('a'),
    ...turn('b'),
  ];
  const error = await thrown(client.messages.create({ model: 'demo', max_tokens: 10, messages }));
  t.type(error, Anthropic.BadRequestError);
  t.match((error as Error).message, /runaway brake.*same tool call/);
  t.equal(await refused('anthropic'), 1);
});

/** The agents' own SDK, where it is installed: `OPENHANDS_PYTHON` is a Python that has it. */
const python = process.env['OPENHANDS_PYTHON'] ?? '';
t.test(
  "the OpenHands SDK, through LiteLLM's client: not retried, not condensed",
  { skip: python === '' ? 'OPENHANDS_PYTHON is not set' : false },
  async (t) => {
    const program = `
import json, sys
from pydantic import SecretStr
from openhands.sdk.llm import LLM, Message, TextContent
from openhands.sdk.llm.message import MessageToolCall
import openhands.sdk.llm.exceptions as exceptions
llm = LLM(model='litellm_proxy/demo', base_url=sys.argv[1], api_key=SecretStr(sys.argv[2]), num_retries=3, retry_min_wait=0, retry_max_wait=1, extra_headers={'x-litellm-session-id': 'openhands'}, usage_id='agent')
messages = [Message(role='user', content=[TextContent(text='Find it.')])]
for id in ('a', 'b'):
    call = MessageToolCall(id=id, name='look', arguments='{"path":"/a"}', origin='completion')
    messages += [Message(role='assistant', content=[], tool_calls=[call]), Message(role='tool', name='look', tool_call_id=id, content=[TextContent(text='nothing there')])]
try:
    llm.completion(messages)
    print(json.dumps({'type': None, 'text': ''}))
except Exception as error:
    print(json.dumps({'type': [one.__name__ for one in type(error).__mro__], 'text': str(error)}))
`;
    // A program of its own, so its calls are served while it runs.
    const child = spawn(python, ['-c', program, rig.url, KEY], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    await new Promise((resolve) => child.on('close', resolve));
    const { type, text } = JSON.parse(out.trim().split('\n').at(-1) ?? '') as {
      type: string[];
      text: string;
    };
    t.ok(type.includes('LLMBadRequestError') || type.includes('BadRequestError'), String(type));
    t.notOk(type.some((one) => /RateLimit|ContextWindow|Malformed|Timeout|ServiceUnavailable/.test(one)));
    t.match(text, /runaway brake.*same tool call/);
    t.equal(await refused('openhands'), 1, 'asked once');
  },
);
