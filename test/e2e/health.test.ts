// What probes, scrapers and browsers see: health, metrics, CORS. None of it may need a key that a probe has not, cost
// a paid call, or grow with what clients make up.
import t from 'tap';
import type { Test } from 'tap';
import { startUpstream } from '../support/call.ts';
import { chat, defaultConfig, KEY, send, startRig, type Answer, type Rig } from '../support/rig.ts';

type Json = Readonly<Record<string, unknown>>;

const json = (answer: Answer): Json => JSON.parse(answer.text) as Json;
const NO_KEY = { authorization: '' };

interface Health {
  readonly healthy_endpoints: readonly Json[];
  readonly unhealthy_endpoints: readonly Json[];
  readonly healthy_count: number;
  readonly unhealthy_count: number;
}

t.test('a further port for probes, as containers of LiteLLM have it', async (t) => {
  const rig = await startRig(t, { env: { SEPARATE_HEALTH_APP: '1', SEPARATE_HEALTH_PORT: '0' } });
  const url = rig.gateway.healthUrl ?? '';
  t.not(url, rig.url);
  for (const path of ['/health/liveliness', '/health/readiness'])
    for (const base of [url, rig.url])
      t.equal((await send(base, 'GET', path, undefined, NO_KEY)).status, 200, `${base}${path}`);
  for (const [method, path] of [
    ['GET', '/metrics'],
    ['GET', '/health'],
    ['GET', '/v1/models'],
    ['GET', '/openapi.json'],
    ['POST', '/v1/chat/completions'],
  ] as const)
    t.match(await send(url, method, path, method === 'POST' ? {} : undefined), {
      status: 404,
      text: /answers probes alone \(SEPARATE_HEALTH_PORT\)/,
    });
  const wrong = (port: string): Promise<unknown> =>
    startRig(t, { env: { SEPARATE_HEALTH_APP: '1', SEPARATE_HEALTH_PORT: port } });
  await t.rejects(wrong('70000'), {
    message: 'SEPARATE_HEALTH_PORT 70000 is not a port - give a whole number from 0 to 65535',
  });
  await t.rejects(wrong('8001x'), { message: /8001x is not a port/ });
});

t.test('liveness and readiness', async (t) => {
  const rig = await startRig(t);

  t.test('both spellings of liveness answer the sentence of the dialect, without a key', async (t) => {
    for (const path of ['/health/liveness', '/health/liveliness']) {
      const answer = await send(rig.url, 'GET', path, undefined, NO_KEY);
      t.match(answer, { status: 200, text: '"I\'m alive!"' }, path);
      t.equal((await send(rig.url, 'HEAD', path, undefined, NO_KEY)).status, 200);
    }
  });

  t.test(
    'readiness tells configuration, store and journal, without a key and without a secret',
    async (t) => {
      const answer = await send(rig.url, 'GET', '/health/readiness', undefined, NO_KEY);
      t.equal(answer.status, 200);
      t.notMatch(answer.text, /sk-/);
      t.match(json(answer), {
        status: 'healthy',
        db: 'connected',
        cache: null,
        keys_loaded: true,
        litellm_version: /^\d+\.\d+\.\d+/,
        config: { version: /^[0-9a-f]{12}$/, models: 4, last_reload: 'applied', issues: [] },
        journal: { writable: true, rows_at_risk: 0, backlog_bytes: 0 },
      });
    },
  );
});

t.test(
  'readiness turns 503 while the proxy drains, liveness stays, and a running request ends whole',
  async (t) => {
    const rig = await startRig(t);
    const before = rig.demo.seen.length;
    const running = chat(rig, 'demo-hold');
    await rig.demo.waitFor(before + 1);
    const kept = await keepAlive(rig);
    const stopped = rig.gateway.stop({ maxMs: 60_000 });
    await rig.logged((line) => line['msg'] === 'stopping');
    const ready = await kept.get('/health/readiness');
    t.match(ready, /^HTTP\/1\.1 503 /);
    t.match(ready, /"status":"unhealthy","reason":"the proxy is stopping"/);
    t.match(ready, /\r\nconnection: close\r\n/i);
    rig.demo.release();
    t.equal((await running).status, 200);
    await stopped;
  },
);

/** A connection that is in use while the server drains: idle ones are closed at once. */
async function keepAlive(rig: Rig): Promise<{ get(path: string): Promise<string> }> {
  const { connect } = await import('node:net');
  const socket = connect(rig.port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (part: string) => {
    text += part;
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // The head of the next request is begun before the drain, so that the connection is not idle.
  await new Promise<void>((resolve) => socket.write('GET ', () => resolve()));
  await send(rig.url, 'GET', '/health/liveness'); // the server has read those bytes when it answers this
  return {
    get: async (path) => {
      socket.write(`${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
      await closed;
      return text;
    },
  };
}

t.test('who answers with our key', async (t) => {
  const upstream = { status: 200 };
  const seen: string[] = [];
  const flaky = await startUpstream(t, ({ req, res }) => {
    seen.push(`${req.method} ${req.url} ${req.headers.authorization}`);
    res.writeHead(upstream.status).end('{}');
  });
  const rig = await startRig(t, {
    demo: { acceptKeys: ['sk-good'] },
    config: (demo) => `
model_list:
  - model_name: good
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-good }
  - model_name: also-good
    litellm_params: { model: openai/a/demo, api_base: "${demo.url}/compat/v1", api_key: sk-good }
  - model_name: bad-key
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-bad }
  - model_name: down
    litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:1", api_key: sk-good }
  - model_name: flaky
    litellm_params: { model: litellm_proxy/one, api_base: "${flaky}", api_key: sk-flaky }
  - model_name: flaky
    litellm_params: { model: litellm_proxy/two, api_base: "${flaky}", api_key: sk-flaky }
general_settings: { master_key: ${KEY} }
`,
  });
  const health = async (query = ''): Promise<Health> => {
    const answer = await send(rig.url, 'GET', `/health${query}`);
    t.equal(answer.status, 200);
    t.notMatch(answer.text, /sk-/);
    return JSON.parse(answer.text) as Health;
  };
  const names = (endpoints: readonly Json[]): unknown[] => endpoints.map((one) => one['model_name']);

  t.test('every entry is sorted into healthy and unhealthy, with the reason', async (t) => {
    const all = await health();
    t.same(names(all.healthy_endpoints), ['good', 'also-good', 'flaky', 'flaky']);
    t.same(names(all.unhealthy_endpoints), ['bad-key', 'down']);
    t.match(all, { healthy_count: 4, unhealthy_count: 2 });
    t.match(all.unhealthy_endpoints[0], {
      error: /answered 401/,
      api_base: rig.demo.url,
      model_id: /^[0-9a-f]{64}$/,
    });
    t.match(all.unhealthy_endpoints[1], {
      error: /http:\/\/127\.0\.0\.1:1 cannot be reached: connection refused/,
    });
  });

  t.test(
    'entries of one address and key share one question, which is the list of models and costs nothing',
    async (t) => {
      seen.length = 0;
      await health();
      t.same(seen, ['GET /v1/models Bearer sk-flaky']);
      t.notOk(rig.demo.seen.some((one) => one.method === 'POST'));
    },
  );

  t.test('one name can be asked for; a name that is not there has no endpoints', async (t) => {
    t.match(await health('?model=down'), { healthy_count: 0, unhealthy_count: 1 });
    t.match(await health('?model=flaky'), { healthy_count: 2, unhealthy_count: 0 });
    t.strictSame(await health('?model=nobody'), {
      healthy_endpoints: [],
      unhealthy_endpoints: [],
      healthy_count: 0,
      unhealthy_count: 0,
    });
  });

  t.test(
    'a gateway without a model list is there, one that fails or sends us elsewhere is not',
    async (t) => {
      for (const [status, healthy] of [
        [404, 2],
        [405, 2],
        [302, 0],
        [403, 0],
        [500, 0],
      ] as const) {
        upstream.status = status;
        t.equal((await health('?model=flaky')).healthy_count, healthy, String(status));
      }
    },
  );

  t.test('it needs the key and leaves no spend rows', async (t) => {
    t.equal((await send(rig.url, 'GET', '/health', undefined, NO_KEY)).status, 401);
    t.same(await rig.rows(), []);
  });
});

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the Prometheus text format 0.0.4 and fails on anything that is not of it. */
function samplesOf(t: Test, text: string): Sample[] {
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# HELP [a-z_]+ \S/.test(line)) continue;
    const type = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line);
    if (type !== null) {
      t.notOk(types.has(type[1] as string), 'a metric is announced once');
      types.set(type[1] as string, type[2] as string);
      continue;
    }
    const sample = /^([a-z_]+)(?:\{(.*)\})? (-?[0-9.e+-]+|\+Inf|NaN)$/.exec(line);
    if (sample === null) {
      t.fail(`no line of the format: ${line}`);
      continue;
    }
    const [, name = '', labels = '', value = ''] = sample;
    const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)];
    t.equal(pairs.map((pair) => pair[0]).join(''), labels, 'labels are well formed');
    const family = types.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '');
    if (!types.has(family) || !name.startsWith('throughline_')) t.fail(`${name} was not announced`);
    samples.push({
      name,
      labels: Object.fromEntries(pairs.map((pair) => [pair[1] ?? '', pair[2] ?? ''])),
      value: Number(value.replace('+Inf', 'Infinity')),
    });
  }
  return samples;
}

t.test('metrics', async (t) => {
  const rig = await startRig(t);
  const scrape = async (): Promise<Sample[]> => {
    const answer = await send(rig.url, 'GET', '/metrics');
    t.equal(answer.status, 200);
    t.match(answer.headers['content-type'], /^text\/plain; version=0\.0\.4/);
    return samplesOf(t, answer.text);
  };
  const valueOf = (
    samples: readonly Sample[],
    name: string,
    labels: Readonly<Record<string, string>> = {},
  ): number =>
    samples
      .filter(
        (one) =>
          one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
      )
      .reduce((sum, one) => sum + one.value, 0);

  t.test('requests are counted by model entry, call type and end; refusals apart', async (t) => {
    await chat(rig, 'demo');
    await chat(rig, 'demo', { stream: true });
    await chat(rig, 'demo-500');
    await chat(rig, 'nobody');
    await send(rig.url, 'POST', '/v1/embeddings', { model: 'compat', input: 'hi' });
    await send(rig.url, 'GET', '/nowhere');
    await chat(rig, 'demo', {}, { authorization: 'Bearer sk-wrong' });
    const samples = await scrape();
    const requests = 'throughline_requests_total';
    t.equal(valueOf(samples, requests), 5);
    t.equal(
      valueOf(samples, requests, { model: 'demo', call_type: 'acompletion', end_reason: 'complete' }),
      2,
    );
    t.equal(
      valueOf(samples, requests, { model: 'demo-*', status: 'failure', end_reason: 'upstream_error' }),
      1,
    );
    t.equal(valueOf(samples, requests, { model: 'compat', call_type: 'aembedding', status: 'success' }), 1);
    t.equal(valueOf(samples, requests, { model: '', end_reason: 'refused' }), 1);
    t.equal(valueOf(samples, 'throughline_rejected_total', { code: 'route_not_found' }), 1);
    t.equal(valueOf(samples, 'throughline_rejected_total', { code: 'invalid_api_key' }), 1);
    t.equal(valueOf(samples, 'throughline_tokens_total', { model: 'demo', kind: 'prompt' }), 12);
    t.ok(valueOf(samples, 'throughline_spend_usd_total', { model: 'demo' }) > 0);
    t.equal(valueOf(samples, 'throughline_request_duration_seconds_count'), 5);
    t.equal(valueOf(samples, 'throughline_overhead_seconds_count', { model: 'demo' }), 2);
    t.equal(valueOf(samples, 'throughline_spend_rows_written_total'), 5);
    t.equal(valueOf(samples, 'throughline_spend_rows_open'), 0);
    t.equal(valueOf(samples, 'throughline_journal_writable'), 1);
    t.equal(valueOf(samples, 'throughline_in_flight'), 1, 'the scrape itself');
    t.ok(valueOf(samples, 'throughline_resident_memory_bytes') > 1e7);
  });

  t.test('a thousand names that clients made up, and odd routes, add no line', async (t) => {
    await chat(rig, 'demo-made-up');
    const lines = async (): Promise<string[]> =>
      (await scrape()).map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`).toSorted();
    const before = await lines();
    for (let n = 0; n < 10; n++) {
      const names = Array.from(
        { length: 100 },
        (_, i) => `${i % 2 === 0 ? 'unknown' : 'demo'}-made-up-${n}x${i}`, // demo-503 would be a behaviour, and a reason
      );
      await Promise.all(names.map((name) => chat(rig, name)));
    }
    for (let n = 0; n < 20; n++) await send(rig.url, 'GET', `/nowhere/${n}`);
    t.same(await lines(), before);
  });

  t.test('the served configuration is one line, also after models came by the API', async (t) => {
    const body = {
      model_name: 'added "x"\\',
      litellm_params: { model: 'litellm_proxy/demo', api_base: rig.demo.url },
    };
    t.equal((await send(rig.url, 'POST', '/model/new', body)).status, 200);
    t.equal((await chat(rig, 'added "x"\\')).status, 200);
    const ready = json(await send(rig.url, 'GET', '/health/readiness'));
    const info = (await scrape()).filter((one) => one.name === 'throughline_config_info');
    t.same(
      info.map((one) => one.labels['version']),
      [(ready['config'] as Json)['version']],
    );
  });
});

t.test('browsers', async (t) => {
  const off = await startRig(t);
  const on = await startRig(t, {
    config: (demo) => defaultConfig(demo, '  cors: { allow_origins: ["https://console.example.com"] }\n'),
  });
  const origin = 'https://console.example.com';
  const asked = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, content-type',
  };
  const cors = (answer: Answer): string[] =>
    Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'));

  t.test('without configuration no origin may read anything, and OPTIONS is no method', async (t) => {
    const preflight = await send(off.url, 'OPTIONS', '/v1/chat/completions', undefined, asked);
    t.equal(preflight.status, 405);
    t.equal(preflight.headers['allow'], 'POST');
    t.equal((await send(off.url, 'OPTIONS', '/nowhere', undefined, asked)).status, 404);
    for (const answer of [
      preflight,
      await chat(off, 'demo', {}, { origin }),
      await chat(off, 'demo', { stream: true }, { origin }),
      await send(off.url, 'GET', '/v1/models', undefined, { origin }),
    ]) {
      t.same(cors(answer), []);
    }
  });

  t.test('a preflight of a configured origin is answered without a key', async (t) => {
    const answer = await send(on.url, 'OPTIONS', '/v1/chat/completions', undefined, { ...asked, ...NO_KEY });
    t.match(answer, {
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
        'access-control-allow-headers': 'authorization, content-type',
        'access-control-max-age': '600',
        vary: 'origin',
      },
    });
    const other = await send(on.url, 'OPTIONS', '/v1/chat/completions', undefined, {
      ...asked,
      origin: 'https://evil.example',
    });
    t.notOk(other.headers['access-control-allow-origin']);
  });

  t.test(
    'every answer to a configured origin may be read by it: lists, errors, relayed ones, streams',
    async (t) => {
      const answers = async (from: string): Promise<Answer[]> => [
        await send(on.url, 'GET', '/v1/models', undefined, { origin: from }),
        await send(on.url, 'GET', '/v1/models', undefined, { origin: from, authorization: 'Bearer wrong' }),
        await chat(on, 'nobody', {}, { origin: from }),
        await chat(on, 'demo', {}, { origin: from }),
        await chat(on, 'demo', { stream: true }, { origin: from }),
        await chat(on, 'demo-500', {}, { origin: from }),
      ];
      for (const answer of await answers(origin)) {
        t.equal(answer.headers['access-control-allow-origin'], origin, `${answer.status}`);
        t.match(answer.headers['vary'], /origin/);
        t.equal(answer.headers['access-control-expose-headers'], '*');
      }
      for (const answer of await answers('https://evil.example')) {
        t.notOk(answer.headers['access-control-allow-origin']);
      }
    },
  );

  t.test('a star allows every origin', async (t) => {
    await on.reconfigure(defaultConfig(on.demo, '  cors: { allow_origins: ["*"] }\n'));
    const answer = await chat(on, 'demo', {}, { origin: 'https://anything.example' });
    t.equal(answer.headers['access-control-allow-origin'], '*');
    t.same(cors(await chat(on, 'demo')), [], 'a caller without an origin is no browser');
  });
});
