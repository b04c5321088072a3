// Models that have no API but responses: which API their upstream is asked in, whoever says so - the name, the mode of the entry,
// the catalogue, and below a wildcard the catalogue for each name.
import t from 'tap';
import { startUpstream } from '../support/call.ts';
import { KEY, rowOf, send, startRig, type Answer } from '../support/rig.ts';

const got: string[] = [];
const upstream = await startUpstream(t, ({ req, res, body }) => {
  const { model } = JSON.parse(String(body)) as { model?: string };
  got.push(`${req.url} ${model}`);
  res.writeHead(200, { 'content-type': 'application/json' });
  const text = { type: 'output_text', text: 'a', annotations: [] };
  const output = [{ type: 'message', id: 'm', role: 'assistant', status: 'completed', content: [text] }];
  const usage = { input_tokens: 3, output_tokens: 1, total_tokens: 4 };
  const response = { id: 'r', object: 'response', created_at: 1, status: 'completed', model, output, usage };
  const message = { role: 'assistant', content: 'a' };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const counts = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
  const completion = { id: 'c', object: 'chat.completion', created: 1, model, choices, usage: counts };
  res.end(JSON.stringify(req.url?.includes('responses') === true ? response : completion));
});

const entry = (name: string, model: string, base: string, more = ''): string =>
  `  - { model_name: "${name}", litellm_params: { model: "${model}", api_base: "${upstream}${base}", api_key: k${more} } }\n`;
const rig = await startRig(t, {
  config: () => `model_list:
${entry('azure-said', 'azure/responses/gpt-5', '', ', api_version: preview')}${entry('azure-codex', 'azure/gpt-5.1-codex', '', ', api_version: "2025-04-01-preview"')}${entry('openai-said', 'openai/responses/gpt-5', '/v1')}${entry('openai-codex', 'openai/gpt-5.1-codex', '/v1')}${entry('stated', 'openai/gpt-5.1-codex', '/v1', ', supported_endpoints: [chat]')}${entry('openai/*', 'openai/*', '/v1')}${entry('chain/*', 'litellm_proxy/*', '')}
  - { model_name: mode, litellm_params: { model: openai/mine, api_base: "${upstream}/v1", api_key: k }, model_info: { mode: responses } }
general_settings: { master_key: ${KEY} }
`,
});

const ask = (model: string, path = '/v1/chat/completions'): Promise<Answer> =>
  send(rig.url, 'POST', path, { model, max_tokens: 5, messages: [{ role: 'user', content: 'one' }] });

t.test('a chat call becomes one of responses, with the name that the upstream knows', async (t) => {
  const cases = [
    ['azure-said', '/openai/v1/responses?api-version=preview gpt-5'],
    ['azure-codex', '/openai/responses?api-version=2025-04-01-preview gpt-5.1-codex'],
    ['openai-said', '/v1/responses gpt-5'],
    ['openai-codex', '/v1/responses gpt-5.1-codex'],
    ['mode', '/v1/responses mine'],
    ['openai/gpt-5.1-codex', '/v1/responses gpt-5.1-codex'],
  ] as const;
  for (const [model, arrives] of cases) {
    got.length = 0;
    const answer = await ask(model);
    t.match(answer, { status: 200, headers: { 'x-litellm-translated': 'chat->responses' } }, model);
    t.match(JSON.parse(answer.text), { object: 'chat.completion', choices: [{ message: { content: 'a' } }] });
    t.same(got, [arrives], model);
    t.match(await rowOf(rig, answer), { prompt_tokens: 3, completion_tokens: 1 });
  }
});

t.test('so does one of messages', async (t) => {
  got.length = 0;
  t.match(await ask('openai-codex', '/v1/messages'), { status: 200 });
  t.same(got, ['/v1/responses gpt-5.1-codex']);
});

t.test('other models, what an entry states, and gateways of the dialect are asked as before', async (t) => {
  const cases = [
    ['openai/gpt-5', '/v1/chat/completions gpt-5'],
    ['stated', '/v1/chat/completions gpt-5.1-codex'],
    ['chain/gpt-5.1-codex', '/v1/chat/completions gpt-5.1-codex'],
  ] as const;
  for (const [model, arrives] of cases) {
    got.length = 0;
    t.match(await ask(model), { status: 200 }, model);
    t.same(got, [arrives], model);
  }
});
