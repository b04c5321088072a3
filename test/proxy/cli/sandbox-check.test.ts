// `throughline sandbox-check` with a small agent in place of a real one: what it says of a sandbox that works, and of
// each thing that may be wrong with one. The real program where its end matters; faults within this process, which is
// 1 s of CPU less for each. Nothing may be left behind either way.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { bubblewrapFor } from '../../../platform/sandboxes/isolation.ts';
import { markedProcesses } from '../../../platform/sandboxes/process-table.ts';
import { folder, runCli, runWithin, startCli, type Ended } from '../../support/cli.ts';
import { RUN, RUN_MARK } from '../../support/process-cleanup.ts';
import { beforeNextLook } from '../../support/patience.ts';

const RUNTIME = fileURLToPath(new URL('../../platform/fixture/agent-runtime.ts', import.meta.url));
const SUPPORT = fileURLToPath(new URL('../../support', import.meta.url));
const PATH = process.env['PATH'] ?? '';
const NO_BUBBLEWRAP = (await bubblewrapFor('auto', PATH)) === null && 'bubblewrap does not work here';

interface Spec {
  readonly fault?: string;
  readonly command?: readonly string[];
  readonly readable?: readonly string[];
  readonly more?: readonly string[];
  readonly isolation?: string;
  readonly startTimeoutS?: number;
}

/** A configuration file with one spec, in a folder of its own. */
function configured(t: Test, spec: Spec): { readonly config: string; readonly dataDir: string } {
  const place = folder(t);
  const config = join(place, 'gateway.yaml');
  const fault = spec.fault === undefined ? [] : ['--fault', spec.fault];
  const agent = [process.execPath, RUNTIME, '--port', '{port}', ...fault];
  // NODE_OPTIONS: the test runner names a file for each program that a test starts, and a sandbox does not see it.
  const command = spec.command ?? ['env', '-u', 'NODE_OPTIONS', ...agent];
  const readable = spec.readable ?? [dirname(process.execPath), dirname(RUNTIME), SUPPORT];
  writeFileSync(
    config,
    `model_list: []
platform:
  session_api_key: sk-of-the-server
  secret_key: ${randomBytes(32).toString('base64')}
  sandbox: { isolation: ${spec.isolation ?? 'none'}, start_timeout_seconds: ${spec.startTimeoutS ?? 600} }
  sandbox_specs:
    - id: other
      command: [sh]
    - id: agent
      command: ${JSON.stringify(command)}
      readable_paths: ${JSON.stringify(readable)}
      initial_env: { ${RUN_MARK}: "${RUN}" }
      conversations_path: /api/conversations
${(spec.more ?? []).map((line) => `      ${line}\n`).join('')}`,
  );
  return { config, dataDir: join(place, 'data') };
}

type Run = (
  args: readonly string[],
  options: { readonly env: Readonly<Record<string, string>> },
) => Promise<Pick<Ended, 'code' | 'out' | 'err'>>;

async function checked(
  t: Test,
  spec: Spec,
  args: readonly string[] = [],
  run: Run = runWithin,
): ReturnType<Run> {
  const { config, dataDir } = configured(t, spec);
  const flags = ['--config', config, '--data-dir', dataDir, '--spec', 'agent', ...args];
  const ended = await run(['sandbox-check', ...flags], { env: { PATH } });
  t.same(readdirSync(dirname(config)), ['gateway.yaml'], 'nothing is left of its data');
  return ended;
}

t.test('a sandbox that works: each step is told, nothing is left behind', async (t) => {
  const { code, out, err } = await checked(t, {}, [], (args, options) => runCli(t, args, options));
  t.equal(err, '');
  t.match(out, /^sandbox "agent" of .*gateway\.yaml, driver process\n/);
  const steps = [...out.matchAll(/^(ok|warning) +(.+?) {2,}/gm)].map(
    ([, status, step]) => `${status} ${step}`,
  );
  t.match(out, /^ok +start +healthy after [\d.]+ s, READY after [\d.]+ s/m);
  t.match(out, /^ok +LLM call +it arrived with the conversation's session id [\da-f-]{36} /m);
  t.match(out, /^ok +command +the agent ran a command in the sandbox/m);
  t.match(
    out,
    /^warning +isolation +the sandbox can read .*gateway\.yaml and .*platform\.db \(isolation: none\)/m,
  );
  t.match(out, /^ok +spend rows +\d calls stand in the spend records/m);
  t.match(out, /^ok +pause and resume /m);
  t.match(out, /^ok +after the pause +the agent answered a second message/m);
  t.match(out, /\nthis sandbox works, with 1 warnings\n$/);
  t.ok(steps.length >= 5);
  t.equal(code, 0);
});

t.test('behind bubblewrap the configuration cannot be read', { skip: NO_BUBBLEWRAP }, async (t) => {
  const { code, out } = await checked(t, { isolation: 'bubblewrap' });
  t.match(out, /^ok +isolation +the configuration and the server's data cannot be read/m);
  t.match(out, /\nthis sandbox works\n$/);
  t.equal(code, 0);
});

t.test('--json: one document', async (t) => {
  const { code, out } = await checked(t, { fault: 'no terminal' }, ['--json']);
  const result = JSON.parse(out) as {
    readonly ok: boolean;
    readonly steps: readonly { step: string; status: string }[];
  };
  t.match(result, { spec: 'agent', ok: true, log: [] });
  t.match(
    result.steps.find(({ step }) => step === 'command'),
    { status: 'warning', detail: /offered no tools/, fix: /isolation was not looked at/ },
  );
  t.notOk(result.steps.some(({ step }) => step === 'isolation'));
  t.equal(code, 0);
});

const FAULTS: readonly (readonly [
  what: string,
  spec: Spec,
  step: string,
  says: RegExp,
  fix: RegExp,
  args?: readonly string[],
])[] = [
  [
    'a command that is not there',
    { command: ['/nowhere/agent-server', '{port}'] },
    'start',
    /the command \/nowhere\/agent-server was not found/,
    /whole path of the program/,
  ],
  [
    'a command that ends',
    { command: ['sh', '-c', 'echo "No module named \'openhands\'" >&2; exit 3'] },
    'start',
    /the command ended with code 3/,
    /install them into the environment that command names/,
  ],
  [
    'a wrong health path',
    { more: ['health_path: /healthy'] },
    'start',
    /GET \/healthy with 401, and GET \/alive with 200/,
    /set health_path: \/alive/,
  ],
  [
    'never healthy',
    { fault: 'sick', startTimeoutS: 1 },
    'start',
    /its runtime was not ready within 1 s/,
    /raise platform\.sandbox\.start_timeout_seconds \(now 1\), or correct health_path \(\/alive\)/,
  ],
  [
    'a command without its port',
    { command: ['sleep', '600'], startTimeoutS: 1 },
    'start',
    /its runtime was not ready within 1 s/,
    /write '\{port\}' where the command takes its port/,
  ],
  [
    'a conversation that is refused',
    { fault: 'refuses' },
    'start',
    /the runtime refused the conversation with 422/,
    /conversations_path \(\/api\/conversations\) must take/,
  ],
  [
    'an agent that does not call',
    { fault: 'never calls' },
    'LLM call',
    /the agent did not call the LLM within 1 s/,
    /must call the base_url/,
    ['--patience', '1'],
  ],
  [
    'an agent with another key',
    { fault: 'wrong key' },
    'LLM call',
    /did not call the LLM.*; the agent says: the LLM answered 401/,
    /initial_env must override neither/,
  ],
];

for (const [what, spec, step, says, fix, args] of FAULTS)
  t.test(`${what}: told in words, with what helps`, async (t) => {
    const { code, out } = await checked(t, spec, args);
    const lines = out.split('\n');
    const at = lines.findIndex((line) => line.startsWith(`failed   ${step} `));
    t.match(lines[at], says, out);
    t.match(lines[at + 1], fix);
    t.match(out, /\nthis sandbox does not work\n$/);
    t.equal(code, 1);
  });

t.test('an interpreter outside the sandbox is named', { skip: NO_BUBBLEWRAP }, async (t) => {
  const spec = {
    isolation: 'bubblewrap',
    readable: [],
    command: [process.execPath, RUNTIME, '--port', '{port}'],
  };
  const { code, out } = await checked(t, spec);
  t.match(out, /^failed +start +the command .* is not in the sandbox - add its folder to readable_paths/m);
  t.equal(code, 1);
});

t.test('a runtime that takes no second message is a warning', async (t) => {
  const { code, out } = await checked(t, { fault: 'one message' });
  t.match(out, /^warning +after the pause +the runtime answered a second message with 404/m);
  t.equal(code, 0);
});

t.test('Ctrl-C removes the sandbox', async (t) => {
  const { config, dataDir } = configured(t, { fault: 'sick' });
  const flags = ['--config', config, '--data-dir', dataDir, '--spec', 'agent'];
  const cli = startCli(t, ['sandbox-check', ...flags], { env: { PATH } });
  await cli.said(/driver process\n/);
  for (;;) {
    // The data directory is there a moment before the folder of its sandboxes is.
    const [check] = existsSync(join(dataDir, 'sandboxes')) ? readdirSync(join(dataDir, 'sandboxes')) : [];
    if (check !== undefined && (await markedProcesses(join(dataDir, 'sandboxes', check))).length > 0) break;
    await beforeNextLook();
  }
  cli.kill('SIGINT');
  t.match(await cli.ended, { code: 130, err: /interrupted; the sandbox is removed/ });
  t.same(readdirSync(dirname(config)), ['gateway.yaml']);
});

t.test('what cannot be checked is refused with a sentence', async (t) => {
  const { config } = configured(t, {});
  const flags = ['sandbox-check', '--config', config];
  await t.rejects(runWithin([...flags, '--spec', 'agnet']), {
    name: 'UsageError',
    message: /--spec agnet is not known - one of other, agent$/,
  });
  await t.rejects(runWithin([...flags, '--patience', 'long']), {
    name: 'UsageError',
    message: /--patience long is no number/,
  });
  const pods = join(dirname(config), 'pods.yaml');
  const text = readFileSync(config, 'utf8').replace('{ isolation: none,', '{ driver: kubernetes,');
  writeFileSync(pods, text.replaceAll('command:', 'image: example/agent-server\n      command:'));
  await t.rejects(runWithin(['sandbox-check', '--config', pods]), {
    name: 'CannotStart',
    message: /give --address/,
  });
  const plain = join(dirname(config), 'plain.yaml');
  writeFileSync(plain, 'model_list: []\n');
  await t.rejects(runWithin(['sandbox-check', '--config', plain]), {
    name: 'CannotStart',
    message: /no platform\.sandbox_specs - see config\/samples\/platform-openhands\.yaml/,
  });
});
