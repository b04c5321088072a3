// The command line as an operator meets it: help, exit codes, one clear sentence for each mistake. Exit codes
// of the real program: main.test.ts.
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { UsageError } from '../../../proxy/cli/terminal.ts';
import { folder, helpOfAll, runCli, runWithin, startCli } from '../../support/cli.ts';

const GOOD = `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:1" }
`;
const BAD = `model_list:
  - model_name: one
    litellm_params:
      model: litellm_proxy/one
      api_base: http://gateway.example.com/v1
  - model_name: two
    litellm_params:
      model: bedrock/two
      api_base: http://gateway.example.com
general_setings:
  master_key: os.environ/NOT_SET
`;

const dir = folder(t);
const good = join(dir, 'good.yaml');
const bad = join(dir, 'bad.yaml');
const file = join(dir, 'file');
writeFileSync(good, GOOD);
writeFileSync(bad, BAD);
writeFileSync(file, '');

/** One sentence on stderr, none on stdout, and no stack. */
const SENTENCE = /^throughline: [^\n]+\n$/;

/** What went wrong with a command line, within this process. */
async function wrong(args: readonly string[]): Promise<unknown> {
  return runWithin(args, { cwd: dir }).catch((error: unknown) => error);
}

t.test('--help of verify and reprice says which days and which store they read', async (t) => {
  const plain = async (...args: string[]): Promise<string> =>
    (await runWithin([...args, '--help'])).out.replaceAll(/\s+/g, ' ');
  t.match(await plain('spend', 'verify'), /--since <day> .*\(default: all days\)/);
  t.match(
    await plain('spend', 'reprice'),
    /where neither the configuration nor the environment names a database/,
  );
});

t.test('--help tells of every command, and each command of its flags', async (t) => {
  const [overview, help, version] = await Promise.all([
    runWithin(['--help']),
    runWithin(['explain', '--config', 'x', '--help']),
    runWithin(['-v']),
  ]);
  t.match(overview, { code: 0, err: '' });
  t.match(help, { code: 0, err: '', out: /^Usage: throughline explain \[options\]\n/ });
  t.match(version, { code: 0, err: '', out: /^\d+\.\d+\.\d+\n$/ });
  const flags: Readonly<Record<string, readonly string[]>> = {
    serve: [
      '--config',
      '--host',
      '--port',
      '--data-dir',
      '--log-level',
      'PROXY_MASTER_KEY',
      'LITELLM_MASTER_KEY',
      'SIGHUP',
      'SIGTERM',
    ],
    start: ['--config', '--port'],
    check: ['--config'],
    explain: ['--config', '--model', '--header', '--body'],
    spend: ['report', 'export', 'verify', 'reconcile', 'reprice'],
    'spend report': ['--by', '"session"', '--since', '--data-dir', '--database-url', '--config', '--url'],
    'spend export': ['--format', '"parquet"', '--out'],
    'spend verify': ['--data-dir'],
    'spend reconcile': ['--tolerance', '--key-hash', '--csv'],
    'spend reprice': ['--apply', '--config'],
    'rotate-platform-key': ['PLATFORM_SECRET_KEY_NEW'],
    'sandbox-check': ['--config', '--data-dir', '--spec', '--json', '--patience'],
    'demo-gateway': ['--port', '--host', 'demo-echo', 'demo-429'],
  };
  for (const [name, words] of Object.entries(flags)) {
    if (!name.includes(' ')) t.match(overview.out, new RegExp(`^  ${name} +\\w`, 'm'));
    for (const args of [
      [...name.split(' '), '--help'],
      ['help', ...name.split(' ')],
    ]) {
      const { code, out } = await runWithin(args);
      t.equal(code, 0);
      t.match(out, new RegExp(`^Usage: throughline ${name} \\[options\\]`));
      for (const word of words) t.ok(out.includes(word), `${args.join(' ')} names ${word}`);
      for (const line of out.split('\n')) t.ok(line.length <= 120, line);
    }
  }
});

t.test('a description fills its lines', async (t) => {
  const width = process.stdout.isTTY ? process.stdout.columns : 80;
  const short: string[] = [];
  for (const [name, out] of await helpOfAll()) {
    const [, text = ''] = /^Usage: .*\n\n([^]*?)\n\n(?:Options|Arguments):/.exec(out) ?? [];
    t.not(text, '', `throughline ${name} is described`);
    const lines = text.split('\n');
    for (const [n, line] of lines.entries()) {
      const next = lines[n + 1]?.split(' ', 1)[0];
      if (next !== undefined && `${line} ${next}`.length < width) short.push(`${name}: ${line}`);
    }
  }
  t.same(short, []);
});

t.test('completion: a script for the shell, which asks the program itself', async (t) => {
  // The scripts of all shells are the library's.
  t.match(await runCli(t, ['completion', 'zsh']), { code: 0, err: '', out: /throughline/ });
  t.match(await runCli(t, ['complete', '--', 'spend', 're']), {
    code: 0,
    out: /^report\t.*\nreconcile\t.*\nreprice\t/,
  });
  t.match(await runCli(t, ['complete', '--', 'spend', 'report', '--by', '']), { out: /^session\b/m });
  for (const words of [[''], ['spend', ''], ['capsule', ''], ['serve', '--']]) {
    const { out } = await runCli(t, ['complete', '--', ...words]);
    const lines = out.trimEnd().split('\n');
    t.match(lines.pop(), /^:\d+$/);
    t.same(
      lines.filter((line) => !/^[\w-]+\t\S/.test(line)),
      [],
      'each line is one word and what it means',
    );
  }
});

t.test('a wrong command line is answered with one sentence', async (t) => {
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['serve', '--bogus', '--config', good], /^unknown option '--bogus' - see throughline serve --help/],
    [['keys', 'list', '--key', 'x'], /^unknown option '--key' - see throughline keys list --help/],
    [['keys', 'revoke'], /^missing required argument 'names' - see throughline keys revoke --help/],
    [['serv'], /^unknown command 'serv' - did you mean serve\?/],
    [['serve', '--confg', good], /^unknown option '--confg' - did you mean --config\?/],
    [['--confg', good], /^unknown option '--confg' - did you mean --config\?/],
    [['serve', 'stray', '--config', good], /^too many arguments for 'serve'.*stray - see/],
    [['serve', '--config'], /'--config <file>' argument missing/],
    [
      ['serve', '--config', good, '--port', '99999'],
      /^99999 is not a port - give a whole number from 0 to 65535/,
    ],
    [
      ['serve', '--config', good, '--log-level', 'loud'],
      /^--log-level loud is not known - one of debug, info/,
    ],
    [['start', '--bogus'], /^unknown option '--bogus'/],
    [['check'], /^no configuration is named/],
    [['explain', '--config', good], /^no model is named - give --model NAME/],
    [
      ['explain', '--config', good, '--model', 'demo', '--header', 'x'],
      /^x is not a header - write --header 'Name: value'/,
    ],
    [
      ['explain', '--config', good, '--model', 'demo', '--endpoint', 'x'],
      /^there is no endpoint x - one of chat\/completions/,
    ],
    [
      ['explain', '--config', good, '--model', 'demo', '--body', '/no/such/file'],
      /^the body \/no\/such\/file does not exist - check/,
    ],
    [['spend', 'report'], /^the report needs a grouping - give --by with one of session/],
    [['demo-gateway', '--port', 'x'], /^x is not a port/],
  ];
  for (const [args, says] of cases) {
    const error = (await wrong(args)) as Error;
    t.ok(error instanceof UsageError, args.join(' '));
    t.match(error.message, says);
    t.notMatch(error.message, /\n/);
  }
});

t.test('a variable that is wrong is named', async (t) => {
  await t.rejects(runWithin(['serve', '--config', good], { cwd: dir, env: { PORT: 'abc' } }), {
    name: 'UsageError',
    message: /^PORT abc is not a port - give a whole number/,
  });
  await t.rejects(runWithin(['serve', '--config', good], { cwd: dir, env: { NUM_WORKERS: 'x' } }), {
    name: 'UsageError',
    message: /^NUM_WORKERS x is not a number of workers - give a whole number of 1 to 128, or auto/,
  });
});

t.test('its exit code is 2, and nothing else is said', async (t) => {
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['frobnicate'], /unknown command 'frobnicate' - see throughline --help/],
    [['--bogus'], /--bogus/],
    [['serve'], /no configuration is named - give --config FILE or set CONFIG_FILE_PATH/],
    [['check', '--bogus'], /unknown option '--bogus'/],
  ];
  for (const [args, says] of cases)
    await t.rejects(runWithin(args), { name: 'UsageError', message: says }, args.join(' '));
  const ended = await runCli(t, ['frobnicate']);
  t.match(ended, { code: 2, out: '', err: SENTENCE });
  t.match(ended, { err: /unknown command 'frobnicate'/ });
  t.match(await runWithin([]), { code: 2, out: /throughline COMMAND --help tells more/ });
});

t.test('what hinders a start is answered with one sentence and exit code 1', async (t) => {
  const holder = createServer();
  await new Promise<void>((resolve) => {
    holder.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => holder.close());
  const port = String((holder.address() as AddressInfo).port);
  const serve = ['serve', '--config', good, '--data-dir', join(dir, 'data')];
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [
      [...serve, '--port', port],
      new RegExp(`port ${port} of 127\\.0\\.0\\.1 is in use - stop what listens there, or use --port`),
    ],
    [['demo-gateway', '--port', port], new RegExp(`cannot listen on 127\\.0\\.0\\.1:${port}`)],
    [
      ['serve', '--config', good, '--data-dir', file, '--port', '0'],
      /the data directory .* cannot be used .* --data-dir/,
    ],
    [
      [...serve, '--port', '0', '--host', '0.0.0.0'],
      /no master key is configured, so 0\.0\.0\.0 would be open to everybody - set/,
    ],
  ];
  for (const [args, says] of cases) await t.rejects(runWithin(args), { name: 'CannotStart', message: says });
});

t.test('check prints every issue with its place and exits 1; 0 for a good one', async (t) => {
  const wrong = await runWithin(['check', '--config', bad]);
  t.equal(wrong.code, 1);
  const lines = wrong.out.trim().split('\n');
  for (const line of lines) t.match(line, /^(error|warning): .*bad\.yaml:\d+:\d+ .+ - .+$/);
  t.match(wrong.out, /bad\.yaml:5:\d+ model_list\[0\]\.litellm_params\.api_base: .*\/v1/);
  t.match(wrong.out, /bad\.yaml:8:\d+ model_list\[1\]\.litellm_params\.model: .*litellm_proxy\//);
  t.match(wrong.out, /bad\.yaml:10:\d+ .*general_setings.*general_settings/);
  t.match(wrong.err, /^note: .*\n(.*\n)*\d issues; this configuration cannot be served\n$/);
  const errors = lines.filter((line) => line.startsWith('error')).length;
  t.ok(wrong.err.includes(`\n${errors} issues`));

  const right = await runWithin(['check', '--config', good]);
  t.equal(right.code, 0);
  t.match(
    right.out,
    /^ok: 1 model entries, version [0-9a-f]{12}, 0 warnings\nnote: nobody is authenticated: .*\n$/,
  );
  t.equal(right.err, '');
  const missing = await runWithin(['check', '--config', join(dir, 'none.yaml')]);
  t.equal(missing.code, 1);
  t.match(missing.out, /none\.yaml the file does not exist - /);
});

t.test('serve refuses what check refuses, with the same issues', async (t) => {
  const served = await runCli(t, ['serve', '--config', bad, '--port', '0', '--data-dir', join(dir, 'data')]);
  t.equal(served.code, 1);
  t.match(
    served.err,
    /bad\.yaml:5:\d+ .*\n(.*\n)*throughline: the configuration has \d issues; nothing was started\n$/,
  );
});

t.test('demo-gateway prints its addresses, answers there, and ends with a signal', async (t) => {
  const demo = startCli(t, ['demo-gateway', '--port', '0']);
  const [, proxy = '', compat = ''] = await demo.said(
    /proxy-type api_base (http:\S+), compat-type api_base (http:\S+)\n/,
  );
  t.equal(compat, `${proxy}/compat/v1`);
  for (const [base, model] of [
    [`${proxy}/v1`, 'demo'],
    [compat, 'acme/demo'],
  ] as const) {
    const response = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model, messages: [] }),
    });
    t.equal(response.status, 200);
    t.match(await response.json(), { choices: [{ finish_reason: 'stop' }] });
  }
  demo.kill('SIGTERM');
  t.match(await demo.ended, { code: 0 });
});
