// Exit codes, as docs/command-line.md lists them, and bad input of every kind: one sentence, no stack, nothing half-written.
import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { UsageError } from '../../proxy/cli/terminal.ts';
import { CannotStart, ConfigRefused } from '../../proxy/errors/cannot-start.ts';
import { MAIN, ROOT, folder, runCli, runWithin, serveCli, type CliOptions } from '../support/cli.ts';

const GOOD = `model_list:
  - model_name: a
    litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:9" }
`;
const OTHER = GOOD.replace('model_name: a', 'model_name: b');

function place(t: Parameters<typeof folder>[0]): string {
  const dir = folder(t);
  writeFileSync(join(dir, 'good.yaml'), GOOD);
  writeFileSync(join(dir, 'other.yaml'), OTHER);
  writeFileSync(join(dir, 'bad.yaml'), 'model_list: [');
  mkdirSync(join(dir, 'folder'));
  writeFileSync(join(dir, 'binary.yaml'), Buffer.from([0xff, 0xfe, 0x00, 0x80]));
  writeFileSync(join(dir, 'large.yaml'), '');
  truncateSync(join(dir, 'large.yaml'), 100_000_000);
  symlinkSync('loop.yaml', join(dir, 'loop.yaml'));
  writeFileSync(join(dir, 'locked.yaml'), GOOD);
  chmodSync(join(dir, 'locked.yaml'), 0o000);
  return dir;
}

/** A shell that runs the program: `$P check ... > /dev/full`. */
const shell = (line: string): CliOptions => ({
  command: ['/bin/bash', '-c', `set -o pipefail; P="${process.execPath} ${MAIN}"; ${line}`],
});

/** A command line within this process, with the exit code that main.ts gives it; 70 for anything that is a bug. */
async function ended(args: readonly string[], cwd: string): Promise<{ code: number; said: string }> {
  try {
    const { code, out, err } = await runWithin(args, { cwd });
    return { code, said: out + err };
  } catch (error) {
    if (error instanceof ConfigRefused) return { code: 1, said: error.issues.map(formatIssue).join('\n') };
    if (error instanceof CannotStart) return { code: 1, said: error.message };
    if (error instanceof UsageError) return { code: 2, said: error.message };
    return { code: 70, said: String(error) };
  }
}

t.test('each exit code of the page comes about', async (t) => {
  const dir = place(t);
  const page = readFileSync(join(ROOT, 'docs', 'command-line.md'), 'utf8');
  const table = page.slice(page.indexOf('## Exit codes'), page.indexOf('What "no" is'));
  const listed = [...table.matchAll(/^\| (\d+) /gm)].map(([, code]) => Number(code));
  const broken = join(dir, 'broken.mjs');
  writeFileSync(broken, 'Array.prototype.toSorted = () => { throw new Error("planted"); };');
  const { privateKey } = generateKeyPairSync('x25519');
  writeFileSync(join(dir, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const cases: readonly (readonly [code: number, args: readonly string[], options?: CliOptions])[] = [
    [0, ['check', '--config', 'good.yaml']],
    [1, ['check', '--config', 'bad.yaml']],
    [2, ['check', '--bogus']],
    [3, ['capsule', 'open', 'good.yaml', '--private-key', 'key.pem']],
    [70, ['check', '--config', 'bad.yaml'], { env: { NODE_OPTIONS: `--import ${broken}` } }],
    [74, [], shell('$P check --config good.yaml > /dev/full')],
    [0, [], shell('$P check --config good.yaml | true')],
  ];
  for (const [code, args, options = {}] of cases) {
    const ended = await runCli(t, args, { ...options, cwd: dir });
    t.equal(ended.code, code, `${args.join(' ')}\n${ended.err}`);
    t.equal(/\n\s+at /.test(ended.err), code === 70, 'a stack for a bug alone');
  }
  const within: readonly (readonly [code: number, args: readonly string[]])[] = [
    [0, ['diff', 'good.yaml', 'good.yaml']],
    [1, ['diff', 'good.yaml', 'other.yaml']],
    [2, ['diff', 'good.yaml', 'bad.yaml']],
  ];
  for (const [code, args] of within) t.equal((await ended(args, dir)).code, code, args.join(' '));
  const seen = new Set(cases.map(([code]) => code));
  t.strictSame(listed, [...[...seen].toSorted((a, b) => a - b), 130], '130: see sandbox-check.test.ts');
});

t.test('files that are none: each command says so in a sentence', async (t) => {
  const dir = place(t);
  const before = readdirSync(dir).toSorted();
  const files: Readonly<Record<string, RegExp>> = {
    folder: /is a folder|EISDIR|holds no key/,
    'binary.yaml': /not UTF-8|holds no key|body_not_utf8/,
    'large.yaml': /is 100000000 bytes large|holds no key|body_not_json/,
    'loop.yaml': /ELOOP/,
    'nowhere.yaml': /does not exist|ENOENT/,
    '/dev/zero': /holds more than|holds no key|is larger than/,
  };
  if (process.getuid?.() !== 0) Object.assign(files, { 'locked.yaml': /may not be read|EACCES/ });
  const commands: readonly (readonly [code: readonly number[], args: (file: string) => readonly string[]])[] =
    [
      [[1], (file) => ['check', '--config', file]],
      [[1], (file) => ['serve', '--config', file, '--port', '0']],
      [[1], (file) => ['import', 'litellm', file, '--out', 'out.yaml']],
      [[2], (file) => ['diff', 'good.yaml', file]],
      [[1, 2], (file) => ['explain', '--config', 'good.yaml', '--model', 'a', '--body', file]],
      [[2], (file) => ['keys', 'list', '--key-file', file]],
      [[1], (file) => ['spend', 'report', '--by', 'day', '--config', file]],
    ];
  for (const [file, says] of Object.entries(files)) {
    for (const [codes, args] of commands) {
      const { code, said } = await ended(args(file), dir);
      t.ok(codes.includes(code), `${args(file).join(' ')}: ${code}\n${said}`);
      t.match(said, says, args(file).join(' '));
    }
  }
  t.strictSame(readdirSync(dir).toSorted(), before, 'nothing is left behind');
});

t.test('outputs that cannot be written leave nothing behind', async (t) => {
  const dir = place(t);
  const before = readdirSync(dir).toSorted();
  const noFolder = 'its folder does not exist, or takes no files';
  const outputs = [
    ['folder', /E\w+/],
    ['nowhere/x', noFolder],
    ['good.yaml/x', 'its folder is a file'],
    ['/proc/x', noFolder],
    ['/dev/full/x', 'its folder is a file'],
  ] as const;
  for (const [out, why] of outputs) {
    const { code, said } = await ended(['import', 'litellm', 'other.yaml', '--out', out, '--force'], dir);
    t.equal(code, 1, out);
    const [, stated] = /^\S+ cannot be written \((.+)\) - nothing was written$/.exec(said) ?? [];
    t.match(stated, why, out);
  }
  t.strictSame(readdirSync(dir).toSorted(), before);
  t.match(await runCli(t, [], { ...shell('$P import litellm other.yaml > /dev/full'), cwd: dir }), {
    code: 74,
    err: /\nthroughline: the output cannot be written \(ENOSPC: .+\) - send it elsewhere\n$/,
  });
});

t.test('a folder that was removed while a shell stood in it is one sentence', async (t) => {
  const line = 'mkdir gone && cd gone && rmdir ../gone && $P check';
  t.match(await runCli(t, [], { ...shell(line), cwd: folder(t) }), {
    code: 1,
    out: '',
    err: /^throughline: the folder this runs in no longer exists - change to another one\n$/,
  });
});

t.test("spend needs the database's settings alone, not every secret of the file", async (t) => {
  const dir = folder(t);
  const model =
    'model_list: [{ model_name: a, litellm_params: { model: os.environ/NOT_SET, api_key_file: nowhere } }]';
  const url = 'postgresql://name@127.0.0.1:9/spend?connect_timeout=2';
  writeFileSync(
    join(dir, 'gateway.yaml'),
    `${model}\ngeneral_settings: { master_key: os.environ/NOT_SET, database_url: "${url}" }\n`,
  );
  const { code, said } = await ended(['spend', 'report', '--by', 'day', '--config', 'gateway.yaml'], dir);
  t.equal(code, 1);
  t.match(said, /127\.0\.0\.1:9/, 'it asks the database');
  t.notMatch(said, /NOT_SET|nowhere/);
});

t.test('signals of other servers for their logs neither end the process nor open a debugger', async (t) => {
  const dir = place(t);
  const proxy = await serveCli(t, join(dir, 'good.yaml'), join(dir, 'data'));
  proxy.kill('SIGUSR1');
  proxy.kill('SIGUSR2');
  proxy.kill('SIGTERM');
  const { code, signal, err } = await proxy.ended;
  t.same({ code, signal }, { code: 0, signal: null });
  t.notMatch(err, /Debugger/);
});
