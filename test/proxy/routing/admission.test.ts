// Places and turns: what has room is used at once, what waits is served in turn, and no name crowds out another.
import t from 'tap';
import {
  Admission,
  type AdmissionRules,
  type AdmissionResult,
  type QueuedCall,
} from '../../../proxy/routing/admission.ts';
import type { Routable } from '../../../proxy/routing/routable.ts';
import { DeploymentHealth } from '../../../proxy/routing/deployment-health.ts';

const deployment = (limit = Infinity): Routable => ({
  seed: 0,
  weight: 1,
  order: 0,
  limit,
  health: new DeploymentHealth(),
});
const RULES: AdmissionRules = { total: Infinity, mostWaiting: 100, waitMs: 500 };

/** A call of a name, as the steps of a request make it: its turn, and its end. */
function call(admission: Admission, name: string, deployments: readonly Routable[], rules = RULES) {
  const deployment = deployments.find((one) => admission.tryAcquire(name, one, rules, false)) ?? null;
  const waiting = deployment === null ? admission.wait(name, deployments, rules, false) : null;
  return { deployment, waiting };
}

/** The names in the order in which their calls were let in, one place at a time. */
async function turns(
  admission: Admission,
  place: Routable,
  calls: readonly (readonly [string, QueuedCall<Routable> | null])[],
): Promise<string> {
  const order: string[] = [];
  for (const [name, waiting] of calls) {
    void waiting?.result.then((turn) => order.push('deployment' in turn ? name : `(${name})`));
  }
  for (let i = 0; i < calls.length; i += 1) {
    place.health.reserved -= 1;
    admission.release();
    await Promise.resolve();
  }
  return order.join(' ');
}

t.test(
  'the first entry that has room is taken; a place that is given back goes to whoever waits',
  async (t) => {
    const admission = new Admission();
    const [a, b] = [deployment(1), deployment(1)];
    t.equal(call(admission, 'm', [a, b]).deployment, a);
    t.equal(call(admission, 'm', [a, b]).deployment, b);
    const { waiting } = call(admission, 'm', [a, b]);
    t.equal(admission.waiting, 1);
    admission.cancelReservation(b);
    t.same(await waiting?.result, { deployment: b });
    t.equal(admission.waiting, 0);
    admission.cancelReservation(a);
    t.equal(
      call(admission, 'm', [a, b]).deployment,
      a,
      'nobody waits any more: the next one need not either',
    );
  },
);

t.test('a newcomer does not overtake those who wait for the same name', async (t) => {
  const admission = new Admission();
  const [a, b] = [deployment(1), deployment(1)];
  call(admission, 'm', [a]);
  const { waiting } = call(admission, 'm', [a]);
  t.equal(call(admission, 'm', [b]).deployment, null, 'although this one could go elsewhere');
  t.equal(call(admission, 'other', [b]).deployment, b, 'another name has nothing to do with it');
  admission.cancelReservation(a);
  t.same(await waiting?.result, { deployment: a });
});

t.test('names are served in turn, however many of one name wait', async (t) => {
  const admission = new Admission();
  const place = deployment(1);
  call(admission, 'flood', [place]);
  const names = ['flood', 'flood', 'flood', 'flood', 'quiet', 'rare', 'quiet'];
  const calls = names.map((name) => [name, call(admission, name, [place]).waiting] as const);
  t.equal(await turns(admission, place, calls), 'flood quiet rare flood quiet flood flood');
});

t.test('the limit over all is shared in turn, too, and counts each call once', async (t) => {
  const admission = new Admission();
  const place = deployment();
  const rules = { ...RULES, total: 1 };
  t.equal(call(admission, 'flood', [place], rules).deployment, place);
  t.ok(admission.tryAcquire('flood', place, rules, true), 'a call that is counted may go on elsewhere');
  const names = ['flood', 'flood', 'quiet'];
  const calls = names.map((name) => [name, call(admission, name, [place], rules).waiting] as const);
  t.equal(await turns(admission, place, calls), 'flood quiet flood');
});

t.test('a place that is given back is one place, and goes to nobody who waits for another', async (t) => {
  const admission = new Admission();
  const [place, other] = [deployment(2), deployment(1)];
  for (let n = 0; n < 2; n += 1) t.equal(call(admission, 'm', [place]).deployment, place);
  t.equal(call(admission, 'n', [other]).deployment, other);
  const { waiting } = call(admission, 'n', [other]);
  admission.cancelReservation(place);
  t.equal(admission.waiting, 1, 'there is no room yet where it waits');
  t.equal(call(admission, 'm', [place]).deployment, place);
  t.notOk(admission.tryAcquire('m', place, RULES, false), 'one was given back, not two');
  admission.cancelReservation(other);
  t.same(await waiting?.result, { deployment: other });
});

t.test('a call that ends makes room for one, not for two', async (t) => {
  const admission = new Admission();
  const place = deployment();
  const rules = { ...RULES, total: 2 };
  for (const name of ['a', 'b']) t.equal(call(admission, name, [place], rules).deployment, place);
  admission.release();
  t.equal(call(admission, 'c', [place], rules).deployment, place);
  t.notOk(admission.tryAcquire('d', place, rules, false));
});

t.test('a full queue takes a place from the name that has most in it, from its last one', async (t) => {
  const admission = new Admission();
  const place = deployment(1);
  const rules = { ...RULES, mostWaiting: 4 };
  call(admission, 'flood', [place], rules);
  const flood = [1, 2, 3, 4].map(() => call(admission, 'flood', [place], rules).waiting);
  t.equal(call(admission, 'flood', [place], rules).waiting, null, 'its own next one is refused');
  t.not(call(admission, 'quiet', [place], rules).waiting, null);
  t.same(await flood[3]?.result, { refused: 'queue_full' });
  t.not(call(admission, 'quiet', [place], rules).waiting, null);
  t.same(await flood[2]?.result, { refused: 'queue_full' });
  t.equal(call(admission, 'quiet', [place], rules).waiting, null, 'two and two: nobody has more than others');
  const none = new Admission();
  call(none, 'm', [deployment(1)], { ...rules, mostWaiting: 0 });
  t.equal(none.wait('m', [deployment(1)], { ...rules, mostWaiting: 0 }, false), null);
});

t.test('a wait is bounded, and a call that leaves makes room in the queue', async (t) => {
  const admission = new Admission();
  const place = deployment(1);
  call(admission, 'm', [place]);
  const late = call(admission, 'm', [place], { ...RULES, waitMs: 1 }).waiting;
  t.same(await late?.result, { refused: 'queue_timeout' });
  const gone = call(admission, 'm', [place]).waiting;
  gone?.leave();
  gone?.leave();
  const left: AdmissionResult<Routable> = { left: true };
  t.same(await gone?.result, left);
  t.equal(admission.waiting, 0);
  admission.cancelReservation(place);
  t.equal(call(admission, 'm', [place]).deployment, place);
});
