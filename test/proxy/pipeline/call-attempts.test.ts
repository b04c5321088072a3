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
import type { Outcome } from '../../../proxy/relay/outcome.ts';
import { NOTHING_READ } from '../../../proxy/relay/tap.ts';
import { ManualClock } from '../../support/clock.ts';
import { exchangeOf, liveOf, servicesOf } from '../../support/services.ts';

const CHAT = ENDPOINTS[0] as Endpoint;
const FAILURE = { kind: 'server', retryAfterMs: null } as const;
const ANSWERED: Outcome = {
  end: 'complete',
  status: 200,
  fault: null,
  firstByteAt: null,
  upstreamMs: 1,
  responseBytes: 10,
  readOn: null,
  reading: { ...NOTHING_READ, usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
  upstreamCallId: null,
  upstreamCost: null,
  retryAfter: null,
  isStream: false,
  contentEncoding: null,
  unsent: null,
  finish: () => undefined,
};
const ENDED = { fault: new Fault('upstream_broken', 'It broke off.') };

/** Of a call that may go to `a`, `b` and `c`, in 5 s. */
async function begun(t: Test, billable = NO_BILLABLE_UNITS) {
  const clock = new ManualClock();
  const entry = (id: string, order: number): string =>
    `  - { model_name: m, litellm_params: { model: litellm_proxy/${id}, api_base: "http://127.0.0.1:1", api_key: k, order: ${order}, total_timeout: 5, input_cost_per_token: 0.000002, input_cost_per_token_flex: 0.000001, output_cost_per_token: 0 }, model_info: { id: ${id} } }`;
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
  const priced = { endpoint: CHAT, billable };
  const attempts = new CallAttempts(x, priced, plan, new AdmissionPermit(x), log);
  const others = async (): Promise<unknown[]> =>
    ((await log.others()) ?? []).map(({ modelId, error }) => [modelId, error]);
  const costs = async (): Promise<unknown[]> =>
    ((await log.others()) ?? []).map(({ spendPico }) => spendPico);
  return { clock, attempts, others, costs, at: () => plan.deployment.config.id };
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

t.test('a replaced attempt is not charged by a tier that its translation left out', async (t) => {
  const { attempts, costs } = await begun(t, { ...NO_BILLABLE_UNITS, serviceTier: 'flex' });
  const messages = ENDPOINTS.find(({ path }) => path === 'messages');
  if (messages === undefined) throw new Error('no messages');
  for (const { protocol } of [CHAT, messages]) {
    const attempt = attempts.begin(selectedBy(attempts.plan));
    attempts.replaced({ ...attempt, call: { protocol } }, { outcome: ANSWERED }, 'cancelled');
  }
  t.same(await costs(), [10_000_000, 20_000_000]);
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
