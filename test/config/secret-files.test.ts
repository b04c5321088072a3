// Secrets in files: what is read, what is refused in words, and that nothing of a secret is ever in a message.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig, overlay, type Environment, type Loaded } from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { folder } from '../support/cli.ts';

const ENTRY = `model_list:
  - model_name: a
    litellm_params:
      model: litellm_proxy/a
      api_base: https://gateway.example.com
`;

function write(dir: string, name: string, text: string | Buffer, mode = 0o600): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function loaded(dir: string, text: string, env: Environment = {}): Loaded {
  return loadConfig(write(dir, 'gateway.yaml', text), env);
}

function must(result: Loaded): Snapshot {
  if (!result.ok) throw new Error(result.issues.map(formatIssue).join('\n'));
  return result.snapshot;
}

const texts = (result: Loaded): string =>
  (result.ok ? result.snapshot.warnings : result.issues).map(formatIssue).join('\n');

t.test(
  'each key that has a file of its own takes its content, without the line break at the end',
  async (t) => {
    const dir = folder(t);
    for (const [name, end] of Object.entries({ unix: '\n', dos: '\r\n', none: '', several: '\n\n' })) {
      write(dir, 'key', `sk-of-${name}${end}`);
      const snapshot = must(loaded(dir, `${ENTRY}      api_key_file: key\n`));
      t.equal(snapshot.deployments[0]?.apiKey?.reveal(), `sk-of-${name}`);
      t.strictSame(snapshot.warnings, []);
      t.ok(snapshot.files.includes(join(dir, 'key')), 'it is watched');
    }
    write(dir, 'master', 'sk-master\n');
    write(dir, 'db', 'postgresql://name:pass@db.example.com/spend\n');
    write(dir, 'valkey', 'v4lkey\n');
    write(dir, 'ci', 'sk-of-the-ci\n');
    const snapshot = must(
      loaded(
        dir,
        `${ENTRY}      litellm_credential_name: team
credential_list:
  - credential_name: team
    credential_values: { api_key_file: key }
general_settings:
  master_key_file: ${join(dir, 'master')}
  database_url_file: db
router_settings: { redis_host: valkey.example.com, redis_password_file: valkey }
keys:
  - { key_alias: ci, key_file: ci }
`,
      ),
    );
    t.equal(snapshot.deployments[0]?.apiKey?.reveal(), 'sk-of-several');
    t.ok(snapshot.masterKey?.equals('sk-master'));
    t.equal(snapshot.database?.password?.reveal(), 'pass');
    t.equal(snapshot.valkey?.password?.reveal(), 'v4lkey');
    t.equal(snapshot.access.keys[0]?.lastFour, 'e-ci');
  },
);

t.test(
  'NAME_FILE stands in for a variable that is not set, in the file and for what is read anyway',
  async (t) => {
    const dir = folder(t);
    const key = write(dir, 'key', 'sk-gateway\n');
    const master = write(dir, 'master', 'sk-master\n');
    const text = `${ENTRY}      api_key: os.environ/GW_KEY\n      extra_headers: { x-key: os.environ/GW_KEY }\n`;
    const snapshot = must(loaded(dir, text, { GW_KEY_FILE: key, PROXY_MASTER_KEY_FILE: master }));
    t.equal(snapshot.deployments[0]?.apiKey?.reveal(), 'sk-gateway');
    t.equal(snapshot.deployments[0]?.staticHeaders[0]?.[1].reveal(), 'sk-gateway');
    t.ok(snapshot.masterKey?.equals('sk-master'));
    const both = must(loaded(dir, text, { GW_KEY: 'sk-value', GW_KEY_FILE: key }));
    t.equal(both.deployments[0]?.apiKey?.reveal(), 'sk-value', 'a variable that is set wins');
    const broken = loaded(dir, text, { GW_KEY_FILE: join(dir, 'nowhere') });
    t.match(texts(broken), /os\.environ\/GW_KEY: GW_KEY_FILE names '.*nowhere', which does not exist/);
    t.match(
      texts(loaded(dir, ENTRY, { PROXY_MASTER_KEY_FILE: dir })),
      /PROXY_MASTER_KEY_FILE names a file that is a folder/,
    );
  },
);

t.test('a file that gives no secret is refused in words that do not repeat it', async (t) => {
  const dir = folder(t);
  write(dir, 'empty', '\n');
  write(dir, 'spaces', '   \n');
  write(dir, 'binary', Buffer.from([0x73, 0x6b, 0xff, 0xfe]));
  write(dir, 'large', `sk-${'a'.repeat(70_000)}`);
  write(dir, 'words', 'sk-s3cr3t and more\n');
  mkdirSync(join(dir, 'folder'));
  const cases: Readonly<Record<string, RegExp>> = {
    nowhere:
      /gateway\.yaml:6:21 model_list\[0\]\.litellm_params\.api_key_file: 'nowhere' does not exist - check the path/,
    folder: /'folder' is a folder, not a file/,
    empty: /'empty' is empty - write the secret into it; what is served stays meanwhile/,
    spaces: /'spaces' is empty/,
    binary: /'binary' is not UTF-8 text/,
    large: /'large' is too large: it holds more than/,
    words: /api_key: the key contains a space/,
  };
  for (const [name, says] of Object.entries(cases)) {
    const result = loaded(dir, `${ENTRY}      api_key_file: ${name}\n`);
    t.equal(result.ok, false);
    t.match(texts(result), says);
    t.notMatch(texts(result), /s3cr3t/);
  }
  t.match(
    texts(loaded(dir, `${ENTRY}      api_key: sk-a\n      api_key_file: empty\n`)),
    /api_key_file: stands beside api_key, and only one of them can hold/,
  );
  t.match(texts(loaded(dir, `${ENTRY}      api_key_file: os.environ/NOWHERE\n`)), /NOWHERE is not set/);
});

t.test(
  'a pipe or a device is refused: waiting for its writer would stop every request of the process',
  (t) => {
    const dir = folder(t);
    const pipe = join(dir, 'pipe');
    t.equal(spawnSync('mkfifo', [pipe]).status, 0);
    // Whoever reads the pipe gets a key, so that a reader is seen here and does not wait for ever.
    const writer = spawn('sh', ['-c', 'echo sk-of-the-pipe >"$0"', pipe], { stdio: 'ignore' });
    t.teardown(() => writer.kill('SIGKILL'));
    symlinkSync('/dev/zero', join(dir, 'device'));
    for (const name of ['pipe', 'device']) {
      const result = loaded(dir, `${ENTRY}      api_key_file: ${name}\n`);
      t.equal(result.ok, false, name);
      t.match(texts(result), new RegExp(`'${name}' is a pipe or a device, not a file`));
    }
    t.end();
  },
);

t.test('permissions that are too wide are a warning, unless Kubernetes mounted the file', async (t) => {
  const dir = folder(t);
  const text = `${ENTRY}      api_key_file: key\n`;
  write(dir, 'key', 'sk-a', 0o644);
  t.match(texts(loaded(dir, text)), /'key' may be read by every user of this machine - chmod 600/);
  write(dir, 'key', 'sk-a', 0o620);
  t.match(texts(loaded(dir, text)), /'key' may be written by other users/);
  write(dir, 'key', 'sk-a', 0o640);
  t.equal(texts(loaded(dir, text)), '', 'a group may read it');
  mkdirSync(join(dir, '..v1'));
  write(join(dir, '..v1'), 'mounted', 'sk-a', 0o644);
  symlinkSync('..v1', join(dir, '..data'));
  symlinkSync('..data/mounted', join(dir, 'mounted'));
  t.equal(texts(loaded(dir, `${ENTRY}      api_key_file: mounted\n`)), '');
});

t.test(
  'another content is another version; a model that is added meanwhile does not read the files again',
  async (t) => {
    const dir = folder(t);
    write(dir, 'key', 'sk-old');
    const text = `${ENTRY}      api_key_file: key\n`;
    const before = loaded(dir, text);
    t.ok(before.ok);
    if (!before.ok) return;
    t.equal(must(loaded(dir, text)).version, before.snapshot.version);
    writeFileSync(join(dir, 'new'), 'sk-new', { mode: 0o600 });
    renameSync(join(dir, 'new'), join(dir, 'key'));
    const after = must(loadConfig(join(dir, 'gateway.yaml'), {}));
    t.not(after.version, before.snapshot.version);
    t.equal(
      after.deployments[0]?.id,
      before.snapshot.deployments[0]?.id,
      'the deployment stays the same one',
    );
    const same = must(overlay(before.source, {}, []));
    t.equal(same.version, before.snapshot.version);
    t.equal(same.deployments[0]?.apiKey?.reveal(), 'sk-old');
    t.match(readFileSync(join(dir, 'key'), 'utf8'), 'sk-new');
  },
);

t.test('a model of /model/new may not name a file of this machine', async (t) => {
  const dir = folder(t);
  const key = write(dir, 'key', 'sk-a');
  const before = loaded(dir, ENTRY);
  if (!before.ok) throw new Error(texts(before));
  for (const name of ['api_key_file', 'API_KEY_FILE', 'master_key_file']) {
    const entry = {
      model_name: 'b',
      litellm_params: { model: 'litellm_proxy/b', api_base: 'https://other.example.com', [name]: key },
    };
    const snapshot = must(overlay(before.source, {}, [{ id: 'x', entry }]));
    t.equal(snapshot.deployments.length, 1);
    t.match(
      snapshot.disabled[0]?.issues[0]?.message,
      /names a file of the proxy, which models of \/model\/new must not/,
    );
  }
});
