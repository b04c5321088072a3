// What several servers know together of deployments that cool down, in a real Valkey or Redis: each server here has a
// connection and breakers of its own.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { LocalCounters } from '../../../../proxy/access/local-counters.ts';
import { ASK_TRIAL } from '../../../../proxy/access/valkey/health-scripts.ts';
import { ValkeyCounters } from '../../../../proxy/access/valkey/valkey-counters.ts';
import { ValkeyHealth } from '../../../../proxy/access/valkey/valkey-health.ts';
import { openLog } from '../../../../proxy/observability/logger.ts';
import type { Breaker } from '../../../../proxy/routing/breaker.ts';
import { HealthRegistry } from '../../../../proxy/routing/deployment-health.ts';
import { ownValkey, type ValkeyServer } from '../../../support/valkey.ts';

/** Long enough for a machine whose cores are all taken. */
const PATIENT = { answerMs: 30_000, stuckMs: 60_000, beatMs: 20, pauseMs: 20 };
const LONG_MS = 300_000;
const SHORT_MS = 1;

interface Joined {
  readonly breaker: Breaker;
  readonly counters: ValkeyCounters;
  readonly learned: readonly string[];
}

async function join(t: Test, server: ValkeyServer): Promise<Joined> {
  const counters = await ValkeyCounters.start({
    settings: server.settings,
    log: openLog('silent').log,
    randomId: randomUUID,
    mono: now,
    local: () => new LocalCounters(now),
    servers: () => 1,
    times: PATIENT,
  });
  const { link, server: name } = counters;
  const learned: string[] = [];
  const health = new ValkeyHealth({
    link,
    server: name,
    mono: now,
    stuckMs: PATIENT.stuckMs,
    learned: (id) => learned.push(id),
  });
  const registry = new HealthRegistry((id) => health.peersOf(id));
  health.follow(registry);
  t.teardown(async () => {
    await health.close();
    await counters.close();
  });
  return { breaker: registry.acquire('d').breaker, counters, learned };
}

/** Whether a server may try: asked as its breakers ask, over their connection. */
async function claim({ counters }: Joined): Promise<boolean> {
  const { state: at } = counters.link;
  if (at.is !== 'shared') throw new Error(at.why);
  const args = [at.generation, at.prefix, counters.server, 'd'];
  const reply = await at.connection.run(ASK_TRIAL, [at.key], args, PATIENT.stuckMs);
  return Array.isArray(reply) && reply[1] === 1;
}

const now = (): number => performance.now();

/** The upstream asks for a pause. */
function fail({ breaker }: Joined, cooldownMs: number): void {
  breaker.failed(breaker.begin(now()), now(), { allowedFails: 3, cooldownMs }, cooldownMs);
}

async function until(fits: () => boolean): Promise<void> {
  while (!fits()) await pause(2);
}

const state = ({ breaker }: Joined): string => breaker.state(now());

/** Runs a test on a server of its own; says so where none is installed. */
function withServer(name: string, run: (t: Test, server: ValkeyServer) => Promise<void>): void {
  t.test(name, async (t) => {
    const server = await ownValkey(t);
    if (server !== null) await run(t, server);
  });
}

withServer('what one server finds the others hear: a cooldown, and its end', async (t, server) => {
  const [a, b] = [await join(t, server), await join(t, server)];
  fail(a, LONG_MS);
  await until(() => state(b) === 'open');
  t.same([a.learned, b.learned], [[], ['d']], 'who found it does not learn it from others');
  const leftMs = b.breaker.openUntilMs - now();
  t.ok(leftMs > 0 && leftMs <= LONG_MS + 1000, 'for as long as there');
  const c = await join(t, server);
  await until(() => state(c) === 'open');
  t.same(c.learned, ['d'], 'who comes later hears it as well');
  b.breaker.succeeded(b.breaker.begin(now()), now()); // a call that had nowhere else to go
  await until(() => [a, b, c].every((one) => state(one) === 'closed'));
});

withServer('one server at a time tries a deployment whose cooldown is over', async (t, server) => {
  const all = [await join(t, server), await join(t, server), await join(t, server)];
  const [a, b, c] = all as [Joined, Joined, Joined];
  fail(a, SHORT_MS);
  await until(() => all.every((one) => state(one) === 'half_open'));
  const tries = (): Joined[] => all.filter(({ breaker }) => breaker.admits(now()));
  tries(); // each of them asks
  let claims = await Promise.all(all.map(claim));
  while (!claims.includes(true)) claims = await Promise.all(all.map(claim)); // by the clock there it cools down still
  t.equal(claims.filter(Boolean).length, 1, 'one of them may');
  const one = all[claims.indexOf(true)] as Joined;
  await until(() => one.breaker.admits(now()));
  t.same(tries(), [one]);
  await Promise.all(all.map(claim)); // an answer comes behind those to what was asked before it
  t.same(tries(), [one], 'nor after they have asked');
  const era = one.breaker.begin(now());
  t.same(tries(), [], 'while it is tried nobody else tries');
  one.breaker.failed(era, now(), { allowedFails: 3, cooldownMs: LONG_MS }, null);
  await until(() => [a, b, c].every((other) => state(other) === 'open'));
});

withServer('a server that is to try and is gone, or does not, loses that to another', async (t, server) => {
  const [a, b] = [await join(t, server), await join(t, server)];
  fail(a, SHORT_MS);
  await until(() => state(a) === 'half_open' && state(b) === 'half_open');
  await until(() => a.breaker.admits(now()));
  t.notOk(b.breaker.admits(now()));
  a.counters.link.stop(); // as if it was killed
  const [servers = ''] = (await server.ask('KEYS', '*:servers')) as string[];
  await server.ask('ZADD', servers, '1', a.counters.server); // half a minute later
  await until(() => b.breaker.admits(now()));
  b.breaker.succeeded(b.breaker.begin(now()), now());
  await until(() => state(b) === 'closed');
});

withServer(
  'without Valkey each server knows its own part; what it knows it tells again',
  async (t, server) => {
    const [a, b] = [await join(t, server), await join(t, server)];
    await server.kill();
    await until(() => a.counters.state.away !== null && b.counters.state.away !== null);
    fail(a, SHORT_MS);
    await until(() => state(a) === 'half_open');
    t.ok(a.breaker.admits(now()), 'it tries for itself');
    t.equal(state(b), 'closed');
    fail(a, LONG_MS);
    await server.start();
    await until(() => state(b) === 'open');
    await server.kill();
    await until(() => a.counters.state.away !== null && b.counters.state.away !== null);
    await server.start();
    const c = await join(t, server);
    await until(() => state(c) === 'open');
    t.equal(state(a), 'open', 'a restart of Valkey ends no cooldown');
  },
);
