// PostgreSQL's own: replicas at once, a server that goes away, what is said about wrong settings, encryption.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import pg from 'pg';
import t, { type Test } from 'tap';
import type { SpendRecord } from '../../../../../proxy/spend/record/record.ts';
import { allRows, ledgerOf } from '../../journal/fixture/ledgers.ts';
import { beginOf, settleOf } from '../../record/fixture/records.ts';
import { anyPostgres, ownPostgres, settingsOf } from '../../../../support/postgres.ts';
import { NEWEST, postgresBench } from '../fixture/benches.ts';
import { EARLIER_ROWS, earlierRowsStay } from '../fixture/earlier-rows.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { beforeNextLook } from '../../../../support/patience.ts';

const server = await anyPostgres(t);

t.test('replicas that start at once share one schema, and their rows and sums add up', async (t) => {
  if (!server.real) {
    t.comment('PGlite has one session for all, so no replicas');
    return;
  }
  const url = server.url();
  const benches = Array.from({ length: 4 }, () => postgresBench(t, url));
  const stores = benches.map((bench, i) => bench.open('salt-key', `journal-${i}`));
  await Promise.all(stores.map((store, i) => store.putModel(`m-${i}`, { model_name: `m${i}` })));
  t.equal((await stores[0]?.listModels())?.length, 4, 'one key proof for all');
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(
      benches.map((bench, i) => {
        const rows = Array.from({ length: 50 }, (_, n) =>
          settleOf(beginOf(`${i}-${round}-${n}`, { endUser: `user-${n % 7}`, tags: [`t${n % 3}`] }), {
            spendPico: 1,
          }),
        );
        return Promise.resolve(stores[i]?.ship(bench.append(...rows)));
      }),
    );
  }
  const [all] = (await stores[1]?.activity({}, [], 1)) ?? [];
  t.match(all?.sums, { requests: 600, spendPico: 600n });
  t.equal((await stores[2]?.query({}, NEWEST))?.total, 600);
  const [schema] = new URL(url).searchParams.getAll('schema');
  const { rows } = await asked(url, `SELECT writer FROM "${schema}".journals ORDER BY journal_id`);
  t.same(
    rows,
    benches.map(({ dir }) => ({ writer: `test ${dir}` })),
    'each journal names its writer',
  );
});

t.test(
  'a server that ships late is followed: each row once, whatever others have shipped before',
  async (t) => {
    const url = server.url();
    const [early, late] = [postgresBench(t, url), postgresBench(t, url)];
    const store = early.open('salt-key', 'journal-early');
    const lateStore = late.open('salt-key', 'journal-late');
    const nowMs = Date.now();
    const row = (id: string, agoMs: number): SpendRecord =>
      settleOf(beginOf(id, { startMs: nowMs - agoMs - 1_000 }), { endMs: nowMs - agoMs });
    const told: string[] = [];
    const start = await store.arrived({}, null, 100);
    let { place } = start;
    const listen = async (): Promise<void> => {
      const next = await store.arrived({}, place, 100);
      t.notOk(next.missed);
      told.push(...next.rows.map(({ requestId }) => requestId));
      place = next.place;
    };
    await store.ship(early.append(row('early', 0)));
    await listen();
    t.same(told, ['early']);
    await lateStore.ship(late.append(row('late', 90_000), row('later', 20_000)));
    await listen();
    t.same(new Set(told), new Set(['early', 'late', 'later']));
    t.match(
      await lateStore.arrived({}, place, 100),
      { missed: false },
      'another server understands the place',
    );

    const all = await lateStore.arrived({}, start.place, 100);
    t.same(
      all.rows.map(({ requestId }) => requestId),
      ['late', 'later', 'early'],
    );
    t.match(await store.arrived({}, start.place, 2), { rows: [], missed: true });
    t.match(await store.arrived({ endUser: 'nobody' }, start.place, 2), { rows: [], missed: false });
    for (const unknown of [
      String(nowMs),
      `${nowMs}-1:2:`.replace('2', '999999999999'),
      `${nowMs - 3_700_000}-1:2:`,
      '1-2:3:,',
    ])
      t.match(await store.arrived({}, unknown, 100), { rows: [], missed: true }, unknown);
  },
);

t.test('a place that another server has given since the last look is known', async (t) => {
  const url = server.url();
  const [one, other] = [postgresBench(t, url), postgresBench(t, url)];
  const store = one.open('salt-key', 'journal-one');
  const otherStore = other.open('salt-key', 'journal-other');
  const row = (id: string): SpendRecord =>
    settleOf(beginOf(id, { startMs: Date.now() - 1_000 }), { endMs: Date.now() });
  await otherStore.ship(other.append(row('first')));
  await store.arrived({}, null, 100); // others listen there
  await otherStore.ship(other.append(row('second')));
  const { place } = await otherStore.arrived({}, null, 100);
  t.match(await store.arrived({}, place, 100), { rows: [], missed: false });
});

t.test('a row whose transaction ran when a place was taken comes behind it', async (t) => {
  if (!server.real) {
    t.comment('PGlite has one session for all');
    return;
  }
  const url = server.url();
  const bench = postgresBench(t, url);
  const store = bench.open();
  const record = settleOf(beginOf('held', { startMs: Date.now() - 1_000 }), { endMs: Date.now() });
  await store.ship(bench.append(record));
  const client = await clientOf(t, url);
  const [schema] = new URL(url).searchParams.getAll('schema');
  await client.query('BEGIN');
  await client.query(`UPDATE "${schema}".spend SET request_id = 'changed'`);
  await asked(url, `UPDATE "${schema}".journals SET byte_offset = byte_offset`); // a later one that has ended
  const { place } = await store.arrived({}, null, 100);
  t.match(place, /:\d+$/, 'it is told to run');
  await client.query('COMMIT');
  const { rows } = await store.arrived({}, place, 100);
  t.same(
    rows.map(({ requestId }) => requestId),
    ['changed'],
  );
});

async function clientOf(t: Test, url: string): Promise<pg.Client> {
  const { host, port, database, user, password } = settingsOf(url);
  const client = new pg.Client({ host, port, database, user, password: password?.reveal() ?? '' });
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

async function asked(url: string, sql: string): Promise<pg.QueryResult> {
  const { host, port, database, user, password } = settingsOf(url);
  const client = new pg.Client({ host, port, database, user, password: password?.reveal() ?? '' });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

t.test(
  'rows of each month lie in a partition of their own, made ahead; a process holds two connections',
  async (t) => {
    const url = server.url();
    const bench = postgresBench(t, url);
    const store = bench.open();
    await store.ship(
      bench.append(settleOf(beginOf('id-1', { startMs: Date.parse('2024-02-29T10:00:00Z') }))),
    );
    await Promise.all([
      store.query({}, NEWEST),
      store.listModels(),
      store.activity({}, [], 1),
      store.summarize({}),
    ]);
    const [schema] = new URL(url).searchParams.getAll('schema');
    const { rows } = await asked(
      url,
      `SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' AND tablename LIKE 'spend\\_2%' ORDER BY 1`,
    );
    const names = rows.map(({ tablename }: { tablename: string }) => tablename);
    t.equal(names[0], 'spend_2024_02');
    t.equal(names.length, 4, 'this month and the next two, before a row needs them');
    if (!server.real) return;
    const held = await asked(
      url,
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'throughline'`,
    );
    t.ok((held.rows[0] as { n: number }).n <= 2);
  },
);

t.test('a schema of a newer version is left alone', async (t) => {
  const url = server.url();
  await postgresBench(t, url).open().listModels();
  const [schema] = new URL(url).searchParams.getAll('schema');
  await asked(url, `UPDATE "${schema}".schema_version SET version = 99`);
  await t.rejects(postgresBench(t, url).open().listModels(), {
    message: /version 99, this version of Throughline knows \d+ - run the version that made it/,
  });
});

t.test('a server of our own', async (t) => {
  const server = await ownPostgres(t);
  if (server === null) {
    t.comment('no PostgreSQL is installed that could be stopped and started');
    return;
  }

  await t.test('rows flow on while the server is stopped and started, and each arrives once', async (t) => {
    const dataDir = tempDir(t);
    const { ledger, events } = await ledgerOf(t, dataDir, { database: settingsOf(server.url()) });
    let serial = 0;
    const settle = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1)
        await ledger.settle(settleOf(beginOf(`id-${serial++}`), { spendPico: 1 }));
    };
    await settle(300);
    await ledger.flush();
    for (let outage = 0; outage < 2; outage += 1) {
      const flowing = settle(400);
      const flushing = ledger.flush().then(
        () => 'shipped',
        (error: Error) => error.name,
      );
      await server.stop(); // while a shipment may be under way
      await flowing;
      t.ok(['shipped', 'StoreUnavailable'].includes(await flushing));
      await settle(100);
      await t.rejects(ledger.flush(), { name: 'StoreUnavailable', message: /the journal keeps all records/ });
      t.equal(ledger.status.storeReachable, false);
      t.ok(ledger.status.writable, 'calls are served meanwhile');
      await server.start();
      // A shipment that began before the server was up may fail yet; the next one does not.
      const isShipped = (): Promise<boolean> =>
        ledger.flush().then(
          () => true,
          () => false,
        );
      while (!(await isShipped())) await beforeNextLook();
      t.equal(ledger.status.storeReachable, true);
    }
    const rows = await allRows(ledger);
    t.equal(rows.length, serial);
    t.equal(new Set(rows.map(({ requestId }) => requestId)).size, serial);
    t.match(await ledger.reader.activity({}, [], 1), [
      { sums: { requests: serial, spendPico: BigInt(serial) } },
    ]);
    t.ok(events.names().includes('store_reachable'));
  });

  await t.test(
    'a wrong password is told at the start, without being shown, and nothing is lost',
    async (t) => {
      const dataDir = tempDir(t);
      const url = new URL(server.url());
      url.password = 'canary-password';
      const { ledger, events } = await ledgerOf(t, dataDir, { database: settingsOf(url.href) });
      const { message } = await events.next('store_unreachable');
      t.match(
        message,
        /^the database postgresql:\/\/127\.0\.0\.1:\d+\/postgres cannot be used by throughline: /,
      );
      t.match(message, /\(28P01\) - check user and password in database_url/);
      t.notMatch(message, /canary/);
      t.equal(ledger.status.storeReachable, false, 'before any row waits');
      await ledger.settle(settleOf(beginOf('id-1')));
      await ledger.close(100);
      const { ledger: mended } = await ledgerOf(t, dataDir, { database: settingsOf(server.url()) });
      t.equal((await allRows(mended)).length, 1);
    },
  );

  await t.test('what else can be wrong is said with its mend', async (t) => {
    const wrong = async (change: (url: URL) => void): Promise<string> => {
      const url = new URL(server.url());
      change(url);
      const store = postgresBench(t, url.href).open();
      return store.listModels().then(
        () => '',
        (error: Error) => error.message,
      );
    };
    t.match(await wrong((url) => (url.pathname = '/nowhere')), /3D000\) - create the database/);
    t.match(await wrong((url) => (url.port = '1')), /ECONNREFUSED.* - see that the server runs/);
    t.match(
      await wrong((url) => url.searchParams.set('sslmode', 'require')),
      /does not support SSL connections - turn TLS on at the server .*, or set sslmode=disable/,
    );
    t.match(await wrong((url) => (url.password = '')), / - put the password of the user into database_url;/);
    for (const name of ['sslrootcert', 'sslkey'])
      t.match(
        await wrong((url) => {
          url.searchParams.set('sslmode', 'require');
          if (name === 'sslkey') url.searchParams.set('sslcert', '/nowhere.pem');
          url.searchParams.set(name, '/nowhere.pem');
        }),
        /ENOENT.*nowhere\.pem.* - check the files of sslrootcert, sslcert and sslkey in database_url;/,
        name,
      );
    t.match(
      await wrong((url) => url.searchParams.set('schema', 'pg_mine')),
      /pg_mine.*\(42939\) - see what the log of the server says of it;/,
    );
  });

  await t.test('sslmode is honoured', { skip: hasOpenssl() ? false : 'no openssl' }, async (t) => {
    const tls = await ownPostgres(t, certificates);
    if (tls === null) throw new Error('the server of the test before could be started');
    const connected = async (more: string, host = 'localhost'): Promise<unknown> => {
      const url = tls.url(more).replace('127.0.0.1', host);
      const rejected = await postgresBench(t, url)
        .open()
        .listModels()
        .catch((error: Error) => error.message);
      if (typeof rejected === 'string') return rejected;
      const { rows } = await asked(
        tls.url(),
        `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name = 'throughline' ORDER BY backend_start DESC LIMIT 1`,
      );
      return (rows[0] as { ssl: boolean }).ssl;
    };
    const ca = `sslrootcert=${encodeURIComponent(join(tls.folder, 'server.crt'))}`;
    t.equal(await connected('sslmode=disable'), false);
    t.equal(await connected('sslmode=prefer'), true);
    t.equal(await connected('sslmode=require'), true);
    t.match(
      await connected('sslmode=verify-full'),
      /self-signed certificate.* - name the certificate of its authority in sslrootcert of database_url;/,
    );
    t.equal(await connected(`sslmode=verify-full&${ca}`), true);
    t.match(
      await connected(`sslmode=verify-full&${ca}`, '127.0.0.1'),
      /does not match certificate.* - use the name/,
    );
    t.equal(await connected(`sslmode=verify-ca&${ca}`, '127.0.0.1'), true);
  });
});

/** A key of RSA would take half a second of CPU to find. */
const KEY_KIND = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Makes a certificate for `localhost` in the server's folder; @returns the flags that have it used. */
function certificates(folder: string): readonly string[] {
  const [key, crt] = [join(folder, 'server.key'), join(folder, 'server.crt')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const args = ['req', '-x509', ...KEY_KIND, '-nodes', '-days', '2', '-keyout', key, '-out', crt];
  execFileSync('openssl', [...args, ...subject], { stdio: 'ignore' });
  return ['-c', 'ssl=on', '-c', `ssl_cert_file=${crt}`, '-c', `ssl_key_file=${key}`];
}

/** Between a server and its database: from a COMMIT on nothing passes, as when the machine has lost its power. */
async function cutAtCommit(
  t: Test,
  url: string,
): Promise<{ readonly url: string; readonly cut: Promise<void> }> {
  const { host, port } = settingsOf(url);
  const cut = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  const relay = createServer((client) => {
    const database = connect(port, host);
    sockets.push(client, database);
    for (const socket of sockets) socket.on('error', () => undefined);
    let isCut = false;
    client.on('data', (data: Buffer) => {
      isCut ||= data.includes('COMMIT');
      if (isCut) cut.resolve();
      else database.write(data);
    });
    database.pipe(client);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  const through = new URL(url);
  through.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  return { url: through.href, cut: cut.promise };
}

t.test('a server that is cut off in mid-transaction holds up the others for seconds', async (t) => {
  if (!server.real) {
    t.comment('PGlite has one session for all');
    return;
  }
  const url = server.url();
  const [here, there] = [postgresBench(t, url), postgresBench(t, url)];
  const row = (id: string): SpendRecord => settleOf(beginOf(id, { endUser: 'one' }), { spendPico: 1 });
  await here.open('salt-key', 'journal-1').ship(here.append(row('1'))); // makes the tables
  const relay = await cutAtCommit(t, url);
  const bench = postgresBench(t, relay.url);
  bench
    .open('salt-key', 'journal-2')
    .ship(bench.append(row('2')))
    .catch(() => undefined);
  await relay.cut;
  const store = there.open('salt-key', 'journal-3');
  await store.ship(there.append(row('3')));
  t.equal((await store.query({}, NEWEST)).total, 2);
});

t.test('rows from before rows said their organization: their sums stay, apart', async (t) => {
  const url = server.url();
  const bench = postgresBench(t, url);
  const store = bench.open();
  await store.ship(bench.append(...EARLIER_ROWS));
  await store.close();
  const [schema] = new URL(url).searchParams.getAll('schema');
  await asked(
    url,
    `SET search_path TO "${schema}";
     DELETE FROM spend_daily WHERE axis IN ('organization', 'earlier');
     DROP INDEX spend_daily_organization;
     ALTER TABLE spend DROP COLUMN organization_id;
     UPDATE schema_version SET version = 6`,
  );
  await earlierRowsStay(t, bench);
});
