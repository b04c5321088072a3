// A worker's counters with a real journal: what its supervisor has heard when it is killed at the worst moment, and what the journal
// says then.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import t, { type Test } from 'tap';
import type { ReservingCall, SettledCall } from '../../../proxy/access/counters.ts';
import { HostCounters } from '../../../proxy/access/host-counters.ts';
import { Channel, type Port } from '../../../proxy/cluster/channel.ts';
import type { OfSupervisor, OfWorker } from '../../../proxy/cluster/protocol.ts';
import { SupervisedCounters } from '../../../proxy/cluster/supervised-counters.ts';
import { recoverJournal } from '../../../proxy/spend/journal/recover.ts';
import type { Ledger } from '../../../proxy/spend/ledger.ts';
import { ledgerOf, SETTINGS } from '../spend/journal/fixture/ledgers.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

const RESERVED = 73n;
const COST = 24n;
const CAP = { budget: 'proxy', windowStartMs: 0 };

const call = (requestId: string): ReservingCall => ({
  requestId,
  budgets: [{ ...CAP, capPico: 10_000n }],
  pico: RESERVED,
  limits: [],
});
const settled = (requestId: string): SettledCall => ({
  requestId,
  spent: [{ ...CAP, pico: COST }],
  tokens: null,
});

interface Worker {
  readonly ledger: Ledger;
  readonly counters: SupervisedCounters;
  readonly host: HostCounters;
  /** All that is recorded and counted in one turn, as the pipeline does. */
  end(requestId: string): Promise<void>;
  /** After each message: the calls that it told of and that the journal would recover as without an end. */
  readonly told: () => { readonly settled: number; readonly wrong: readonly string[] };
}

async function worker(t: Test, fsyncIntervalMs: number): Promise<Worker> {
  const dataDir = tempDir(t);
  const { ledger } = await ledgerOf(t, dataDir, { settings: { ...SETTINGS, fsyncIntervalMs } });
  const { port1, port2 } = new MessageChannel();
  t.teardown(() => port1.close());
  let count = 0;
  const wrong: string[] = [];
  let copies = 0;
  const seen = (message: object): void => {
    const { question, args } = message as { readonly question?: string; readonly args?: unknown };
    const told = question === 'count' ? (args as OfSupervisor['count']['args']) : [];
    const ended = told.flatMap((one) => (one.kind === 'settled' ? one.call.requestId : []));
    if (ended.length === 0) return;
    count += ended.length;
    // Killed here: the supervisor has the message, and the next process recovers what the journal holds now.
    const copy = join(dataDir, `copy-${(copies += 1)}`);
    cpSync(join(dataDir, 'journal'), copy, { recursive: true });
    const open = new Set(recoverJournal(copy).open.map(({ requestId }) => requestId));
    wrong.push(...ended.filter((requestId) => open.has(requestId)));
  };
  const portOf = (port: typeof port1): Port => ({
    send: (message) => {
      port.postMessage(message);
      seen(message);
    },
    on: (event: 'message' | 'disconnect', act: (message?: unknown) => void) =>
      port.on(event === 'message' ? 'message' : 'close', act),
  });
  const host = new HostCounters(() => 0);
  const supervisor = new Channel<OfWorker, Pick<OfSupervisor, 'reserve' | 'seed' | 'count' | 'spent'>>(
    portOf(port2),
  );
  supervisor.answer({
    reserve: (asked) => host.reserve(1, asked),
    seed: ({ counter, pico, counted }) => {
      host.seed(counter, pico, counted);
      return null;
    },
    count: (told) => {
      host.tell(told);
      return null;
    },
    spent: (counter) => host.read(counter),
  });
  const counters = new SupervisedCounters(new Channel<OfSupervisor, OfWorker>(portOf(port1)));
  const end = (requestId: string): Promise<void> => {
    const written = ledger.settle(settleOf(beginOf(requestId)), () => counters.journaled(requestId));
    counters.settle(settled(requestId));
    return written;
  };
  return { ledger, counters, host, end, told: () => ({ settled: count, wrong }) };
}

for (const fsyncIntervalMs of [SETTINGS.fsyncIntervalMs, 0])
  t.test(
    `a supervisor never hears what a call did cost before the journal holds it, with a sync each ${fsyncIntervalMs} ms`,
    async (t) => {
      const { ledger, counters, host, end, told } = await worker(t, fsyncIntervalMs);
      await counters.seed(CAP, 0n);
      for (let n = 0; n < 4; n += 1) {
        t.match(await counters.reserve(call(`a${n}`)), { kind: 'reserved' });
        await ledger.begin(beginOf(`a${n}`));
      }
      counters.release('a0'); // the batch that tells of it is due before the journal's next write
      const written = [end('a0'), end('a1')];
      const next = counters.reserve(call('b')); // does not wait for a batch
      await Promise.all(written);
      t.match(await next, { kind: 'reserved' });
      await Promise.all([end('a2'), counters.reserve(call('c')), end('a3')]);
      counters.settle({ ...settled('refused'), spent: [{ ...CAP, pico: 0n }] });
      while (told().settled < 4) await setImmediate();
      t.same(await counters.read(CAP), { spentPico: 4n * COST, reservedPico: 2n * RESERVED });
      t.same(told(), { settled: 4, wrong: [] });
      t.same(host.ended(1), ['b', 'c'], 'what has not ended stays held');
    },
  );

t.test('a sum that is read while calls end holds each of them once', async (t) => {
  const { counters, host, end } = await worker(t, SETTINGS.fsyncIntervalMs);
  t.match(await counters.reserve(call('a')), { kind: 'unseeded', counters: [CAP] });
  await end('in the sum');
  await counters.seed(CAP, COST, ['in the sum']);
  t.same(host.read(CAP), { spentPico: COST, reservedPico: 0n });
});

t.test('a call holds its budgets until the journal has what it did cost', async (t) => {
  const { ledger, counters, end } = await worker(t, SETTINGS.fsyncIntervalMs);
  await counters.seed(CAP, 0n);
  t.same([...counters.held()], []);
  await counters.reserve(call('a'));
  t.same([...counters.held()], ['proxy']);
  await ledger.begin(beginOf('a'));
  await end('a');
  t.same([...counters.held()], []);
});
