// The command line as an operator meets it: help, exit codes, one clear sentence for each mistake. Real processes.
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { check } from '../../proxy/cli/check.ts';
import { demoGateway } from '../../proxy/cli/demo-gateway.ts';
import { explain } from '../../proxy/cli/explain.ts';
import { serve } from '../../proxy/cli/serve.ts';
import { spend } from '../../proxy/cli/spend.ts';
import { start } from '../../proxy/cli/start.ts';
import { UsageError, type Command } from '../../proxy/cli/terminal.ts';
import { folder, ROOT, runCli, startCli } from '../support/cli.ts';

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

const COMMANDS: readonly Command[] = [serve, start, check, explain, spend, demoGateway];

/** Runs a command within this process: 0.3 s less for each of many. main.ts turns UsageError into exit code 2. */
async function within(args: readonly string[]): Promise<unknown> {
  const [name, ...rest] = args;
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) throw new Error(`no command ${name}`);
  const terminal = {
    env: {},
    out: () => undefined,
    err: () => undefined,
    onSignal: () => undefined,
    cwd: dir,
    home: ROOT,
  };
  return command.run(rest, terminal).catch((error: unknown) => error);
}

t.test('--help tells of every command, and each command of its flags', async (t) => {
  const [overview, help, version] = await Promise.all([
    runCli(t, ['--help']),
    runCli(t, ['explain', '--config', 'x', '--help']),
    runCli(t, ['--version']),
  ]);
  t.match(overview, { code: 0, err: '' });
  t.match(help, { code: 0, err: '', out: explain.usage });
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
    spend: [
      'report',
      'export',
      'verify',
      'reconcile',
      '--data-dir',
      '--database-url',
      '--config',
      '--tolerance',
    ],
    'demo-gateway': ['--port', '--host', 'demo-echo', 'demo-429'],
  };
  t.same(
    COMMANDS.map(({ name }) => name),
    Object.keys(flags),
  );
  for (const { name, usage } of COMMANDS) {
    t.match(overview.out, new RegExp(`^  ${name} +\\w`, 'm'));
    for (const word of flags[name] ?? []) t.ok(usage.includes(word), `${name} --help names ${word}`);
  }
});

t.test('a wrong command line is answered with one sentence', async (t) => {
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['serve', '--bogus', '--config', good], /^Unknown option '--bogus'/],
    [['serve', 'stray', '--config', good], /^Unexpected argument 'stray'/],
    [['serve', '--config'], /'--config <value>' argument missing/],
    [['serve', '--config', good, '--port', '99999'], /^99999 is not a port \(0 to 65535\)/],
    [['serve', '--config', good, '--log-level', 'loud'], /^loud is not a log level \(debug, info/],
    [['start', '--bogus'], /^Unknown option '--bogus'/],
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
    [['explain', '--config', good, '--model', 'demo', '--body', '/no/such/file'], /\/no\/such\/file/],
    [['spend'], /^nothing is asked for - one of report, export, verify, reconcile, reprice/],
    [['spend', 'report'], /^the report is by nothing/],
    [['demo-gateway', '--port', 'x'], /^x is not a port/],
  ];
  for (const [args, says] of cases) {
    const error = (await within(args)) as Error & { readonly code?: string };
    t.ok(error instanceof UsageError || error.code?.startsWith('ERR_PARSE_ARGS') === true, args.join(' '));
    t.match(error.message, says);
    t.notMatch(error.message, /\n/);
  }
});

t.test('its exit code is 2, and nothing else is said', async (t) => {
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['frobnicate'], /there is no command frobnicate - see throughline --help/],
    [['--bogus'], /--bogus/],
    [['serve'], /no configuration is named - give --config FILE or set CONFIG_FILE_PATH/],
    [['check', '--bogus'], /Unknown option '--bogus'/],
  ];
  const ends = await Promise.all(cases.map(([args]) => runCli(t, args)));
  for (const [at, [args, says]] of cases.entries()) {
    t.match(ends[at], { code: 2, out: '', err: SENTENCE }, args.join(' '));
    t.match(ends[at], { err: says });
  }
  t.match(await runCli(t, []), { code: 2, out: /throughline COMMAND --help tells more/ });
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
  for (const [args, says] of cases) {
    const { code, out, err } = await runCli(t, args);
    t.equal(code, 1, args.join(' '));
    t.equal(out, '');
    t.match(err, SENTENCE);
    t.match(err, says);
  }
});

t.test('check prints every issue with its place and exits 1; 0 for a good one', async (t) => {
  const wrong = await runCli(t, ['check', '--config', bad]);
  t.equal(wrong.code, 1);
  const lines = wrong.out.trim().split('\n');
  for (const line of lines) t.match(line, /^(error|warning): .*bad\.yaml:\d+:\d+ .+ - .+$/);
  t.match(wrong.out, /bad\.yaml:5:\d+ model_list\[0\]\.litellm_params\.api_base: .*\/v1/);
  t.match(wrong.out, /bad\.yaml:8:\d+ model_list\[1\]\.litellm_params\.model: .*litellm_proxy\/.*openai\//s);
  t.match(wrong.out, /bad\.yaml:10:\d+ .*general_setings.*general_settings/);
  t.match(wrong.err, /^\d issues; this configuration cannot be served\n$/);
  const errors = lines.filter((line) => line.startsWith('error')).length;
  t.ok(wrong.err.startsWith(`${errors} `));

  const right = await runCli(t, ['check', '--config', good]);
  t.equal(right.code, 0);
  t.match(right.out, /^ok: 1 model entries, version [0-9a-f]{12}, 0 warnings\n$/m);
  t.equal(right.err, '');
  const missing = await runCli(t, ['check', '--config', join(dir, 'none.yaml')]);
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
    const answer = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model, messages: [] }),
    });
    t.equal(answer.status, 200);
    t.match(await answer.json(), { choices: [{ finish_reason: 'stop' }] });
  }
  demo.kill('SIGTERM');
  t.match(await demo.ended, { code: 0 });
});
