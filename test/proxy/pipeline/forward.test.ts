// A call ends once. Every step reads the configuration in service, so reading it is made to throw at the first, second,
// third ... time: wherever that is, there is one settled row and nothing stays begun or held.
import t from 'tap';
import type { Test } from 'tap';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import type { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import { IdempotencyCache } from '../../../proxy/active-config/idempotency-cache.ts';
import type { Exchange } from '../../../proxy/pipeline/exchange.ts';
import { forwardById } from '../../../proxy/pipeline/forward-by-id.ts';
import { forward } from '../../../proxy/pipeline/forward.ts';
import { exchangeOf, servicesOf, liveOf, type Sent } from '../../support/services.ts';
import { BY_ID, ENDPOINTS } from '../../../proxy/protocols/table.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';

const CHAT = ENDPOINTS[0] as Endpoint;
const CALLER = { role: 'admin', keyHash: 'hash' } as const;

/** A configuration in service whose `at`th reading throws, once. `count` says how often it was read. */
function failing(
  active: ActiveConfig,
  at: number,
): { readonly live: ActiveConfig; readonly count: () => number } {
  let reads = 0;
  const get = (target: ActiveConfig, key: string | symbol): unknown => {
    reads += 1;
    if (reads === at) throw new Error('a bug');
    return Reflect.get(target, key, target) as unknown;
  };
  return { live: new Proxy(active, { get }), count: () => reads };
}

async function liveOfDemo(t: Test): Promise<ActiveConfig> {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const at = `api_base: "${demo.url}", api_key: k, max_parallel_requests: 4`;
  const yaml = `model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/demo, ${at} } }
  - { model_name: two, litellm_params: { model: litellm_proxy/demo-500, ${at}, order: 1 } }
  - { model_name: two, litellm_params: { model: litellm_proxy/demo, ${at}, order: 2 } }
router_settings: { retry_budget: 1000 }
general_settings: { idempotency: {} }
`;
  return liveOf(t, yaml, await servicesOf(t));
}

/** Serves calls of which the first, second, third ... reading fails, until one has none left to fail. @returns how many failed */
async function failEverywhere(
  t: Test,
  active: ActiveConfig,
  sent: (n: number) => Sent,
  serve: (x: Exchange) => Promise<void>,
): Promise<number> {
  const { ledger, admission } = active.services;
  // The very first reading makes the permit, before the first step.
  for (let n = 2; ; n += 1) {
    const { x } = await exchangeOf(t, active, sent(n));
    const before = ledger.status.written;
    const broken = failing(active, n);
    await serve({ ...x, active: broken.live }).catch(() => undefined); // what is thrown behind the record the server answers
    t.same([ledger.status.written - before, ledger.status.open], [1, 0], `reading ${n}: one row, none begun`);
    const taken = [...active.deployments.values()].map(({ health }) => health.inFlight + health.reserved);
    t.same([admission.waiting, Math.max(...taken)], [0, 0], `reading ${n}: no place stays taken`);
    if (broken.count() < n) return n - 2;
  }
}

const bodyOf = (model: string, more: object = {}): string =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], ...more });

t.test('a throw at any step of a call leaves one settled row', async (t) => {
  const active = await liveOfDemo(t);
  const cases: readonly (readonly [name: string, sent: (n: number) => Sent, least: number])[] = [
    ['gathered', () => ({ body: bodyOf('m') }), 20],
    ['streamed', () => ({ body: bodyOf('m', { stream: true }) }), 5],
    ['tried again', () => ({ body: bodyOf('two') }), 8],
    ['under a key', (n) => ({ body: bodyOf('m'), headers: { 'idempotency-key': `k-${n}` } }), 5],
    ['refused', () => ({ body: '{"model":' }), 1],
    ['unknown model', () => ({ body: bodyOf('nobody') }), 1],
    [
      'a header that is no number',
      () => ({ body: bodyOf('m'), headers: { 'x-litellm-timeout': 'soon' } }),
      1,
    ],
  ];
  for (const [name, sent, least] of cases) {
    await t.test(name, async (t) => {
      const failed = await failEverywhere(t, active, sent, (x) => forward(x, CALLER, CHAT, null));
      t.ok(failed >= least, `${failed} places`);
    });
  }
});

class BrokenCache extends IdempotencyCache {
  override settle(): never {
    throw new Error('a bug');
  }
}

t.test('a throw behind the end of a call keeps no place', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const yaml = `model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: k } }]
general_settings: { idempotency: {}, global_max_parallel_requests: 1, max_queued_requests: 0 }
`;
  const services = await servicesOf(t);
  const active = liveOf(t, yaml, { ...services, idempotency: new BrokenCache(services.clock.mono) });
  const call = async (headers: Record<string, string>) => {
    const { x, answer } = await exchangeOf(t, active, { body: bodyOf('m'), headers });
    const thrown = await forward(x, CALLER, CHAT, null).then(
      () => null,
      (error: unknown) => error,
    );
    return { status: (await answer).status, thrown };
  };
  t.match(await call({ 'idempotency-key': 'k' }), { status: 200, thrown: { message: 'a bug' } });
  t.same(await call({}), { status: 200, thrown: null });
});

t.test('a client that leaves at any step leaves one settled row', async (t) => {
  const active = await liveOfDemo(t);
  const { ledger } = active.services;
  for (const sent of [
    { body: null, headers: { 'content-length': '10' } },
    { body: bodyOf('m') },
    { body: bodyOf('two') },
    { body: bodyOf('m', { stream: true }) },
  ]) {
    const { x, leave } = await exchangeOf(t, active, sent);
    const before = ledger.status.written;
    const served = forward(x, CALLER, CHAT, null);
    leave();
    await served;
    t.same([ledger.status.written - before, ledger.status.open], [1, 0]);
  }
});

t.test('a throw at any step of a call about a response leaves one settled row', async (t) => {
  const active = await liveOfDemo(t);
  const endpoint = ENDPOINTS.find(({ path }) => path === 'responses') as Endpoint;
  const made = await exchangeOf(t, active, { body: JSON.stringify({ model: 'm', input: 'hi' }) });
  await forward(made.x, CALLER, endpoint, null);
  const page = await active.services.ledger.reader.query({}, { page: 1, pageSize: 1, order: 'newest' });
  const id = page.rows[0]?.upstreamId;
  if (typeof id !== 'string') throw new Error('the answer had no id');
  for (const row of BY_ID) {
    const sent = { method: row.method, path: `/v1/responses/${id}${row.suffix}` };
    await failEverywhere(
      t,
      active,
      () => sent,
      (x) => forwardById(x, CALLER, row, id),
    );
    await failEverywhere(
      t,
      active,
      () => sent,
      (x) => forwardById(x, CALLER, row, 'unknown'),
    );
  }
});
