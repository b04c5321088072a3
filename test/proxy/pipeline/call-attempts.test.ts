// The attempts of one call: how they go from a failed one to the next, and how long they may take together.
import t from 'tap';
import type { Test } from 'tap';
import { AdmissionPermit } from '../../../proxy/pipeline/admission-permit.ts';
import { AttemptLog } from '../../../proxy/pipeline/attempt-log.ts';
import { NO_BILLABLE_UNITS } from '../../../proxy/pipeline/billable-units.ts';
import { CallAttempts } from '../../../proxy/pipeline/call-attempts.ts';
import { planCall, selectedBy } from '../../../proxy/pipeline/plan.ts';
import { Fault } from '../../../proxy/errors/fault.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { ManualClock } from '../../support/clock.ts';
import { exchangeOf, liveOf, servicesOf } from '../../support/services.ts';

const CHAT = ENDPOINTS[0] as Endpoint;
const FAILURE = { kind: 'server', retryAfterMs: null } as const;
const ENDED = { fault: new Fault('upstream_broken', 'It broke off.') };

/** Of a call that may go to `a`, `b` and `c`, in 5 s. */
async function begun(t: Test) {
  const clock = new ManualClock();
  const entry = (id: string, order: number): string =>
    `  - { model_name: m, litellm_params: { model: litellm_proxy/${id}, api_base: "http://127.0.0.1:1", api_key: k, order: ${order}, total_timeout: 5 }, model_info: { id: ${id} } }`;
  const yaml = `
model_list:
${entry('a', 1)}
${entry('b', 2)}
${entry('c', 3)}
router_settings: { disable_cooldowns: true, retry_budget: 1, num_retries: 2 }
`;
  const active = liveOf(t, yaml, { ...(await servicesOf(t)), clock });
  active.services.retryBudget.earn(100);
  const { x } = await exchangeOf(t, active);
  const log = new AttemptLog();
  const plan = planCall(active, 'm', { sessionId: 's', sessionSource: 'generated' });
  const priced = { endpoint: CHAT, billable: NO_BILLABLE_UNITS };
  const attempts = new CallAttempts(x, priced, plan, new AdmissionPermit(x), log);
  const others = async (): Promise<unknown[]> =>
    ((await log.others()) ?? []).map(({ modelId, error }) => [modelId, error]);
  return { clock, attempts, others, at: () => plan.deployment.config.id };
}

t.test('another deployment is next while the total timeout is not over', async (t) => {
  const { clock, attempts, others, at } = await begun(t);
  const first = attempts.begin(selectedBy(attempts.plan));
  t.match(attempts.finish(first, ENDED), { upstream: 'failed', failure: { kind: 'server' } });
  clock.advance(4_999);
  t.same(await attempts.moveOn(first, ENDED, FAILURE), { is: 'next', left: null });
  t.same([at(), await others()], ['b', [['a', 'upstream_broken']]]);
  const second = attempts.begin(selectedBy(attempts.plan));
  t.equal(attempts.timeLeftMs(5_000, second.start), 1);
  t.equal(attempts.timeLeftMs(0, second.start), 0, 'none is set');
  attempts.finish(second, ENDED);
  clock.advance(1);
  t.same(await attempts.moveOn(second, ENDED, FAILURE), { is: 'over' });
  t.same(await others(), [['a', 'upstream_broken']], 'the last one is not replaced');
});

t.test('an end that was caused here says nothing about the deployment', async (t) => {
  const { attempts } = await begun(t);
  const { deployment } = attempts.plan;
  const attempt = attempts.begin(selectedBy(attempts.plan));
  t.equal(deployment.health.inFlight, 1);
  t.same(attempts.finish(attempt, ENDED, true), { upstream: 'unknown', failure: null });
  attempts.abandon(attempts.begin(selectedBy(attempts.plan)));
  t.equal(deployment.health.inFlight, 0);
});
