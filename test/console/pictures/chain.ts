// A chain with traffic for the pictures: three gateways by name, models that answer, that are slow and that fail, sessions,
// tags, teams. Nothing leaves this machine: a forward proxy on loopback takes the names.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startDemoGateway, type DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { KEY, send, startRig, type Rig, type RigOptions } from '../../support/rig.ts';

const GATEWAYS = {
  'llm-gateway.example.com': { slowMs: 640, eventIntervalMs: 12 },
  'gpu-pool.example.net': { slowMs: 1400, eventIntervalMs: 30 },
  'api.provider.example': { slowMs: 380, eventIntervalMs: 8 },
} as const;

const MODELS: readonly (readonly [name: string, upstream: string, host: keyof typeof GATEWAYS])[] = [
  ['claude-sonnet-4-5', 'litellm_proxy/demo-slow-cost', 'llm-gateway.example.com'],
  ['claude-haiku-4-5', 'litellm_proxy/demo-cost', 'llm-gateway.example.com'],
  ['gpt-5', 'litellm_proxy/demo-interval-cost', 'llm-gateway.example.com'],
  ['gpt-5-mini', 'litellm_proxy/demo-cached-cost', 'llm-gateway.example.com'],
  ['qwen3-coder', 'openai/acme/demo-slow', 'gpu-pool.example.net'],
  ['llama-4-maverick', 'openai/acme/demo-503', 'gpu-pool.example.net'],
  ['embeddings-large', 'openai/acme/demo-tools', 'api.provider.example'],
  ['mistral-large', 'openai/acme/demo-429', 'api.provider.example'],
];

const WEIGHTS: Readonly<Record<string, number>> = {
  'claude-sonnet-4-5': 14,
  'claude-haiku-4-5': 6,
  'gpt-5': 7,
  'gpt-5-mini': 9,
  'qwen3-coder': 4,
  'llama-4-maverick': 2,
  'embeddings-large': 5,
  'mistral-large': 2,
};

interface Teardown {
  teardown(act: () => unknown): unknown;
}

interface Chain {
  readonly rig: Rig;
  /** Starts one more server with the same configuration. */
  readonly another: () => Promise<Rig>;
}

/** A proxy in front of them; names go through a forward proxy of this process. */
export async function startChain(t: Teardown, more = '', router = ''): Promise<Chain> {
  const gateways = new Map<string, DemoGateway>();
  for (const [host, clocks] of Object.entries(GATEWAYS)) {
    const gateway = await startDemoGateway(clocks);
    t.teardown(() => gateway.close());
    gateways.set(host, gateway);
  }
  const names = createServer((req, res) => {
    const url = new URL(req.url ?? '');
    const gateway = gateways.get(url.hostname);
    if (gateway === undefined) {
      res.writeHead(502).end();
      return;
    }
    const upstream = request(
      {
        host: '127.0.0.1',
        port: gateway.port,
        method: req.method,
        path: url.pathname + url.search,
        headers: req.headers,
      },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
      },
    );
    upstream.on('error', () => res.destroy());
    req.pipe(upstream);
  });
  names.listen(0, '127.0.0.1');
  await once(names, 'listening');
  t.teardown(() => {
    names.closeAllConnections();
    names.close();
  });
  const proxy = `http://127.0.0.1:${(names.address() as AddressInfo).port}`;
  const options: RigOptions = {
    config: () => configOf(more, router),
    env: { HTTP_PROXY: proxy, NO_PROXY: '127.0.0.1', GATEWAY_KEY: 'sk-upstream-secret', MASTER_KEY: KEY },
  };
  return { rig: await startRig(t, options), another: () => startRig(t, options) };
}

function configOf(more: string, router: string): string {
  const entries = MODELS.map(
    ([name, upstream, host]) => `
  - model_name: ${name}
    litellm_params:
      model: ${upstream}
      api_base: http://${host}${upstream.startsWith('openai/') ? '/compat/v1' : ''}
      api_key: ${host === 'api.provider.example' ? 'sk-upstream-secret' : 'os.environ/GATEWAY_KEY'}
      input_cost_per_token: 0.000003
      output_cost_per_token: 0.000015`,
  );
  return `model_list:${entries.join('')}
router_settings:
  num_retries: 1
${router}general_settings:
  master_key: os.environ/MASTER_KEY
  forward_client_headers_to_llm_api: true
${more}`;
}

const SESSIONS = ['fix-login-timeout', 'review-pr-1284', 'nightly-triage', 'migrate-schema', 'docs-search'];
const TAGS = ['team:platform', 'team:search', 'env:prod', 'env:staging'];
const TEXT =
  'Explain why the retry budget refuses the second attempt, and what to change in the configuration of it. ';

/** Calls of agents, some at a time. @param rounds each is about 50 calls */
export async function converse(rig: Rig, rounds: number, keys: readonly string[] = [KEY]): Promise<void> {
  const models = Object.entries(WEIGHTS).flatMap(([name, weight]) =>
    Array.from({ length: weight }, () => name),
  );
  const AT_ONCE = 12;
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < models.length; at += AT_ONCE) {
      await Promise.all(
        models.slice(at, at + AT_ONCE).map((model, i) => {
          const n = round * models.length + at + i;
          const body = {
            model,
            stream: n % 3 !== 0,
            messages: [{ role: 'user', content: TEXT.repeat(1 + ((n * 7) % 23)) }],
          };
          return send(rig.url, 'POST', '/v1/chat/completions', body, {
            authorization: `Bearer ${keys[n % keys.length] ?? KEY}`,
            'x-litellm-session-id': SESSIONS[n % SESSIONS.length] ?? '',
            'x-litellm-tags': `${TAGS[n % 2] ?? ''},${TAGS[2 + (n % 2)] ?? ''}`,
            'x-litellm-end-user-id': `dev-${n % 4}@example.com`,
            'user-agent': n % 2 === 0 ? 'claude-cli/2.1.0' : 'OpenHands/1.20',
          });
        }),
      );
    }
  }
}
