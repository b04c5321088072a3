// `throughline import litellm`: where the result and the report go, what is never overwritten, what ends with 1.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CannotStart } from '../../../proxy/errors/cannot-start.ts';
import { folder, runWithin } from '../../support/cli.ts';

const GOOD = `# ours
model_list:
  - model_name: a
    litellm_params: { model: gpt-4o }
`;

function place(t: Parameters<typeof folder>[0]): (...args: string[]) => ReturnType<typeof runWithin> {
  const dir = folder(t);
  writeFileSync(join(dir, 'litellm.yaml'), GOOD);
  writeFileSync(join(dir, 'lossy.yaml'), `${GOOD}general_settings: { custom_auth: x.y }\n`);
  writeFileSync(join(dir, 'stuck.yaml'), `${GOOD}general_settings: { max_parallel_requests: many }\n`);
  return (...args) => runWithin(['import', 'litellm', ...args], { cwd: dir });
}

t.test('the result goes to stdout and the report to stderr; with --out the report has stdout', async (t) => {
  const dir = folder(t);
  writeFileSync(join(dir, 'litellm.yaml'), GOOD);
  const run = (...args: string[]) => runWithin(['import', 'litellm', ...args], { cwd: dir });
  const piped = await run('litellm.yaml');
  t.match(piped, {
    code: 0,
    out: /^# ours\nmodel_list:\n/,
    err: /\n5 fields: |\nenvironment variables to set: OPENAI_API_KEY\n/,
  });
  const written = await run('litellm.yaml', '--out', 'gateway.yaml');
  t.match(written, {
    code: 0,
    err: '',
    out: /written: gateway\.yaml - next: throughline check --config gateway\.yaml\n$/,
  });
  const text = readFileSync(join(dir, 'gateway.yaml'), 'utf8');
  t.match(text, /^# yaml-language-server: \$schema=.*schemas\/editor\.json\n# ours\nmodel_list:\n/);
  t.equal(statSync(join(dir, 'gateway.yaml')).mode & 0o777, 0o600);
  t.match(
    await runWithin(['check', '--config', 'gateway.yaml'], { cwd: dir, env: { OPENAI_API_KEY: 'sk-x' } }),
    { code: 0 },
  );
  await t.rejects(
    run('litellm.yaml', '--out', 'gateway.yaml'),
    new CannotStart('gateway.yaml exists already - name another file, or replace it with --force'),
  );
  t.match(await run('litellm.yaml', '--out', 'gateway.yaml', '--force'), { code: 0 });
  t.equal(readFileSync(join(dir, 'gateway.yaml'), 'utf8'), text, 'the same bytes');
  t.match(await run('gateway.yaml', '--out', 'again.yaml'), { code: 0 });
  t.equal(readFileSync(join(dir, 'again.yaml'), 'utf8'), text, 'and from its own result');
  t.strictSame(readdirSync(dir).toSorted(), ['again.yaml', 'gateway.yaml', 'litellm.yaml']);
});

t.test('--strict, --report json, --all', async (t) => {
  const run = place(t);
  t.match(await run('lossy.yaml'), {
    code: 0,
    err: /unsupported\n {2}lossy\.yaml:5 general_settings\.custom_auth: it protected/,
  });
  t.match(await run('lossy.yaml', '--strict'), { code: 1 });
  t.match(await run('litellm.yaml', '--strict'), { code: 0 });
  t.match(await run('stuck.yaml'), {
    code: 1,
    err: /the result cannot be served yet:\n {2}general_settings\.max_parallel_requests/,
  });
  t.notMatch((await run('litellm.yaml')).err, /^exact$/m);
  t.match((await run('litellm.yaml', '--all')).err, /^exact\n {2}litellm\.yaml:3 /m);
  const { out, code } = await run('lossy.yaml', '--report', 'json', '--out', 'x.yaml');
  t.equal(code, 0);
  t.match(JSON.parse(out), {
    version: 1,
    source: 'litellm',
    loads: true,
    counts: { unsupported: 1 },
    findings: [{ level: 'exact', file: 'lossy.yaml', line: 3, path: 'model_list[0].model_name' }],
    comments_left_out: [],
    master_key_added: 'os.environ/LITELLM_MASTER_KEY',
    variables: ['LITELLM_MASTER_KEY', 'OPENAI_API_KEY'],
    unresolved: [],
  });
});

t.test(
  'what only custom_auth or tokens guarded is not served open: the result asks for a master key',
  async (t) => {
    const dir = folder(t);
    const env = { OPENAI_API_KEY: 'sk-x' };
    const run = (...args: string[]) => runWithin(args, { cwd: dir, env });
    const imported = async (settings: string) => {
      writeFileSync(join(dir, 'in.yaml'), `${GOOD}${settings}`);
      return run('import', 'litellm', 'in.yaml', '--out', 'out.yaml', '--force');
    };
    for (const guard of ['custom_auth: x.y', 'enable_jwt_auth: true', 'custom_auth: x.y, master_key: null']) {
      const { code, out } = await imported(`general_settings: { ${guard} }\n`);
      t.equal(code, 0);
      t.match(
        out,
        /\nprotected something in LiteLLM, and nothing enforces it in the result:\n {2}general_settings\.\w+_auth\n/,
      );
      t.match(
        out,
        /\ngeneral_settings\.master_key: os\.environ\/LITELLM_MASTER_KEY was added: .* nobody would be authenticated/,
      );
      t.match(await run('check', 'out.yaml'), { code: 1, out: /LITELLM_MASTER_KEY is not set/ });
      t.match(
        await runWithin(['check', 'out.yaml'], { cwd: dir, env: { ...env, LITELLM_MASTER_KEY: 'sk-m' } }),
        { code: 0 },
      );
    }
    const keyed = await imported('general_settings: { custom_auth: x.y, master_key: os.environ/OURS }\n');
    t.notMatch(keyed.out, /was added/);
    const harmless = await imported('litellm_settings: { set_verbose: true, guardrails: [{ pii: {} }] }\n');
    t.match(harmless.out, /enforces it in the result:\n {2}litellm_settings\.guardrails\n/);
    t.notMatch(harmless.out, /was added/);
  },
);

t.test('a result that serves anybody says so at the top of its report', async (t) => {
  const run = place(t);
  const open =
    /^nobody is authenticated by the result: .* unless PROXY_MASTER_KEY or LITELLM_MASTER_KEY is set there - write general_settings/s;
  t.match((await run('litellm.yaml')).err, open);
  t.match((await run('litellm.yaml', '--out', 'x.yaml')).out, open);
  t.match(JSON.parse((await run('litellm.yaml', '--report', 'json')).err), { authenticated: false });
  t.match(JSON.parse((await run('lossy.yaml', '--report', 'json')).err), { authenticated: true });
  t.notMatch((await run('lossy.yaml')).err, /^nobody/);
});

t.test('a file of something else is refused, and nothing is written', async (t) => {
  const dir = folder(t);
  writeFileSync(join(dir, 'compose.yaml'), 'services: { litellm: { image: x } }\n');
  t.match(await runWithin(['import', 'litellm', 'compose.yaml', '--out', 'x.yaml'], { cwd: dir }), {
    code: 1,
    out: '',
    err: /compose\.yaml neither model_list nor proxy_config .*cannot be imported; nothing was written\n$/s,
  });
  t.notOk(existsSync(join(dir, 'x.yaml')));
});

t.test('included files are found beside the file, wherever the command runs', async (t) => {
  const dir = folder(t);
  mkdirSync(join(dir, 'sub'));
  writeFileSync(join(dir, 'sub', 'main.yaml'), 'include: [models.yaml]\n');
  writeFileSync(join(dir, 'sub', 'models.yaml'), GOOD);
  t.match(await runWithin(['import', 'litellm', 'sub/main.yaml'], { cwd: dir }), {
    code: 0,
    out: /model_name: a/,
  });
  writeFileSync(join(dir, 'sub', 'main.yaml'), 'include: [nowhere.yaml]\n');
  const { code, out, err } = await runWithin(['import', 'litellm', 'sub/main.yaml', '--out', 'x.yaml'], {
    cwd: dir,
  });
  t.match(
    { code, out, err },
    { code: 1, out: '', err: /sub\/main\.yaml:1:1 include: 'nowhere\.yaml' does not exist/ },
  );
  t.notOk(existsSync(join(dir, 'x.yaml')));
});

t.test('what cannot be written leaves nothing behind', async (t) => {
  const dir = folder(t);
  writeFileSync(join(dir, 'litellm.yaml'), GOOD);
  mkdirSync(join(dir, 'closed'), 0o500);
  mkdirSync(join(dir, 'folder'));
  t.teardown(() => chmodSync(join(dir, 'closed'), 0o700));
  const outs = ['nowhere/x.yaml', 'folder', 'litellm.yaml/x'];
  if (process.getuid?.() !== 0) outs.push('closed/x.yaml');
  for (const out of outs) {
    await t.rejects(runWithin(['import', 'litellm', 'litellm.yaml', '--out', out, '--force'], { cwd: dir }), {
      name: 'CannotStart',
      message: /cannot be written \([^)]+\) - nothing was written$/,
    });
    t.strictSame(readdirSync(dir).toSorted(), ['closed', 'folder', 'litellm.yaml']);
  }
  await t.rejects(
    runWithin(['import', 'litellm', 'litellm.yaml', '--out', 'litellm.yaml', '--force'], { cwd: dir }),
    { message: /--out names the file that is read/ },
  );
});

t.test('names in the file cannot steer the terminal, nor forge a line of the report', async (t) => {
  const dir = folder(t);
  const entry = '{ model: gpt-4o, "odd\\e[2J\\nexact": 1 }';
  writeFileSync(join(dir, 'litellm.yaml'), `model_list:\n  - model_name: a\n    litellm_params: ${entry}\n`);
  const { code, out, err } = await runWithin(['import', 'litellm', 'litellm.yaml'], { cwd: dir });
  t.equal(code, 0);
  t.match(err, 'odd\ufffd[2J\ufffdexact: nothing here has this name');
  t.notOk((out + err).includes('\u001b'));
  const refused = await runWithin(['check', '--config', 'litellm.yaml'], { cwd: dir });
  t.match(refused.err + refused.out, /odd\ufffd\[2J\ufffdexact: unknown key/);
});
