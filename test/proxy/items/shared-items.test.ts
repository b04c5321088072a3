// Items that several processes hold in memory: in a file that they share and in PostgreSQL; kill -9, a full disk, a database
// that goes away.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import t from 'tap';
import type { Test } from 'tap';
import { openExtensionTables } from '../../../proxy/spend/store/postgres/extension-tables.ts';
import { PostgresItems } from '../../../proxy/items/postgres-items.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { ManualClock } from '../../support/clock.ts';
import { anyPostgres, ownPostgres, settingsOf } from '../../support/postgres.ts';
import { noPgBouncer, pgBouncerTo } from '../../support/pgbouncer.ts';
import { RUN, RUN_MARK } from '../../support/process-cleanup.ts';
import { noSmallDisk, smallDisk } from '../../support/small-disk.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';
import { Held, type Kind } from './fixture/held.ts';

const WRITER = join(import.meta.dirname, 'fixture/writer.ts');

type Options = Partial<ConstructorParameters<typeof Held>[0]>;

function inFile(t: Test, dataDir: string, more: Options = {}): Held {
  const held = new Held({ dataDir, database: null, worker: null, ...more });
  t.teardown(() => held.items.close());
  return held;
}

function inDatabase(t: Test, url: string, more: Options = {}): Held {
  const settings = settingsOf(url);
  const extensionTables = openExtensionTables(settings);
  const held = new Held({
    dataDir: tempDir(t),
    database: { extensionTables, schema: settings.schema },
    worker: null,
    ...more,
  });
  t.teardown(async () => {
    await held.items.close().catch(() => undefined);
    await extensionTables.close();
  });
  return held;
}

/** What a server logs as a warning or an error. */
function warnings() {
  const said: string[] = [];
  const write = (line: string): void => void said.push((JSON.parse(line) as { readonly msg: string }).msg);
  return { said, log: openLog('warn', { write }).log };
}

async function startWriter(t: Test, dataDir: string, number: number, count: number): Promise<ChildProcess> {
  const writer = fork(WRITER, [dataDir, String(number), String(count)], {
    env: { ...process.env, [RUN_MARK]: RUN },
    execArgv: [],
  });
  t.teardown(async () => {
    if (writer.exitCode !== null || writer.signalCode !== null) return;
    writer.kill('SIGKILL');
    await once(writer, 'exit');
  });
  await once(writer, 'message');
  return writer;
}

async function told(writer: ChildProcess, order: object): Promise<unknown> {
  const answer = once(writer, 'message');
  writer.send(order);
  return ((await answer) as unknown[])[0];
}

/** What holds in both kinds of store, with several processes on one place. */
function shares(t: Test, open: (t: Test) => (more?: Options) => Held): void {
  t.test('what one stores and removes, the others hold and forget', async (t) => {
    const another = open(t);
    const one = await another().load();
    await one.put('a', { text: 'before' });
    const two = await another({ worker: { number: 2, count: 2 } }).load();
    t.match(two.known.get('key/a'), { revision: 1, createdMs: 1, updatedMs: 2, value: { text: 'before' } });

    t.equal(await one.put('a', { text: 'after' }), 'applied');
    t.equal(await one.put('b', { text: "it's \u0000 \ud800 new" }, 'team'), 'applied');
    await two.until(() => two.known.get('key/a')?.revision === 2 && two.known.has('team/b'));
    t.same(two.value('b', 'team'), { text: "it's \u0000 \ud800 new" });
    t.equal(await two.apply([{ remove: { kind: 'key', id: 'a', revision: 2 } }]), 'applied');
    await one.until(() => !one.known.has('key/a'));

    await two.put('a', { text: 'anew' });
    await one.items.sync();
    t.match(one.known.get('key/a'), { revision: 1, value: { text: 'anew' } });
    for (const text of ['x', 'y']) {
      const { revision = 0 } = two.known.get('key/a') ?? {};
      await two.apply([{ remove: { kind: 'key', id: 'a', revision } }]);
      await two.put('a', { text });
    }
    await one.items.sync();
    t.match(one.known.get('key/a'), { revision: 1, value: { text: 'y' } }, 'made anew between two questions');
  });

  t.test('of two changes on one revision the second is refused whole', async (t) => {
    const another = open(t);
    const [one, two] = [await another().load(), await another({ worker: { number: 2, count: 2 } }).load()];
    await one.put('a', { n: 1 });
    await two.items.sync();
    const late = [two.change('b', {}), two.change('a', {})]; // what it knows now: news may come at any time
    await one.put('a', { n: 2 });
    const stale = { remove: { kind: 'key', id: 'a', revision: 1 } } as const;
    t.equal(await two.items.apply(late), 'conflict');
    t.equal(await two.items.apply([late[0] ?? stale, stale]), 'conflict');
    t.equal(await two.items.apply([stale]), 'conflict');
    t.equal(await two.items.apply([{ remove: { kind: 'key', id: 'none', revision: 1 } }]), 'conflict');
    t.equal(await one.items.apply([{ put: { ...one.change('a', {}).put, revision: 0 } }]), 'conflict');
    const fresh = await another().load();
    t.same([...fresh.known.keys()], ['key/a']);
    t.match(fresh.value('a'), { n: 2 });
  });

  t.test('thousands of items are read in pages, and thousands of changes told in parts', async (t) => {
    const another = open(t);
    const one = await another().load();
    const two = await another({ worker: { number: 2, count: 2 } }).load();
    const ids = Array.from({ length: 2_300 }, (_, n) => `id "${n}" \\ ä`);
    await one.apply(ids.map((id, n) => one.change(id, { n })));
    for (const [n, id] of ids.slice(0, 40).entries()) await one.put(id, { n, text: 'x' });
    await two.items.sync();
    t.equal(two.known.size, ids.length);
    const three = await another().load();
    for (const held of [two, three])
      t.same(new Map([...held.known].toSorted()), new Map([...one.known].toSorted()));
    const long = 'x'.repeat(3_000_000);
    await one.apply(['a', 'b', 'c', 'd', 'e'].map((id) => one.change(id, { long }, 'team')));
    t.equal((await another().load()).known.size, ids.length + 5, 'long items make pages of few');
  });
}

t.test('a file that the processes of a server share', (t) => {
  shares(t, (t) => {
    const dataDir = tempDir(t);
    return (more) => inFile(t, dataDir, { worker: { number: 1, count: 2 }, ...more });
  });

  t.test('processes that start at once make it once, and none loses a change', async (t) => {
    const dataDir = tempDir(t);
    const count = 3;
    const writers = await Promise.all([1, 2, 3].map((number) => startWriter(t, dataDir, number, count)));
    const ends = await Promise.all(writers.map((writer) => told(writer, { do: 'add', times: 40 })));
    t.equal(ends.length, count);
    const held = await inFile(t, dataDir).load();
    t.same(held.value('counter'), { sum: 120 }, 'each change is made on the one before');
    t.equal(held.known.get('key/counter')?.revision, 120);
    t.equal(held.items.processes, 1);
    t.equal(inFile(t, dataDir, { worker: { number: 1, count: 3 } }).items.processes, 3);
  });

  t.test(
    'after kill -9 in the middle of a write, all that was answered is there, and nothing by half',
    async (t) => {
      const dataDir = tempDir(t);
      const other = await startWriter(t, dataDir, 9, 2);
      for (let round = 1; round <= 2; round += 1) {
        const writer = await startWriter(t, dataDir, round, 2);
        let stored = 0;
        const enough = new Promise<void>((resolve) => {
          writer.on('message', (message: { readonly stored: number }) => {
            stored = message.stored;
            if (stored === round * 7) resolve();
          });
        });
        writer.send({ do: 'write' });
        await enough;
        writer.kill('SIGKILL');
        await once(writer, 'exit');
        const held = await inFile(t, dataDir, { worker: { number: 1, count: 2 } }).load();
        const { n } = held.value(`of-${round}`) as { n: number };
        t.ok(n >= stored, `${n} of ${stored} answered`);
        t.same(held.value(`of-${round}`, 'team'), { n }, 'both of the pair');
        t.equal(await held.put('after', { text: `round ${round}` }), 'applied');
        t.equal(
          await told(other, { do: 'hold', id: 'after', text: `round ${round}` }),
          'held',
          'another process hears',
        );
      }
    },
  );

  t.test('a full disk refuses changes and nothing else', { skip: noSmallDisk() }, async (t) => {
    const dataDir = join(tempDir(t), 'disk');
    const disk = smallDisk(t, dataDir, '2m');
    const held = await inFile(t, dataDir).load();
    await held.put('a', { text: 'kept' });
    disk.fill();
    const long = 'x'.repeat(200_000);
    await t.rejects(held.put('b', { long }), { name: 'StoreUnavailable', message: /full/ });
    t.match((await inFile(t, dataDir).load()).value('a'), { text: 'kept' }, 'it is read all the same');
    disk.free();
    t.equal(await held.put('b', { long }), 'applied', 'and changed as soon as there is room');
    t.equal((await inFile(t, dataDir).load()).known.size, 2);
  });

  t.test('a file that is none is said so, and mended without a restart', async (t) => {
    const dataDir = tempDir(t);
    const file = join(dataDir, 'access.db');
    writeFileSync(file, 'this is no database, it is a text of some length');
    const held = inFile(t, dataDir);
    await t.rejects(held.load(), { name: 'StoreUnavailable', message: /not a database/ });
    rmSync(file);
    await held.load();
    t.equal(await held.put('a', {}), 'applied');
  });
  t.end();
});

t.test('PostgreSQL', async (t) => {
  const server = await anyPostgres(t);
  const skip = server.real ? false : 'PGlite has one session for all';
  shares(t, (t) => {
    const url = server.url();
    return (more) => inDatabase(t, url, more);
  });

  t.test(
    'behind a pooler the database is asked, and the log says so once',
    { skip: skip || noPgBouncer() },
    async (t) => {
      const url = server.url();
      const pooled = await pgBouncerTo(t, url);
      const lines: string[] = [];
      const { log } = openLog('info', { write: (line) => void lines.push(line) });
      const one = await inDatabase(t, pooled, { log }).load();
      const two = await inDatabase(t, url).load();
      for (const id of ['a', 'b', 'c']) {
        await two.put(id, {});
        await one.until(() => one.known.has(`key/${id}`));
        await one.apply([{ remove: { kind: 'key', id, revision: 1 } }]);
        await two.until(() => !two.known.has(`key/${id}`));
      }
      t.same(
        lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg),
        [
          'the database cannot tell of changes by other servers, as behind a connection pooler; it is asked every 250 ms',
        ],
      );
      const settings = settingsOf(pooled);
      const extensionTables = openExtensionTables(settings);
      t.teardown(() => extensionTables.close());
      t.equal(await extensionTables.listen('any', () => undefined), false);
    },
  );

  t.test(
    'the database tells of a change before it is asked, also over another connection',
    { skip },
    async (t) => {
      const url = server.url();
      const settings = settingsOf(url);
      const writer = await inDatabase(t, url).load();
      const heard = Promise.withResolvers<void>();
      const again = Promise.withResolvers<void>();
      const extensionTables = openExtensionTables(settings);
      t.teardown(() => extensionTables.close());
      const listening = new PostgresItems<Kind>(extensionTables, {
        schema: settings.schema,
        prefix: 'access',
        sharedKinds: ['key'],
      });
      const tell = [heard, again];
      t.equal(await listening.listen(() => tell.shift()?.resolve()), true);
      await writer.put('a', {});
      const alive = setInterval(() => undefined, 60_000);
      await heard.promise;
      const ended = `SELECT pg_terminate_backend(pg_backend_pid())`;
      await t.rejects(extensionTables.transact([{ text: ended, values: [] }]), { name: 'StoreUnavailable' });
      await listening.count({ kind: 'key' });
      await writer.put('b', {});
      await again.promise;
      clearInterval(alive);
      t.pass('both times');
    },
  );

  t.test('a quick question ends with connect_timeout, and the next one is answered', { skip }, async (t) => {
    const extensionTables = openExtensionTables(settingsOf(server.url('connect_timeout=2')));
    t.teardown(() => extensionTables.close());
    const one = async (): Promise<unknown> => {
      for (;;) {
        const asked = extensionTables.transact([{ text: 'SELECT 1 AS one', values: [] }]);
        const answer = await asked.catch(() => null); // a busy machine may need longer to connect
        if (answer !== null) return answer;
      }
    };
    await one();
    const slow = { text: 'SELECT pg_sleep(600)', values: [] };
    await t.rejects(extensionTables.transact([slow], true), {
      name: 'StoreUnavailable',
      message: /timeout/,
    });
    t.same(await one(), [[{ one: 1 }]]);
  });

  t.test('how many processes are alive is known from their heartbeats', { skip }, async (t) => {
    // None beats or asks by itself meanwhile: on a busy machine that would be while the clock is far ahead.
    mock.timers.enable({ apis: ['setInterval'] });
    t.teardown(() => mock.timers.reset());
    const url = server.url();
    const clock = new ManualClock();
    const dataDir = tempDir(t);
    const one = await inDatabase(t, url, { clock, dataDir, worker: { number: 1, count: 2 } }).load();
    t.equal(one.items.processes, 1);
    const two = await inDatabase(t, url, { clock, dataDir, worker: { number: 2, count: 2 } }).load();
    const elsewhere = await inDatabase(t, url, { clock }).load();
    for (const { items } of [one, two]) await items.sync();
    t.same(
      [one, two, elsewhere].map(({ items }) => items.processes),
      [3, 3, 3],
    );
    await elsewhere.items.close();
    await one.items.sync();
    t.equal(one.items.processes, 2, 'who ends says so');
    clock.advance(29_000);
    t.equal(one.items.processes, 2);
    clock.advance(2_000);
    t.equal(one.items.processes, 1, 'who is silent is gone');
    clock.advance(86_400_000);
    const late = await inDatabase(t, url, { clock }).load();
    t.equal(late.items.processes, 1, 'rows of servers that were killed days ago do not count');
  });

  t.test('a database that was restored from an older state is told once', { skip }, async (t) => {
    const url = server.url();
    const { log, said } = warnings();
    const one = await inDatabase(t, url, { log }).load();
    for (const text of ['x', 'y', 'z']) await one.put('a', { text });
    await one.items.sync();
    const settings = settingsOf(url);
    const extensionTables = openExtensionTables(settings);
    t.teardown(() => extensionTables.close());
    const older = `UPDATE "${settings.schema}".access_changes SET number = 1`;
    await extensionTables.transact([{ text: older, values: [] }]);
    for (let asked = 0; asked < 3; asked += 1) await one.items.sync();
    t.match(said, [/^the database is older than what this server has read from it/]);
    t.equal(said.length, 1);
  });

  t.test('a copy of a data directory beside the original is told', { skip }, async (t) => {
    mock.timers.enable({ apis: ['setInterval'] }); // beats and questions come when the test says
    t.teardown(() => mock.timers.reset());
    const url = server.url();
    const { log, said } = warnings();
    const [dataDir, copy] = [tempDir(t), tempDir(t)];
    const one = await inDatabase(t, url, { dataDir, log, version: '2' }).load();
    const beat = async (...all: readonly Held[]): Promise<void> => {
      mock.timers.tick(10_000);
      for (const { items } of all) await items.sync();
    };
    copyFileSync(join(dataDir, 'replica-id'), join(copy, 'replica-id'));
    const two = await inDatabase(t, url, { dataDir: copy, log, version: '3' }).load();
    while (said.length === 0) await beat(one, two);
    t.match(said[0], /^another server \(.+\) has the same replica-id/);
  });

  t.test('a database that is away refuses, and is used as soon as it is back', async (t) => {
    const own = await ownPostgres(t);
    if (own === null) {
      t.comment('no server to stop');
      return;
    }
    const url = own.url();
    const [one, two] = [await inDatabase(t, url).load(), await inDatabase(t, url).load()];
    await one.put('a', { text: 'before' });
    await own.stop();
    const late = inDatabase(t, url);
    await t.rejects(late.load(), { name: 'StoreUnavailable' });
    await t.rejects(one.put('a', { text: 'lost' }), { name: 'StoreUnavailable' });
    await t.rejects(two.items.sync(), { name: 'StoreUnavailable' });
    await own.start();
    await late.load();
    t.match(late.value('a'), { text: 'before' });
    t.equal(await late.put('a', { text: 'after' }), 'applied');
    await Promise.all(
      [one, two].map((held) =>
        held.until(() => (held.value('a') as { text?: string } | undefined)?.text === 'after'),
      ),
    );
    t.pass('those that were there before hear of it');
  });
});
