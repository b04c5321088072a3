// Idempotency keys of several servers, in a real Valkey or Redis: each server here has a connection of its own.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { CountersUnavailable } from '../../../../proxy/access/counters.ts';
import { LocalCounters } from '../../../../proxy/access/local-counters.ts';
import { ValkeyCounters } from '../../../../proxy/access/valkey/valkey-counters.ts';
import { ValkeyKeys } from '../../../../proxy/access/valkey/valkey-keys.ts';
import { openLog } from '../../../../proxy/observability/logger.ts';
import { ownValkey, type ValkeyServer } from '../../../support/valkey.ts';

/** Long enough for a machine whose cores are all taken. */
const PATIENT = { answerMs: 30_000, stuckMs: 60_000, beatMs: 50, pauseMs: 50 };
const call = (id: string, digest = 'd', stream = false) => ({ id, digest, stream });
const BODY = Buffer.from([0, 255, 10, 13, 0x80, 0x24]);
const ENDING = { head: '{"reason":"complete"}', body: BODY };
const WINDOW = 600_000;

interface Joined {
  readonly keys: ValkeyKeys;
  readonly counters: ValkeyCounters;
}

async function join(
  t: Test,
  server: ValkeyServer,
  given: { failClosed?: boolean; answerMs?: number } = {},
): Promise<Joined> {
  const times = { ...PATIENT, answerMs: given.answerMs ?? PATIENT.answerMs };
  const mono = (): number => performance.now();
  const counters = await ValkeyCounters.start({
    settings: server.settings,
    log: openLog('silent').log,
    randomId: randomUUID,
    mono,
    local: () => new LocalCounters(mono),
    servers: () => 1,
    times,
  });
  const { link, server: name } = counters;
  const keys = new ValkeyKeys({
    link,
    server: name,
    mono,
    ...times,
    failClosed: () => given.failClosed === true,
  });
  t.teardown(async () => {
    await keys.close();
    await counters.close();
  });
  return { keys, counters };
}

async function told(...joined: readonly Joined[]): Promise<void> {
  for (const { keys, counters } of joined)
    while (keys.figures.keysUntold > 0 || counters.state.away !== null) await pause(5);
}

async function away({ counters }: Joined): Promise<void> {
  while (counters.state.away === null) await pause(5);
}

/** Runs a test on a server of its own; says so where none is installed. */
function withServer(name: string, run: (t: Test, server: ValkeyServer) => Promise<void>): void {
  t.test(name, async (t) => {
    const server = await ownValkey(t);
    if (server !== null) await run(t, server);
  });
}

withServer(
  'a key that one server has is known to the other: running, then with its answer',
  async (t, server) => {
    const [a, b] = [await join(t, server), await join(t, server)];
    t.same(await a.keys.claim('k', call('1')), { kind: 'first' });
    t.same(await b.keys.claim('k', call('2')), { kind: 'running', call: call('1') });
    const waits = [b.keys.wait('k'), b.keys.wait('k')];
    a.keys.end('k', ENDING, WINDOW);
    await Promise.all(waits.map(({ done }) => done));
    t.same(await b.keys.claim('k', call('2')), { kind: 'ended', call: call('1'), ending: ENDING });
    t.same(await a.keys.claim('other', call('3', 'e', true)), { kind: 'first' });
    t.same(await b.keys.claim('other', call('4')), { kind: 'running', call: call('3', 'e', true) });
    a.keys.end('other', { head: '{}', body: null }, WINDOW);
    await b.keys.wait('other').done;
    t.match(await b.keys.claim('other', call('4')), { kind: 'ended', ending: { head: '{}', body: null } });
    t.equal(b.keys.figures.keysElsewhere, 4);
  },
);

withServer('of many servers that ask for a key at once exactly one gets it', async (t, server) => {
  const all = await Promise.all(Array.from({ length: 4 }, () => join(t, server)));
  for (let round = 0; round < 20; round += 1) {
    const claims = await Promise.all(
      all.map(({ keys }, i) => keys.claim(`k${round}`, call(`${round}-${i}`))),
    );
    t.equal(claims.filter((claim) => claim?.kind === 'first').length, 1);
  }
});

withServer('a key without an answer is free, and so is one that is forgotten', async (t, server) => {
  const [a, b] = [await join(t, server), await join(t, server)];
  await a.keys.claim('k', call('1'));
  await b.keys.claim('k', call('2'));
  const { done } = b.keys.wait('k');
  a.keys.end('k', null, WINDOW);
  await done;
  t.same(await b.keys.claim('k', call('2')), { kind: 'first' });
  b.keys.end('k', ENDING, WINDOW);
  await told(a, b);
  a.keys.forget('k'); // not its call
  await told(a, b);
  t.equal((await a.keys.claim('k', call('3')))?.kind, 'ended');
  b.keys.forget('k');
  await told(a, b);
  t.equal((await a.keys.claim('k', call('3')))?.kind, 'first');
});

withServer('nothing of a key or an answer can be read in Valkey', async (t, server) => {
  const a = await join(t, server);
  await a.keys.claim('hash secret-key', call('1'));
  a.keys.end('hash secret-key', { head: '{"reason":"complete"}', body: Buffer.from('the answer') }, WINDOW);
  await told(a);
  const names = (await server.ask('KEYS', '*:i:*')) as string[];
  t.equal(names.length, 1);
  const found = JSON.stringify([names, await server.ask('HGETALL', names[0] ?? '')]);
  for (const text of ['secret-key', 'the answer', 'complete']) t.notMatch(found, text);
  const ttl = Number(await server.ask('PTTL', names[0] ?? ''));
  t.ok(ttl > 0 && ttl <= WINDOW, 'it goes by itself');
  await server.ask('HSET', names[0] ?? '', 'b', 'x'.repeat(60));
  const b = await join(t, server);
  const claim = await b.keys.claim('hash secret-key', call('2'));
  t.match(claim, { kind: 'ended', ending: { body: null } }, 'what was put there by others is no answer');
});

withServer(
  'the key of a server that is gone is free after its lease, and its waiters go on',
  async (t, server) => {
    const [a, b] = [await join(t, server), await join(t, server)];
    await a.keys.claim('k', call('1'));
    t.equal((await b.keys.claim('k', call('2')))?.kind, 'running');
    const { done } = b.keys.wait('k');
    a.counters.link.stop(); // as if it was killed
    const [servers = ''] = (await server.ask('KEYS', '*:servers')) as string[];
    await server.ask('ZADD', servers, '1', a.counters.server); // half a minute later
    await done;
    t.same(await b.keys.claim('k', call('2')), { kind: 'first' });
  },
);

withServer('a restart of Valkey forgets no call that runs, and no answer', async (t, server) => {
  const [a, b] = [await join(t, server), await join(t, server)];
  await a.keys.claim('running', call('1'));
  await a.keys.claim('ended', call('2'));
  a.keys.end('ended', ENDING, WINDOW);
  await told(a, b);
  await server.kill();
  await Promise.all([away(a), away(b)]);
  await server.start();
  await told(a, b);
  t.same(await b.keys.claim('running', call('3')), { kind: 'running', call: call('1') });
  t.same(await b.keys.claim('ended', call('3')), { kind: 'ended', call: call('2'), ending: ENDING });
});

withServer(
  'while Valkey is away a server knows its own calls alone; later the others learn of them',
  async (t, server) => {
    const [a, b] = [await join(t, server), await join(t, server)];
    await b.keys.claim('waited', call('0'));
    t.equal((await a.keys.claim('waited', call('1')))?.kind, 'running');
    const { done } = a.keys.wait('waited');
    await server.kill();
    await done;
    t.equal(await a.keys.claim('k', call('2')), null);
    t.equal(await a.keys.claim('gone', call('3')), null);
    a.keys.end('gone', null, WINDOW);
    t.equal(a.keys.figures.keysAlone, 2);
    await Promise.all([away(a), away(b)]);
    await server.start();
    await told(a, b);
    t.same(await b.keys.claim('k', call('4')), { kind: 'running', call: call('2') });
    t.same(await b.keys.claim('gone', call('5')), { kind: 'first' });
    a.keys.end('k', ENDING, WINDOW);
    await b.keys.wait('k').done;
    t.equal((await b.keys.claim('k', call('4')))?.kind, 'ended');
  },
);

withServer('where it is to fail closed, no key is taken without the others', async (t, server) => {
  const [a, b] = [await join(t, server, { failClosed: true, answerMs: 1_500 }), await join(t, server)];
  server.pause();
  await t.rejects(a.keys.claim('k', call('1')), CountersUnavailable);
  server.go();
  await told(a, b);
  t.same(await b.keys.claim('k', call('2')), { kind: 'first' }, 'what came late is undone');
});
