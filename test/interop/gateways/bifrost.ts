// Bifrost cannot be had here: its npm package only downloads a program from its vendor. This plays what its sources and a
// recording of 1.4 say of the parts that a proxy before it meets: names with their provider, virtual keys, answers and events
// decoded and encoded anew with `extra_fields`, headers for the provider, labels in its log.
import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { json, text } from 'node:stream/consumers';
import { until, type InteropRun } from '../harness/suite.ts';
import {
  GATEWAY_KEY,
  PROVIDER_KEY,
  PROVIDER_MODELS,
  type GatewayNote,
  type GatewayRecipe,
  type RunningGateway,
} from './recipe.ts';

type Json = Readonly<Record<string, unknown>>;

const PROVIDERS = ['openai', 'anthropic'];
/** What it serves of the four protocols, below its own prefixes. */
const PATHS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': '/v1/chat/completions',
  '/v1/responses': '/v1/responses',
  '/anthropic/v1/messages': '/v1/messages',
};

/** `client.header_filter_config.allowlist`: headers of callers that go on to the provider. */
const ALLOWED = ['x-from-client'];

interface Refusal {
  readonly status: number;
  readonly type?: string;
  readonly message: string;
}

export const bifrost: GatewayRecipe = {
  name: 'Bifrost',
  how: 'played, not run: its program comes from its vendor alone. The refusal of bare names and of missing keys, `extra_fields`, its allowlist of headers and the labels of its log follow its sources (1.4).',
  prepare: () => Promise.resolve('1.4, played'),
  start,
  entry: ({ url, model, api, key }) => ({
    model: api === 'messages' ? `anthropic/anthropic/${model}` : `openai/openai/${model}`,
    api_base: api === 'messages' ? `${url}/anthropic` : `${url}/v1`,
    api_key: key,
    gateway: 'bifrost',
  }),
  headerForProvider: 'x-from-client',
  sessionHeader: 'x-bf-session-id',
  limits: {},
};

async function start(run: InteropRun, providerUrl: string): Promise<RunningGateway> {
  const log: { readonly headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    log.push({ headers: request.headers });
    serve(request, response, providerUrl).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const kill = (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    return Promise.resolve();
  };
  run.teardown(kill);
  const noted = (session: string): GatewayNote | undefined => {
    const headers = log.find(({ headers: one }) => one['x-bf-session-id'] === session)?.headers;
    if (headers === undefined) return undefined;
    const dimensions = Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith('x-bf-dim-') ? [[name.slice('x-bf-dim-'.length), String(value)] as const] : [],
    );
    const tags = dimensions.flatMap(([name, value]) => (name === 'tags' ? value.split(',') : []));
    const metadata = Object.fromEntries(dimensions.filter(([name]) => name !== 'tags'));
    return { session, user: String(headers['x-bf-lh-user'] ?? ''), tags, metadata };
  };
  return {
    port: (server.address() as AddressInfo).port,
    key: GATEWAY_KEY,
    kill,
    note: (session) => until(`a log line of ${session}`, () => noted(session)),
  };
}

async function serve(request: IncomingMessage, response: ServerResponse, providerUrl: string): Promise<void> {
  const path = PATHS[request.url ?? ''];
  if (path === undefined)
    return refuse(response, { status: 404, message: `Route not found: ${request.url ?? ''}` });
  const body = (await json(request)) as Json;
  const asked = String(body['model']);
  const [provider = '', ...rest] = asked.split('/');
  const model = rest.join('/');
  // Names are looked at before keys in 1.4; its Anthropic routes take a bare name for their own provider.
  if (model === '' || !PROVIDERS.includes(provider))
    return refuse(response, { status: 400, message: 'model should be in provider/model format' });
  const refusal = keyRefusal(request.headers) ?? modelRefusal(model);
  if (refusal !== null) return refuse(response, refusal);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    authorization: `Bearer ${PROVIDER_KEY}`,
  };
  for (const [name, value] of Object.entries(request.headers))
    if (ALLOWED.includes(name)) headers[name] = String(value);
  const upstream = httpRequest(`${providerUrl}${path}`, { method: 'POST', headers, agent: false });
  response.on('close', () => upstream.destroy()); // a client that leaves ends the call
  upstream.end(JSON.stringify({ ...body, model }));
  const [answer] = (await once(upstream, 'response')) as [IncomingMessage];
  const extra = {
    request_type: 'chat_completion',
    provider,
    model_requested: model,
    latency: 1,
    chunk_index: 0,
  };
  const type = String(answer.headers['content-type']);
  const status = answer.statusCode ?? 500;
  if (!type.startsWith('text/event-stream')) {
    const said = JSON.parse(await text(answer)) as Json;
    const told = status < 400 ? { ...said, extra_fields: extra } : bifrostError(status, said, extra);
    const retryAfter = answer.headers['retry-after'];
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(told));
    return;
  }
  response.writeHead(status, { 'content-type': type });
  let rest2 = '';
  for await (const part of answer.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = `${rest2}${part}`.split('\n');
    rest2 = lines.pop() ?? '';
    for (const line of lines) response.write(`${again(line, extra)}\n`);
  }
  response.end(rest2);
}

/** An event, decoded and encoded anew. */
function again(line: string, extra: Json): string {
  if (!line.startsWith('data: {')) return line;
  const event = JSON.parse(line.slice('data: '.length)) as Json;
  const sorted = Object.entries({ ...event, extra_fields: extra }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `data: ${JSON.stringify(Object.fromEntries(sorted))}`;
}

/** `enforceAuthOnInference`: a virtual key is needed, and counts only with its prefix. */
function keyRefusal(headers: IncomingHttpHeaders): Refusal | null {
  const { authorization = '', 'x-api-key': apiKey = '', 'x-bf-vk': own } = headers;
  const key = [own, authorization.replace(/^Bearer /i, ''), apiKey].find((one) =>
    /^sk-bf-/i.test(String(one)),
  );
  if (key === GATEWAY_KEY) return null;
  return key === undefined
    ? {
        status: 401,
        type: 'virtual_key_required',
        message: 'virtual key is required. Provide a virtual key via the x-bf-vk header.',
      }
    : {
        status: 401,
        type: 'virtual_key_not_found',
        message: 'virtual key not found. The provided virtual key does not exist or has been revoked.',
      };
}

function modelRefusal(model: string): Refusal | null {
  if (PROVIDER_MODELS.some((one) => one === model)) return null;
  return { status: 400, message: `The model ${model} does not exist` };
}

function refuse(response: ServerResponse, { status, type, message }: Refusal): void {
  const body = {
    ...(type === undefined ? {} : { type }),
    is_bifrost_error: false,
    status_code: status,
    error: { message },
    extra_fields: {},
  };
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
}

function bifrostError(status: number, said: Json, extra: Json): Json {
  return { is_bifrost_error: false, status_code: status, error: said['error'] ?? said, extra_fields: extra };
}
