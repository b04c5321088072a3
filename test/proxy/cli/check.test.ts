// `throughline check`: for people, for programs, and for those to whom a warning is an error.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { folder, runCli, runWithin } from '../../support/cli.ts';

const dir = folder(t);
const write = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return name;
};
const entry = (key: string): string =>
  `model_list: [{ model_name: a, litellm_params: { model: litellm_proxy/a, api_base: "https://gateway.example.com", api_key: ${key} } }]\n`;
const good = write('good.yaml', entry('os.environ/KEY'));
const doubtful = write('doubtful.yaml', entry('"${KEY}"'));
const bad = write('bad.yaml', entry('os.environ/NOWHERE'));
const check = (...args: string[]) =>
  runWithin(['check', '--config', ...args], { cwd: dir, env: { KEY: 'sk-x' } });

t.test('--strict: a warning is an error', async (t) => {
  t.match(await check(good, '--strict'), { code: 0, out: /^ok: 1 model entries/, err: '' });
  t.match(await check(doubtful), {
    code: 0,
    out: /^warning: .*\nok: 1 model entries.*1 warnings\nnote: nobody is authenticated: .*\n$/,
  });
  t.match(await check(doubtful, '--strict'), { code: 1, err: '--strict: a warning counts as an error\n' });
  t.match(await check(bad, '--strict'), { code: 1, err: /cannot be served/ });
});

t.test('that nobody is authenticated is said in one line', async (t) => {
  const keyed = write('keyed.yaml', `${entry('os.environ/KEY')}general_settings: { master_key: sk-m }\n`);
  t.match(await check(good), { code: 0, out: /\nnote: nobody is authenticated: there is no master key/ });
  t.notMatch((await check(keyed)).out, /authenticated/);
  t.match(JSON.parse((await check(good, '--json')).out), { authenticated: false });
  t.match(JSON.parse((await check(keyed, '--json')).out), { authenticated: true });
});

t.test('after the issues of a file of LiteLLM stand the lines that let it pass', async (t) => {
  const unknown = write('unknown.yaml', `${entry('os.environ/KEY')}sundry_thing: 1\n`);
  const note =
    /^note: where this is a file of LiteLLM.*this error:\ngeneral_settings:\n {2}unknown_keys: warn\n/;
  t.match(await check(unknown), { code: 1, err: new RegExp(`${note.source}1 issue; `) });
  t.match(JSON.parse((await check(unknown, '--json')).out), { issues: [{ waiver: 'unknown_keys' }] });
  const started = await runCli(
    t,
    ['serve', '--config', join(dir, unknown), '--port', '0', '--data-dir', join(dir, 'd')],
    { env: { KEY: 'sk-x' } },
  );
  t.match(
    started.err,
    new RegExp(`error: .*sundry_thing: unknown key.*\n${note.source.slice(1)}throughline: `),
  );
});

t.test('the file can be named without --config', async (t) => {
  const named = (...args: string[]) => runWithin(['check', ...args], { cwd: dir, env: { KEY: 'sk-x' } });
  t.match(await named(good), { code: 0, out: /^ok: 1 model entries/ });
  t.match(await named(bad, '--config', bad), { code: 1 });
  await t.rejects(named(bad, '--config', good), /two files are named/);
});

t.test('--json: one object, and nothing else', async (t) => {
  const cases = [
    [[good], 0, { version: 1, ok: true, errors: 0, warnings: 0, models: 1, issues: [] }],
    [[doubtful], 0, { ok: true, errors: 0, warnings: 1, issues: [{ severity: 'warning', line: 1 }] }],
    [[doubtful, '--strict'], 1, { ok: false, errors: 0, warnings: 1, models: 1 }],
    [
      [bad],
      1,
      {
        ok: false,
        errors: 1,
        models: null,
        config_version: null,
        issues: [
          { severity: 'error', path: 'model_list[0].litellm_params.api_key', message: /NOWHERE is not set/ },
        ],
      },
    ],
  ] as const;
  for (const [args, code, object] of cases) {
    const { code: got, out, err } = await check(...args, '--json');
    t.equal(got, code);
    t.match(JSON.parse(out), object);
    t.equal(err, '');
  }
});

t.test('files that newcomers write: each mistake is one sentence that names it', async (t) => {
  const head = `model_list:
  - model_name: a
    litellm_params:
      model: litellm_proxy/a
      api_base: https://gateway.example.com
`;
  const params = (lines: string): string => `${head}      ${lines}\n`;
  const cases: readonly (readonly [text: string, says: RegExp])[] = [
    [
      'model_list: [\n  { model_name: a }\ngeneral_settings: {}\n',
      /x\.yaml:1:13 the \[ that is opened here is never closed - write \] after its last item/,
    ],
    [
      'model_list:\n  - litellm_params: { model: litellm_proxy/a\n    model_name: b\n',
      /x\.yaml:2:21 the \{ that is opened here is never closed/,
    ],
    ['{"model_list": [}\n', /x\.yaml:1:16 the \[ that is opened/],
    [params('api_key: "abc'), /x\.yaml:6:16 the quote " that is opened here is never closed/],
    [params("api_key: 'abc"), /x\.yaml:6:16 the quote ' that is opened here is never closed/],
    ['model_list:\n\t- model_name: a\n', /x\.yaml:2:1 a tab is used for indentation - indent with spaces/],
    ['model_list\n  - model_name: a\n', /x\.yaml:1:1 this line has no colon - write model_list:/],
    [`${head}    model_name: b\n`, /x\.yaml:6:5 this key appears twice in one mapping/],
    [
      `${head}\u00a0   model_info: {}\n`,
      /x\.yaml:\d+:\d+ this line has a space that is none for YAML.* - type the spaces/,
    ],
    ['', /the file is empty - begin with model_list:/],
    ['just text\n', /the file is not a mapping/],
    [
      'model_list:\n  gpt:\n    litellm_params: { model: litellm_proxy/a }\n',
      /x\.yaml:1:1 model_list: must be a list, got a mapping - write each entry below it, on lines of its own that begin with a dash: - model_name: \.\.\.$/m,
    ],
    [
      `${head}general_settings:\n  - master_key: x\n`,
      /general_settings: must be a mapping, got a list - write its keys below it/,
    ],
    [`${head}general_settings:\n  master_key:sk-1\n`, /put a space after the colon of master_key:/],
    [`${head}apiVersion: v1\n`, /apiVersion: unknown key/],
    [
      'litellm-helm: { proxy_config: {} }\n',
      /these are the values of a Helm chart, no configuration - `throughline import litellm` reads them/,
    ],
    [
      'model_list:\n  - { model_name: a, litellm_params: x }\n',
      /litellm_params: must be a mapping, got text - write its keys below it.*model: \.\.\./,
    ],
    [
      params('api_key: os.environ/GW KEY'),
      /os\.environ\/ is followed by something that is no name of a variable/,
    ],
    [params('timeout: 30s'), /timeout: must be a number of seconds, got text '30s'/],
    [
      params('api_key: os.environ/NOT_THERE'),
      /os\.environ\/NOT_THERE is not set - set the environment variable NOT_THERE/,
    ],
    [params('api_keys: x'), /api_keys: unknown key - did you mean api_key\?/],
  ];
  for (const [text, says] of cases) {
    writeFileSync(join(dir, 'x.yaml'), text);
    const { code, out } = await check('x.yaml');
    t.equal(code, 1, text);
    t.match(out, says);
    t.equal(out.trim().split('\n').length, 1, `one message\n${out}`);
  }
  writeFileSync(
    join(dir, 'x.yaml'),
    'model_list:\n  - { model_name: a, model: litellm_proxy/a, api_base: "https://x.example" }\n',
  );
  t.match(
    (await check('x.yaml')).out,
    /api_base: unknown key - it belongs under litellm_params of a model_list entry/,
  );
});
