// A database that says nothing: who asks waits for it once, and it is asked again by one connection at a time.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { mock } from 'node:test';
import t from 'tap';
import { PgConnection } from '../../../../../proxy/spend/store/postgres/connection.ts';
import { databaseData } from '../../../../../proxy/spend/store/postgres/settings.ts';
import { DatabaseSilence } from '../../../../../proxy/spend/store/postgres/silence.ts';
import { settingsOf } from '../../../../support/postgres.ts';

/** Lets promises that are settled already be heard. */
const heard = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const silent = (): Error => new Error('timeout expired');

/** Attempts to connect that end when the test says so. */
function attempts(): {
  readonly connect: () => Promise<void>;
  readonly next: () => Promise<PromiseWithResolvers<void>>;
} {
  const begun: PromiseWithResolvers<void>[] = [];
  let heard = Promise.withResolvers<void>();
  return {
    connect: () => {
      const attempt = Promise.withResolvers<void>();
      begun.push(attempt);
      heard.resolve();
      heard = Promise.withResolvers();
      return attempt.promise;
    },
    next: async () => {
      for (;;) {
        const attempt = begun.shift();
        if (attempt !== undefined) return attempt;
        await heard.promise;
      }
    },
  };
}

t.test('after one timeout all calls fail at once, on every connection, until one is answered', async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `postgresql://name:word@127.0.0.1:${port}/db?sslmode=disable&connect_timeout=1`;
  const database = databaseData(settingsOf(url));
  const { connect, next } = attempts();
  const silence = new DatabaseSilence(connect);
  const connection = (): PgConnection<unknown> =>
    new PgConnection({ database, timeoutMs: 1_000, silence, prepare: (client) => Promise.resolve(client) });
  const [one, two] = [connection(), connection()];
  const asked = (by = one): Promise<void> => by.use(() => Promise.resolve());
  const away = { name: 'StoreUnavailable', message: /timeout expired - see that the server runs/ };
  // Those that wait behind the first one are among them.
  await Promise.all(Array.from({ length: 20 }, async () => await t.rejects(asked(), away)));
  await Promise.all(Array.from({ length: 20 }, async () => await t.rejects(asked(two), away)));
  t.equal(connections, 1);
  (await next()).reject(silent());
  const attempt = await next();
  await t.rejects(asked(), away);
  t.equal(connections, 1, 'it goes on being silent');
  attempt.resolve();
  while (silence.error !== null) await heard();
  await t.rejects(asked(), away);
  t.equal(connections, 2, 'it is asked again');
  await Promise.all([one.close(), two.close()]);
  (await next()).resolve();
});

t.test('what waits for an answer ends when a new connection gets none either', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const { connect, next } = attempts();
  const silence = new DatabaseSilence(connect);
  const slow = Promise.withResolvers<string>();
  const waits = [silence.until(new Promise(() => undefined)), silence.until(new Promise(() => undefined))];
  const ended = waits.map((one) => t.rejects(one, { message: 'timeout expired' }));
  mock.timers.tick(2_000);
  (await next()).reject(silent());
  await Promise.all(ended);
  t.match(silence.error, { message: 'timeout expired' });
  (await next()).resolve();
  while (silence.error !== null) await heard();

  const answered = silence.until(slow.promise);
  mock.timers.tick(2_000);
  (await next()).reject(new Error('sorry, too many clients already')); // that is an answer
  slow.resolve('late');
  t.equal(await answered, 'late');
  t.equal(silence.error, null);
});
