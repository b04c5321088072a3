// `throughline diff A B`: exit codes as those of diff, for people and for programs.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { folder, runWithin } from '../../support/cli.ts';

const dir = folder(t);
const write = (name: string, base: string, key: string): string => {
  const text = `model_list: [{ model_name: a, litellm_params: { model: litellm_proxy/a, api_base: "${base}", api_key: ${key} } }]\n`;
  writeFileSync(join(dir, name), text);
  return name;
};
const a = write('a.yaml', 'https://a.example.com', 'sk-one');
const b = write('b.yaml', 'https://b.example.com', 'sk-two');
const broken = write('broken.yaml', 'https://b.example.com', 'os.environ/NOWHERE');
const diff = (...args: string[]) => runWithin(['diff', ...args], { cwd: dir });

t.test('the same is 0, a difference 1, and what cannot be compared 2', async (t) => {
  t.strictSame(await diff(a, a), { code: 0, out: 'nothing changes for callers\n', err: '' });
  t.strictSame(await diff(a, b), {
    code: 1,
    out: `models
  ~ a  served by: https://a.example.com as a -> https://b.example.com as a
  ~ a  key of the gateway: [secret] -> another secret
`,
    err: '',
  });
  t.match(await diff(a, broken), {
    code: 2,
    out: '',
    err: /NOWHERE is not set[^]*broken\.yaml cannot be loaded, so nothing was compared/,
  });
  t.match(await diff('nowhere.yaml', a), { code: 2, err: /nowhere\.yaml cannot be loaded/ });
});

t.test('--json', async (t) => {
  const { code, out } = await diff(a, b, '--json');
  t.equal(code, 1);
  t.match(JSON.parse(out), {
    version: 1,
    same: false,
    changes: [
      { about: 'model', change: 'changed', name: 'a', what: 'served by' },
      { about: 'model', name: 'a', what: 'key of the gateway', before: '[secret]', needsRestart: false },
    ],
  });
  t.strictSame(JSON.parse((await diff(a, a, '--json')).out), { version: 1, same: true, changes: [] });
});
