// Which protocol a call goes in, and which answers say that an endpoint is not there. The bodies are those of real gateways.
import t from 'tap';
import { AbsentEndpoints } from '../../../proxy/routing/absent-endpoints.ts';
import {
  countsHere,
  mayLack,
  otherProtocol,
  saysNoEndpoint,
} from '../../../proxy/pipeline/upstream-protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';

const endpoint = (path: string): Endpoint => ENDPOINTS.find((one) => one.path === path) as Endpoint;
type Serving = Parameters<typeof otherProtocol>[0];
const serving = (serves: readonly string[] | null, absent = new AbsentEndpoints()): Serving => ({
  serves: serves === null ? null : new Set(serves),
  absent,
});
const goes = (serves: readonly string[] | null, path: string, absent?: AbsentEndpoints): string =>
  otherProtocol(serving(serves, absent), endpoint(path), () => 0)?.name ?? 'as it is';

t.test('a call goes as it is where the gateway speaks it, or nobody knows', async (t) => {
  t.equal(goes(null, 'messages'), 'as it is');
  t.equal(goes(['messages', 'chat'], 'messages'), 'as it is');
  t.equal(goes(['chat'], 'embeddings'), 'as it is', 'is never translated');
  t.equal(goes(['chat'], 'completions'), 'as it is');
  t.equal(goes(['embeddings'], 'messages'), 'as it is', 'there is nothing else');
  t.equal(goes(['responses', 'messages', 'chat'], 'models/{model}:generateContent'), 'chat');
  t.equal(goes(['gemini', 'responses'], 'messages'), 'responses');
  t.equal(goes(['gemini'], 'chat/completions'), 'gemini');
});

t.test('what no other API has goes nowhere else', async (t) => {
  t.equal(goes(null, 'responses/compact'), 'as it is');
  t.equal(goes(['chat', 'responses'], 'responses/compact'), 'as it is');
  t.equal(goes(['embeddings'], 'responses/compact'), 'as it is', 'such a list says nothing about it');
  t.equal(goes([], 'responses/compact'), 'as it is');
  t.throws(() => goes(['chat', 'embeddings'], 'responses/compact'), { code: 'endpoint_not_translated' });
  t.throws(() => goes(['chat'], 'responses/compact'), { code: 'endpoint_not_translated' });
});

t.test('what was found to be missing is asked for in another protocol for some minutes', async (t) => {
  const absent = new AbsentEndpoints();
  absent.add('messages', 0);
  t.equal(goes(null, 'messages', absent), 'chat');
  t.equal(goes(null, 'chat/completions', absent), 'as it is');
  t.equal(goes(null, 'responses', absent), 'as it is');
  t.equal(
    otherProtocol(serving(null, absent), endpoint('messages'), () => 600_001),
    null,
    'it may have come since',
  );
  t.equal(absent.has('messages', 600_001), false);
});

t.test('tokens are counted here where the gateway is known not to', async (t) => {
  const absent = new AbsentEndpoints();
  const counts = (serves: readonly string[] | null): boolean =>
    countsHere(serving(serves, absent), endpoint('messages/count_tokens'), 0);
  t.same([counts(null), counts(['messages']), counts(['chat'])], [false, false, true]);
  absent.add('messages/count_tokens', 0);
  t.same([counts(null), counts(['messages'])], [true, true]);
  t.equal(countsHere(serving(['chat'], absent), endpoint('messages'), 0), false);
  t.equal(mayLack(serving(['messages']), endpoint('messages/count_tokens')), true);
  t.equal(mayLack(serving(['messages']), endpoint('messages')), false, 'the entry states it');
  t.equal(mayLack(serving(null), endpoint('messages')), true);
  for (const path of ['embeddings', 'chat/completions'])
    t.equal(mayLack(serving(null), endpoint(path)), false, path);
});

t.test('a missing endpoint is told from an unknown model', async (t) => {
  const says = (status: number, body: string, path = '/v1/messages?beta=true'): boolean =>
    saysNoEndpoint({ path }, { status, unsent: [Buffer.from(body)], isStream: false });
  for (const body of [
    '{"detail":"Not Found"}', // FastAPI: vLLM, SGLang
    '404 page not found', // Go: Ollama
    '{"error":{"message":"Invalid URL (POST /v1/messages)","type":"invalid_request_error","param":null,"code":null}}',
    '{"message":"Cannot POST /v1/messages","error":"Not Found","statusCode":404}',
    '<html><head><title>404 Not Found</title></head><body><center><h1>404 Not Found</h1></center></body></html>',
    '',
  ])
    t.equal(says(404, body), true, body);
  const gemini = '/v1beta/models/a%2Fb:generateContent';
  t.equal(
    says(404, 'Cannot POST /v1beta/models/a/b:generateContent', gemini),
    true,
    'the path alone has the word',
  );
  for (const body of [
    '{"error":{"message":"The model `x` does not exist or you do not have access to it.","code":"model_not_found"}}',
    '{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}',
    '{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}',
    '{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}',
    '{"error":{"message":"No such engine"}}',
  ])
    t.equal(says(404, body), false, body);
  t.equal(says(405, 'the model'), true);
  // Portkey and litellm-rs, whose route is there and whose provider lacks the API.
  t.equal(says(500, '{"status":"failure","message":"messages is not supported by openai"}'), true);
  const capability = (name: string): string =>
    `{"error":{"message":"Invalid request for router: Model 'm' does not support capability ${name}"}}`;
  t.equal(says(400, capability('ChatCompletion')), true);
  for (const [status, body] of [
    [500, '{"status":"failure","message":"temperature is not supported by this model"}'],
    [500, '{"error":{"message":"messages is not supported by openai"}}'],
    [400, '{"status":"failure","message":"messages is not supported by openai"}'],
    [400, capability('Vision')],
    [400, '{"error":{"message":"tools: the model does not support this capability"}}'],
  ] as const)
    t.equal(says(status, body), false, body);
  for (const status of [200, 400, 401, 403, 500, 501, 503]) t.equal(says(status, ''), false, String(status));
  t.equal(
    saysNoEndpoint({ path: '/' }, { status: 404, unsent: null, isStream: false }),
    false,
    'something was sent',
  );
});
