// The database of a configuration, without the rest of it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { loadDatabase } from '../../config/load-database.ts';
import { folder } from '../support/cli.ts';

const dir = folder(t);

function load(text: string, env: Readonly<Record<string, string>> = {}): ReturnType<typeof loadDatabase> {
  const path = join(dir, 'gateway.yaml');
  writeFileSync(path, text);
  return loadDatabase(path, env);
}

const REST = `model_list:
  - model_name: a
    litellm_params:
      model: litellm_proxy/a
      api_base: os.environ/NOT_SET
      api_key_file: /nowhere
`;

t.test('what is not set elsewhere in the file does not matter', async (t) => {
  const loaded = load(
    `${REST}general_settings: { master_key: os.environ/NOT_SET, database_url: os.environ/DB }`,
    {
      DB: 'postgresql://name@db.example.com/spend',
    },
  );
  t.match(loaded, { ok: true, database: { host: 'db.example.com' } });
  writeFileSync(join(dir, 'db'), 'postgresql://name@other.example.com/spend\n', { mode: 0o600 });
  t.match(load(`${REST}general_settings: { database_url_file: db }`), {
    database: { host: 'other.example.com' },
  });
  t.match(load(REST, { DATABASE_URL_FILE: join(dir, 'db') }), { database: { host: 'other.example.com' } });
  writeFileSync(join(dir, 'password'), 'secret\n');
  const parts = { DATABASE_HOST: 'parts.example.com', DATABASE_USERNAME: 'name', DATABASE_NAME: 'spend' };
  const inParts = load(REST, { ...parts, DATABASE_PASSWORD_FILE: join(dir, 'password') });
  t.match(inParts, { database: { host: 'parts.example.com' } });
  t.equal(inParts.ok && inParts.database?.password?.reveal(), 'secret');
  t.match(load(REST, { DATABASE_URL: 'postgresql://name@env.example.com/spend' }), {
    database: { host: 'env.example.com' },
  });
  t.strictSame(load(REST), { ok: true, database: null });
  t.match(
    load(
      'environment_variables: { DB: postgresql://name@file.example.com/x }\ngeneral_settings: { database_url: os.environ/DB }',
    ),
    {
      database: { host: 'file.example.com' },
    },
  );
});

t.test("what is wrong with the database's own settings is told", async (t) => {
  const cases: readonly (readonly [text: string, says: RegExp])[] = [
    ['general_settings: { database_url: os.environ/DB }', /os\.environ\/DB is not set/],
    ['general_settings: { database_url: mysql://x }', /is not the URL of a PostgreSQL database/],
    ['general_settings: { database_url: 5 }', /database_url: must be text/],
    ['general_settings: [', /the \[ that is opened here is never closed/],
    ['general_settings: { database_url_file: nowhere }', /'nowhere' does not exist/],
  ];
  for (const [text, says] of cases) {
    const loaded = load(text);
    t.equal(loaded.ok, false, text);
    t.match(loaded.ok ? '' : loaded.issues.map(formatIssue).join('\n'), says);
  }
});
