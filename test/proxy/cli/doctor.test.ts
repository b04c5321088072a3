// The command line of the doctor: exit codes, text for people, JSON alone, the bundle.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { folder, ROOT, runWithin } from '../../support/cli.ts';
import { entry } from '../doctor/fixture/diagnose.ts';

const ENV = { GW_KEY: 'sk-gateway-secret-1', PORT: '1' };

async function place(t: { teardown(act: () => unknown): unknown }, more = ''): Promise<string> {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const cwd = folder(t);
  writeFileSync(
    join(cwd, 'gateway.yaml'),
    `model_list:\n${entry('a', 'litellm_proxy/demo-model', demo.url)}${more}`,
  );
  return cwd;
}

t.test('text: passes fold into a count, the verdict is the last line', async (t) => {
  const cwd = await place(t, entry('b', 'openai/m', 'http://nowhere.invalid/v1'));
  const { code, out } = await runWithin(['doctor', '--config', 'gateway.yaml'], { cwd, env: ENV });
  t.equal(code, 1);
  t.match(out, /ok {7}http:\/\/127\.0\.0\.1:\d+, entry a: \d checks \(/);
  t.match(
    out,
    /error {4}TL-1401 \(network\) {2}gateway\.yaml:10 {2}http:\/\/nowhere\.invalid, entry b\n {11}seen {4}/,
  );
  t.match(out.trimEnd().split('\n').at(-1), /^verdict {2}1 error; at fault: network \(TL-1401\) \(/);
  t.notOk(out.includes('\u001b'), 'no colour where a program reads');
  const verbose = await runWithin(['doctor', '--config', 'gateway.yaml', '--verbose'], { cwd, env: ENV });
  t.match(verbose.out, /ok {7}this machine: node: Node\.js/);
});

t.test('--json is alone on stdout, and is what schemas/doctor.json describes', async (t) => {
  const cwd = await place(t, entry('b', 'openai/m', 'http://nowhere.invalid/v1'));
  const ended = await runWithin(['doctor', '--config', 'gateway.yaml', '--json', '--send'], {
    cwd,
    env: ENV,
  });
  t.equal(ended.code, 1);
  t.match(
    ended.err,
    /^--send makes up to \d calls? of 120 tokens at most[^\n]*\n\n$/,
    'the price comes first',
  );
  const report: unknown = JSON.parse(ended.out);
  const schema = JSON.parse(readFileSync(join(ROOT, 'schemas/doctor.json'), 'utf8')) as object;
  const isValid = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);
  t.ok(isValid(report), JSON.stringify(isValid.errors));
});

t.test('what is wrong with the command line', async (t) => {
  const cwd = await place(t);
  for (const [args, said] of [
    [[], /no configuration is named/],
    [['--config', 'gateway.yaml', '--only', 'gatway'], /did you mean gateway/],
    [['--config', 'gateway.yaml', '--mute', 'TL-9999'], /--mute TL-9999 is not known/],
    [['--config', 'gateway.yaml', '--wait', 'long'], /--wait long is no time/],
    [['--config', 'gateway.yaml', '--model', 'b'], /--model b is not known - .*One of a|one of a/],
    [['--config', 'gateway.yaml', '--wait', '60s', '--send'], /wait first, then send/],
    [['--config', 'gateway.yaml', '--timeout', '0'], /--timeout must be above 0/],
    [['--url', 'ftp://x'], /--url is no URL/],
    [['--url', 'http://user:hunter22@x'], /names a user/],
    [['--url', 'http://x/?key=hunter22'], /a query/],
  ] as const) {
    await t.rejects(runWithin(['doctor', ...args], { cwd, env: ENV }), { name: 'UsageError', message: said });
    await runWithin(['doctor', ...args], { cwd }).catch((error: Error) =>
      t.notMatch(error.message, /hunter22/),
    );
  }
});

t.test('a configuration that is not there, or not YAML, is a finding and no crash', async (t) => {
  const cwd = folder(t);
  const none = await runWithin(['doctor', '--config', 'none.yaml', '--json'], { cwd, env: ENV });
  t.equal(none.code, 1);
  t.match(none.out, /TL-1101/);
  writeFileSync(join(cwd, 'odd.yaml'), 'model_list: [');
  const odd = await runWithin(['doctor', '--config', 'odd.yaml', '--json'], { cwd, env: ENV });
  t.equal(odd.code, 1);
  t.match(odd.out, /"place": "odd\.yaml:1"/);
  t.match(odd.out, /the configuration cannot be read far enough/);
});

t.test('the grace period of the pod', async (t) => {
  const cwd = await place(t, 'general_settings: { drain_seconds: 600 }\n');
  const run = (grace: string): Promise<{ readonly code: number; readonly out: string }> =>
    runWithin(['doctor', '--config', 'gateway.yaml', '--only', 'configuration', '--grace', grace], {
      cwd,
      env: ENV,
    });
  t.match(await run('30'), { code: 1, out: /TL-1107.*\n.*seen.*600.*30 s/ });
  t.match(await run('700'), { code: 0 });
});

t.test('keys that stand in the file', async (t) => {
  const cwd = await place(t, 'general_settings: { master_key: sk-pasted-master-1 }\n');
  const { code, out } = await runWithin(['doctor', '--config', 'gateway.yaml', '--only', 'configuration'], {
    cwd,
    env: ENV,
  });
  t.equal(code, 0);
  t.match(out, /TL-1103 \(configuration\) {2}gateway\.yaml:7/);
  t.notMatch(out, /pasted-master/);
});

t.test(
  'entries whose answers state another model than clients ask for are named, and are no fault',
  async (t) => {
    const own = (name: string, more = ''): string =>
      `  - { model_name: ${name}, litellm_params: { model: anthropic/claude-x, api_key: os.environ/GW_KEY${more} } }\n`;
    const cwd = folder(t);
    const run = (text: string): Promise<{ readonly code: number; readonly out: string }> => {
      writeFileSync(join(cwd, 'gateway.yaml'), text);
      return runWithin(['doctor', '--config', 'gateway.yaml', '--only', 'configuration'], { cwd, env: ENV });
    };
    const list = `model_list:\n${own('claude-x')}${own('mine')}${own('asked', ', answer_model: asked')}`;
    const { code, out } = await run(list);
    t.equal(code, 0);
    t.match(out, /TL-1108 \(configuration\) {2}gateway\.yaml:3/);
    t.match(out, /clients ask for mine, the answer states claude-x/);
    t.equal(out.split('TL-1108').length, 2, 'the others are not');
    t.notMatch((await run(`${list}general_settings: { answer_model: asked }\n`)).out, /TL-1108/);
  },
);

t.test('--bundle: for a support case, without secrets, not over another file', async (t) => {
  const cwd = await place(t, 'general_settings: { master_key: sk-pasted-master-1 }\n');
  const command = ['doctor', '--config', 'gateway.yaml', '--bundle', 'bundle.json'];
  await runWithin(command, { cwd, env: ENV });
  const text = readFileSync(join(cwd, 'bundle.json'), 'utf8');
  t.match(JSON.parse(text), {
    schema: 'throughline-bundle/1',
    settings: { entries: [{ model_name: 'a', has_key: true }] },
  });
  t.notMatch(text, /sk-|pasted/);
  t.equal(statSync(join(cwd, 'bundle.json')).mode & 0o777, 0o600);
  await t.rejects(runWithin(command, { cwd, env: ENV }), /it is there already/);
});

t.test('--wait goes on until no error is left', async (t) => {
  const demo = await startDemoGateway();
  const cwd = folder(t);
  writeFileSync(
    join(cwd, 'gateway.yaml'),
    `model_list:\n${entry('a', 'litellm_proxy/demo-model', demo.url)}`,
  );
  const { port } = demo;
  await demo.close();
  const waiting = runWithin(['doctor', '--config', 'gateway.yaml', '--wait', '5m'], { cwd, env: ENV });
  const again = await startDemoGateway({ port });
  t.teardown(() => again.close());
  t.equal((await waiting).code, 0);
});
