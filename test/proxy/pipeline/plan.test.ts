// A configuration's rules as a failover plan: how often, on what, and who takes over.
import t from 'tap';
import type { Test } from 'tap';
import type { FailureKind } from '../../../proxy/routing/failover-plan.ts';
import { chainOf, selectedBy, planCall, planSingle, type CallPlan } from '../../../proxy/pipeline/plan.ts';
import { firstOf, servicesOf, liveOf } from '../../support/services.ts';

const AFFINE = { sessionId: 's', sessionSource: 'x-litellm-session-id' };
const FRESH = { sessionId: 's', sessionSource: 'generated' };

const deployment = (name: string, upstream: string, more = ''): string =>
  `  - { model_name: "${name}", litellm_params: { model: litellm_proxy/${upstream}, api_base: "http://127.0.0.1:1", api_key: k, order: 1${more} } }\n`;

async function planned(
  t: Test,
  { entries, settings = '' }: { readonly entries: string; readonly settings?: string },
): Promise<(model: string) => CallPlan> {
  // The lowest draw every time: the order of entries is the one of the file.
  const active = liveOf(t, `model_list:\n${entries}${settings}`, await servicesOf(t, () => 0));
  return (model) => planCall(active, model, FRESH);
}

/** Where the plan goes when every attempt fails in this way. */
function stops(plan: CallPlan, kind: FailureKind = 'server'): string[] {
  const seen = [selectedBy(plan).upstreamModel];
  for (let n = 0; n < 20; n += 1) {
    const step = plan.next({ kind, retryAfterMs: null }, 0);
    if (step === null) return seen;
    seen.push(`${step.how} ${selectedBy(plan).upstreamModel}`);
  }
  return seen;
}

t.test('where no number is stated, others of the name are asked, and none twice', async (t) => {
  const of = await planned(t, {
    entries: deployment('one', 'a') + deployment('two', 'a') + deployment('two', 'b'),
  });
  t.equal(stops(of('one')).length, 1);
  const both = stops(of('two'));
  t.equal(both.length, 2);
  t.equal(new Set(both.map((stop) => stop.replace('retry ', ''))).size, 2);
});

t.test('a stated number holds for the kind of failure it names, the group before the whole', async (t) => {
  const of = await planned(t, {
    entries: deployment('g', 'a') + deployment('h', 'b'),
    settings: `router_settings:
  retry_policy: { TimeoutErrorRetries: 1, RateLimitErrorRetries: 3, InternalServerErrorRetries: 0 }
  model_group_retry_policy: { h: { InternalServerErrorRetries: 2 } }
  retry_budget: 1000
`,
  });
  const count = (model: string, kind: FailureKind): number => stops(of(model), kind).length - 1;
  t.same(
    (['timeout', 'rate_limit', 'server', 'unreached'] as const).map((kind) => count('g', kind)),
    [1, 3, 0, 0],
  );
  t.same(
    (['timeout', 'server', 'unreached'] as const).map((kind) => count('h', kind)),
    [1, 2, 2],
  );
});

t.test('each reason has fallbacks of its own; a name that is not served is passed over', async (t) => {
  const of = await planned(t, {
    entries: ['small', 'large', 'mild', 'other'].map((name) => deployment(name, name)).join(''),
    settings: `router_settings:
  num_retries: 0
  fallbacks: [{ small: [other, large] }]
  context_window_fallbacks: [{ small: [large] }]
  content_policy_fallbacks: [{ "*": [mild] }]
`,
  });
  t.same(stops(of('small')), ['small', 'fallback other', 'fallback large']);
  t.same(stops(of('small'), 'context_window'), ['small', 'fallback large']);
  t.same(stops(of('small'), 'content_policy'), ['small', 'fallback mild']);
  t.same(stops(of('large'), 'context_window'), ['large'], 'nobody is named for it');
});

t.test('fallbacks of fallbacks follow theirs, and no name comes twice', async (t) => {
  const active = liveOf(
    t,
    `model_list:
${['a', 'b', 'c', 'd'].map((name) => deployment(name, name)).join('')}router_settings:
  fallbacks: [{ a: [b, c] }, { b: [d, a] }]
`,
    await servicesOf(t),
  );
  t.same(chainOf(active.snapshot.routing, 'a'), ['b', 'd', 'c']);
  t.same(chainOf(active.snapshot.routing, 'c'), []);
});

t.test('a session stays at its entry; a call without one is bound to nothing', async (t) => {
  let draw = 0;
  const deployments = Array.from({ length: 8 }, (_, n) => deployment('m', `up-${n}`)).join('');
  const settings = 'router_settings: { session_affinity: true }\n';
  const services = await servicesOf(t, () => (draw = (draw + 0.37) % 1));
  const active = liveOf(t, `model_list:\n${deployments}${settings}`, services);
  const asked = (identity: typeof AFFINE): number =>
    new Set(Array.from({ length: 30 }, () => selectedBy(planCall(active, 'm', identity)).upstreamModel)).size;
  t.equal(asked(AFFINE), 1);
  t.ok(asked(FRESH) > 1);
});

t.test('what one entry alone can serve is asked once, whatever the rules say', async (t) => {
  const active = liveOf(
    t,
    `model_list:\n${deployment('m', 'a')}${deployment('m', 'b')}router_settings: { num_retries: 5, default_fallbacks: [m] }\n`,
    await servicesOf(t),
  );
  const plan = planSingle(active, firstOf(active, 'm'));
  t.notOk(plan.hasMore);
  t.equal(stops(plan).length, 1);
});
