// Budgets on machines whose clock is put right while they run: a window that a wrong clock has begun too early is not the one that
// counts, and a time that comes twice begins with what was spent in it.
import t from 'tap';
import type { Test } from 'tap';
import { ManualClock } from '../support/clock.ts';
import { folder } from '../support/cli.ts';
import { managed, newKey } from '../support/manage.ts';
import { chat, KEY, startRig, type Rig } from '../support/rig.ts';

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** A call with `max_tokens: 10` costs 0.009 USD, and reserves 0.01. */
const config = ({ url }: { readonly url: string }): string => `
model_list:
  - model_name: demo
    litellm_params: { model: openai/acme/demo, api_base: "${url}/compat/v1", api_key: k, input_cost_per_token: 0, output_cost_per_token: 0.001 }
general_settings:
  master_key: ${KEY}
`;

const call = async (rig: Rig, key: string): Promise<number> =>
  (await chat(rig, 'demo', { max_tokens: 10 }, { authorization: `Bearer ${key}` })).status;

/** Calls until one is refused. */
async function callsLeft(rig: Rig, key: string): Promise<number> {
  for (let count = 0; count < 10; count += 1) if ((await call(rig, key)) === 422) return count;
  return Infinity;
}

/** No counter of the running proxy holds less than its rows say. */
async function agrees(t: Test, rig: Rig, because: string): Promise<void> {
  const { budgets } = await managed(rig, 'GET /spend/budgets');
  for (const one of budgets as { readonly counted_short: string }[])
    t.equal(Number(one.counted_short), 0, because);
}

t.test('a clock that ran ahead over the end of the day', async (t) => {
  const clock = new ManualClock(Date.parse('2026-11-18T23:00:00Z'));
  const rig = await startRig(t, { config, clock });
  const key = await newKey(rig, { max_budget: 0.03, budget_duration: '1d' });
  t.equal(await call(rig, key), 200);
  clock.step(70 * MINUTE);
  t.equal(await call(rig, key), 200, 'ten past midnight, by mistake');
  clock.step(-70 * MINUTE);
  t.ok((await callsLeft(rig, key)) < 3, 'what is spent counts again');
  await agrees(t, rig, 'used up');
  clock.step(60 * MINUTE);
  t.equal(await callsLeft(rig, key), 2, 'of the day that has begun now, one call was made already');
  await agrees(t, rig, 'the next day');
  clock.step(DAY);
  t.equal(await callsLeft(rig, key), 3);
});

t.test('a proxy that was started with a clock of the next month', async (t) => {
  const clock = new ManualClock(Date.parse('2026-12-01T00:30:00Z'));
  const options = { config, clock, folder: folder(t) };
  const first = await startRig(t, options);
  const key = await newKey(first, { max_budget: 0.03, budget_duration: '1mo' });
  await first.stop();
  const rig = await startRig(t, options);
  clock.step(-120 * MINUTE);
  t.equal(await callsLeft(rig, key), 3);
  await agrees(t, rig, 'used up');
});
