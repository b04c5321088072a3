// Places are taken, waited for and given back, also by a client that leaves in the very instant in which it gets one.
import t from 'tap';
import type { Test } from 'tap';
import type { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import { AdmissionPermit } from '../../../proxy/pipeline/admission-permit.ts';
import type { Exchange } from '../../../proxy/pipeline/exchange.ts';
import { planCall } from '../../../proxy/pipeline/plan.ts';
import { exchangeOf, servicesOf, liveOf } from '../../support/services.ts';

const CONFIG = `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k, max_parallel_requests: 1 } }
`;

async function limited(t: Test): Promise<ActiveConfig> {
  return liveOf(t, CONFIG, await servicesOf(t));
}

const planOf = (x: Exchange) => planCall(x.active, 'm', { sessionId: 's', sessionSource: 'generated' });

t.test('a second call waits until the first is over', async (t) => {
  const active = await limited(t);
  const { admission } = active.services;
  const [{ x: one }, { x: two }] = [await exchangeOf(t, active), await exchangeOf(t, active)];
  const [first, second] = [new AdmissionPermit(one), new AdmissionPermit(two)];
  await first.acquire(planOf(one));
  const turn = second.acquire(planOf(two));
  t.equal(admission.waiting, 1);
  first.release();
  first.release();
  await turn;
  t.equal(admission.waiting, 0);
  t.equal(first.waitedMs, 0);
  second.release();
});

t.test('a place that comes in the instant in which its client leaves goes to the next one', async (t) => {
  const active = await limited(t);
  const { admission } = active.services;
  const exchanges = [await exchangeOf(t, active), await exchangeOf(t, active), await exchangeOf(t, active)];
  const permits = exchanges.map(({ x }) => ({ x, permit: new AdmissionPermit(x) }));
  const [first, second, third] = permits;
  if (first === undefined || second === undefined || third === undefined) throw new Error('three were made');
  await first.permit.acquire(planOf(first.x));
  const left = second.permit.acquire(planOf(second.x)).finally(() => second.permit.release());
  const turn = third.permit.acquire(planOf(third.x));
  t.equal(admission.waiting, 2);
  first.permit.release(); // the second one has the place now,
  second.x.res.watcher?.onClose(); // and leaves before it knows
  await t.rejects(left, { code: 'client_gone' });
  await turn;
  third.permit.release();
  t.equal(admission.waiting, 0);
  const { x } = await exchangeOf(t, active);
  const last = new AdmissionPermit(x);
  await last.acquire(planOf(x));
  t.equal(admission.waiting, 0, 'no place was lost');
  last.release();
});

t.test('a client that leaves while it waits leaves the queue', async (t) => {
  const active = await limited(t);
  const { x: one } = await exchangeOf(t, active);
  const { x: two, leave } = await exchangeOf(t, active);
  const [first, second] = [new AdmissionPermit(one), new AdmissionPermit(two)];
  await first.acquire(planOf(one));
  const waiting = second.acquire(planOf(two));
  leave();
  await t.rejects(waiting, { code: 'client_gone', message: 'The client left while its call waited.' });
  t.equal(active.services.admission.waiting, 0);
  second.release();
  first.release();
});

t.test(
  'a place that no attempt uses is given back, and one that is taken instead of it as well',
  async (t) => {
    const active = liveOf(t, CONFIG + CONFIG.replace('\nmodel_list:\n', ''), await servicesOf(t));
    const { x } = await exchangeOf(t, active);
    const permit = new AdmissionPermit(x);
    const [a, b] = planOf(x).group.deployments;
    if (a === undefined || b === undefined) throw new Error('there are two');
    const reserved = (): number[] => [a, b].map(({ health }) => health.reserved);
    t.ok(permit.tryAcquire('m', a));
    t.same(reserved(), [1, 0]);
    t.ok(permit.tryAcquire('m', b));
    t.same(reserved(), [0, 1]);
    permit.cancel();
    permit.cancel();
    t.same(reserved(), [0, 0]);
    t.ok(permit.tryAcquire('m', a));
    permit.use(a, 0).abandoned();
    permit.cancel();
    t.same([reserved(), a.health.inFlight], [[0, 0], 0]);
    permit.release();
    t.equal(active.services.admission.waiting, 0);
  },
);
