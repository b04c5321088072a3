// What is left of a session that could not be run to its end: nothing.
import t from 'tap';
import { ActiveConfig } from '../../../../proxy/active-config/active-config.ts';
import { Budgets } from '../../../../proxy/access/budgets/budgets.ts';
import { systemClock } from '../../../../proxy/base/clock.ts';
import { forwardRealtime } from '../../../../proxy/pipeline/realtime/forward-realtime.ts';
import { startRealtimeUpstream } from '../../../support/realtime-upstream.ts';
import { Pools } from '../../../../proxy/upstream/pools.ts';
import { exchangeOf, firstOf, liveOf, servicesOf, snapshotOf } from '../../../support/services.ts';

const HANDSHAKE = {
  method: 'GET',
  path: '/v1/realtime?model=rt',
  headers: {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
  },
};

class BrokenBudgets extends Budgets {
  override ofKey(): never {
    throw new Error('a bug');
  }
}

class BrokenPools extends Pools {
  override connector(): never {
    throw new Error('a bug');
  }
}

t.test('a bug in opening a session leaves no call in flight', async (t) => {
  const pools = new BrokenPools(systemClock.mono);
  t.teardown(() => pools.destroy());
  const active = liveOf(
    t,
    'model_list: [{ model_name: rt, litellm_params: { model: openai/gpt-realtime, api_base: "http://127.0.0.1:1/v1", api_key: k } }]',
    { ...(await servicesOf(t)), pools },
  );
  const { x, answer } = await exchangeOf(t, active, HANDSHAKE);
  await forwardRealtime(x, { role: 'inference', keyHash: 'hash' }, () => active);
  t.match(await answer, { status: 500, text: /internal_error/ });
  const { health } = firstOf(active, 'rt').deployment;
  t.same([health.inFlight, active.services.ledger.status.open], [0, 0]);
});

t.test('a bug behind the handshake leaves neither a call in flight nor an open upstream', async (t) => {
  const upstream = await startRealtimeUpstream(t);
  const plain = await servicesOf(t);
  const { ledger, counters, clock, access, accessEvents: events } = plain;
  const snapshot = snapshotOf(
    t,
    `model_list: [{ model_name: rt, litellm_params: { model: openai/gpt-realtime, api_base: "${upstream.url}/v1", api_key: k } }]`,
  );
  const options = { ledger, counters, directory: access.directory, clock, events };
  const budgets = new BrokenBudgets(snapshot, options);
  const active = new ActiveConfig(snapshot, { ...plain, budgets });
  const { x, answer } = await exchangeOf(t, active, HANDSHAKE);
  await forwardRealtime(x, { role: 'inference', keyHash: 'hash' }, () => active);
  t.match(await answer, { status: 500, text: /internal_error/ });
  const { health } = firstOf(active, 'rt').deployment;
  t.same([health.inFlight, ledger.status.open], [0, 0]);
  t.match(await (await upstream.next()).peer.end(), { code: 1006 });
});
