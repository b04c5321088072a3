// Responses below 400 that are no answers: an error with status 200, a page of HTML, nothing at all. They are failures: another
// deployment is asked, and where there is none, the client gets what came, byte by byte.
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { startUpstream } from '../support/call.ts';
import { KEY, rowOf, send, startRig } from '../support/rig.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const ERROR = '{"error":{"message":"no answer","type":"server_error","code":null}}';
const GOOD = JSON.stringify({
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
const damaged = gzipSync(GOOD);
damaged.fill(0xff, 12, 24);

type Answer = (res: ServerResponse) => void;
const body =
  (status: number, headers: Record<string, string>, bytes: string | Buffer = ''): Answer =>
  (res) =>
    void res.writeHead(status, headers).end(bytes);
const BAD: Readonly<Record<string, { answer: Answer; end?: string; text?: string }>> = {
  error: { answer: body(200, JSON_TYPE, ERROR), text: ERROR },
  'error-text': { answer: body(200, JSON_TYPE, '{"error":"no"}'), text: '{"error":"no"}' },
  'error-plain': { answer: body(200, { 'content-type': 'text/plain' }, ERROR), text: ERROR },
  'error-gzip': { answer: body(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(ERROR)) },
  html: {
    answer: body(200, { 'content-type': 'text/html' }, '<html>Sign in</html>'),
    text: '<html>Sign in</html>',
  },
  'html-json': { answer: body(200, JSON_TYPE, '<html>'), text: '<html>' },
  empty: { answer: body(200, { ...JSON_TYPE, 'content-length': '0' }), text: '' },
  untyped: { answer: body(200, {}), text: '' },
  204: { answer: body(204, {}), text: '' },
  205: { answer: body(205, { 'content-length': '0' }), text: '' },
  302: { answer: body(302, { location: 'https://login.example/' }), text: '' },
  304: { answer: body(304, {}), text: '' },
  damaged: { answer: body(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, damaged), end: 'truncated' },
  half: { answer: body(200, JSON_TYPE, GOOD.slice(0, 40)), end: 'truncated', text: GOOD.slice(0, 40) },
};

const bad = await startUpstream(t, ({ res, body: bytes }) => {
  const { kind } = JSON.parse(bytes.toString()) as { kind: string };
  if (kind === 'good') return body(200, JSON_TYPE, GOOD)(res);
  BAD[kind]?.answer(res);
});
const good = await startUpstream(t, ({ res }) => body(200, JSON_TYPE, GOOD)(res));
const rig = await startRig(t, {
  config: () => `
model_list:
  - { model_name: alone, litellm_params: { model: litellm_proxy/m, api_base: "${bad}" } }
  - { model_name: pair, litellm_params: { model: litellm_proxy/m, api_base: "${bad}", order: 1 } }
  - { model_name: pair, litellm_params: { model: litellm_proxy/m, api_base: "${good}", order: 2 } }
router_settings: { allowed_fails: 1000 }
general_settings: { master_key: ${KEY} }
`,
});
const ask = { messages: [{ role: 'user', content: 'hi' }] };

t.test('they are recorded as failures, and the client gets what came', async (t) => {
  for (const [kind, { end = 'upstream_error', text }] of Object.entries(BAD)) {
    for (const stream of [false, true]) {
      const answer = await send(rig.url, 'POST', '/v1/chat/completions', {
        model: 'alone',
        kind,
        stream,
        ...ask,
      });
      t.equal(answer.status, Number(kind) || 200, kind);
      if (text !== undefined) t.equal(answer.text, text, kind);
      const row = await rowOf(rig, answer);
      t.match(row, { status: 'failure', end_reason: end, error_source: 'upstream' }, kind);
      t.equal(answer.headers['x-litellm-response-cost'], undefined);
    }
  }
});

t.test('another deployment is asked before anything of them reaches the client', async (t) => {
  for (const kind of Object.keys(BAD)) {
    const answer = await send(rig.url, 'POST', '/v1/chat/completions', { model: 'pair', kind, ...ask });
    t.match(answer, { status: 200, text: GOOD }, kind);
    t.match(
      await rowOf(rig, answer),
      { status: 'success', attempts: 2, attempt_log: [{ error: 'server' }, {}] },
      kind,
    );
  }
});

t.test('the same holds for the other kinds of calls', async (t) => {
  const paths = {
    responses: 'input',
    messages: 'messages',
    completions: 'prompt',
    embeddings: 'input',
    rerank: 'query',
  };
  for (const [path, member] of Object.entries(paths)) {
    for (const kind of ['error', 'html', 'empty']) {
      const answer = await send(rig.url, 'POST', `/v1/${path}`, {
        model: 'alone',
        kind,
        documents: [],
        [member]: 'x',
      });
      t.match(
        await rowOf(rig, answer),
        { status: 'failure', end_reason: 'upstream_error' },
        `${path} ${kind}`,
      );
    }
  }
});

t.test(
  'a response that failed is a failure, also where some of it was written; its usage counts',
  async (t) => {
    const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }];
    const usage = { input_tokens: 100, output_tokens: 50, total_tokens: 150 };
    const failing = await startUpstream(t, ({ req, res, body: bytes }) => {
      const asked = req.method === 'GET' ? '{"written":true,"counted":true}' : bytes.toString();
      const { written, counted } = JSON.parse(asked) as { written: boolean; counted: boolean };
      const error = { code: 'server_error', message: 'boom' };
      const more = { output: written ? output : [], usage: counted ? usage : null };
      body(200, JSON_TYPE, JSON.stringify({ id: 'resp_f', status: 'failed', error, ...more }))(res);
    });
    const failed = await startRig(t, {
      config: () => `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${failing}", input_cost_per_token: 0.001, output_cost_per_token: 0.01 } }
general_settings: { master_key: ${KEY} }
router_settings: { num_retries: 0, allowed_fails: 1000 }
`,
    });
    for (const written of [false, true])
      for (const counted of [false, true]) {
        const ask = { model: 'm', input: 'x', written, counted };
        const answer = await send(failed.url, 'POST', '/v1/responses', ask);
        t.match(answer, { status: 200, text: /"status":"failed"/ });
        t.match(
          await rowOf(failed, answer),
          {
            status: 'failure',
            end_reason: 'upstream_error',
            total_tokens: counted ? 150 : 0,
            spend: counted ? 0.6 : 0,
          },
          `${written} ${counted}`,
        );
      }
    const fetched = await send(failed.url, 'GET', '/v1/responses/resp_f');
    const row = await rowOf(failed, fetched);
    t.match(row, { status: 'success', end_reason: 'complete', spend: 0 }, 'to fetch it is no failure');
  },
);

t.test('an answer with an empty error is one', async (t) => {
  const answer = await send(rig.url, 'POST', '/v1/chat/completions', {
    model: 'alone',
    kind: 'good',
    ...ask,
  });
  t.match(await rowOf(rig, answer), { status: 'success', end_reason: 'complete' });
});

t.test('the row of an unknown model has the name that was asked for, and the error’s text', async (t) => {
  const answer = await send(rig.url, 'POST', '/v1/chat/completions', { model: 'no-such-model', ...ask });
  t.equal(answer.status, 404);
  t.match(await rowOf(rig, answer), {
    model: 'no-such-model',
    model_group: 'no-such-model',
    model_id: null,
    end_reason: 'refused',
    metadata: {
      error_information: {
        error_class: 'model_not_found',
        error_code: '404',
        error_message: /^The model `no-such-model` does not exist/,
      },
    },
  });
});
