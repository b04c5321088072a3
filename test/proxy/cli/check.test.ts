// `throughline check`: for people, for programs, and for those to whom a warning is an error.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { folder, runWithin } from '../../support/cli.ts';

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
  t.match(await check(doubtful), { code: 0, out: /^warning: .*\nok: 1 model entries.*1 warnings\n$/ });
  t.match(await check(doubtful, '--strict'), { code: 1, err: '--strict: a warning counts as an error\n' });
  t.match(await check(bad, '--strict'), { code: 1, err: /cannot be served/ });
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
