// A database URL as operators, libpq and other clients of the dialect write it. What is refused is in the golden files.
import t from 'tap';
import { databaseOf, periodMs } from '../../../config/resolve/database.ts';
import { Diagnostics } from '../../../config/diagnostics.ts';
import type { DatabaseSettings } from '../../../config/database-settings.ts';

const diagnostics = (): Diagnostics =>
  new Diagnostics({ kind: 'map', file: { name: 'f', lineStarts: null }, offset: 0, members: new Map() });

function settings(url: string): DatabaseSettings {
  const found = diagnostics();
  const resolved = databaseOf(url, {}, found);
  if (resolved === null)
    throw new Error(
      found
        .issues()
        .map(({ message }) => message)
        .join(),
    );
  return resolved;
}

t.test(
  'the parts of a URL are taken apart; the password is a secret, and what is shown has none',
  async (t) => {
    const url =
      'postgres://an%40user:p%2Fw%25@db.example.com:6432/spend?sslmode=verify-full&connect_timeout=3';
    const found = settings(`${url}&sslrootcert=/etc/ca.pem&connection_limit=5`);
    t.match(found, {
      host: 'db.example.com',
      port: 6432,
      database: 'spend',
      user: 'an@user',
      schema: 'throughline',
      tls: 'verify-full',
      caFile: '/etc/ca.pem',
      connectTimeoutMs: 3000,
      shown: 'postgresql://db.example.com:6432/spend',
    });
    t.equal(found.password?.reveal(), 'p/w%');
    t.notMatch(JSON.stringify(found), /p\/w/);
  },
);

t.test('without a URL, the parts of the environment that LiteLLM makes one of', async (t) => {
  const env = {
    DATABASE_HOST: 'openhands-postgresql:6432',
    DATABASE_USERNAME: 'an@user',
    DATABASE_PASSWORD: 'p/w%',
    DATABASE_NAME: 'litellm',
  };
  const parts = databaseOf(undefined, env, diagnostics());
  t.match(parts, { host: 'openhands-postgresql', port: 6432, user: 'an@user', database: 'litellm' });
  t.match(parts, { schema: 'throughline', tls: 'prefer' });
  t.equal(parts?.password?.reveal(), 'p/w%');
  t.match(databaseOf(undefined, { ...env, DATABASE_PASSWORD: undefined }, diagnostics()), { password: null });
  t.match(databaseOf(undefined, { ...env, DATABASE_URL: 'postgresql://u@h/d' }, diagnostics()), {
    host: 'h',
  });
  t.match(databaseOf('postgresql://u@h/d', env, diagnostics()), { host: 'h' });
  for (const name of ['DATABASE_HOST', 'DATABASE_USERNAME', 'DATABASE_NAME'])
    t.equal(databaseOf(undefined, { ...env, [name]: '' }, diagnostics()), null, name);
  const wrong = diagnostics();
  t.equal(databaseOf(undefined, { ...env, DATABASE_HOST: 'a b' }, wrong), null);
  t.match(wrong.issues(), [
    { message: /^what DATABASE_HOST, .* say is not the URL of a PostgreSQL database/ },
  ]);
});

t.test('what is left out has the defaults of libpq; sockets and IPv6 are hosts too', async (t) => {
  t.match(settings('postgresql://u@h/d'), {
    port: 5432,
    password: null,
    tls: 'prefer',
    connectTimeoutMs: 10_000,
  });
  t.match(settings('postgresql://u@/d?host=/var/run/postgresql'), {
    host: '/var/run/postgresql',
    shown: 'postgresql:///var/run/postgresql/d',
  });
  t.match(settings('postgresql://u@[::1]:5433/d?schema=litellm_spend'), {
    host: '::1',
    schema: 'litellm_spend',
  });
});

t.test('DATABASE_URL stands in when the file names none; an empty one is none', async (t) => {
  const env = { DATABASE_URL: 'postgresql://u@env/d' };
  t.equal(databaseOf(undefined, env, diagnostics())?.host, 'env');
  t.equal(databaseOf('postgresql://u@file/d', env, diagnostics())?.host, 'file');
  t.equal(databaseOf(undefined, { DATABASE_URL: '' }, diagnostics()), null);
  const found = diagnostics();
  t.equal(databaseOf(undefined, { DATABASE_URL: 'mysql://u:secret@h/d' }, found), null);
  t.match(
    found.issues()[0]?.message,
    /^the environment variable DATABASE_URL is not the URL of a PostgreSQL/,
  );
});

t.test('what no connection could be made with is refused', async (t) => {
  for (const [url, words] of [
    ['postgresql://h/d', /names no user/],
    ['postgresql://u@h/d?schema=Public%22', /has a schema that is not a plain name/],
    ['postgresql://u@h/d?connect_timeout=soon', /connect_timeout that is not a number/],
    ['postgresql://u@/d?schema=a-b', /has a schema/],
  ] as const) {
    t.throws(() => settings(url), { message: words }, url);
  }
});

t.test('periods are counted so that nothing goes earlier than was asked', async (t) => {
  const days = (text: string): number => (periodMs(text) ?? NaN) / 86_400_000;
  t.same(['30d', ' 2w ', '12mo', '48h'].map(days), [30, 14, 372, 2]);
  t.equal(periodMs(undefined), null);
});
