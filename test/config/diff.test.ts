// What changes for callers: every setting counts, and no secret is shown.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { changesBetween, type Change } from '../../config/diff.ts';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { folder } from '../support/cli.ts';

const dir = folder(t);

function snapshot(text: string): Snapshot {
  const path = join(dir, 'gateway.yaml');
  writeFileSync(path, text);
  const loaded = loadConfig(path, { CI: 'sk-of-the-ci-system', CI_NEW: 'sk-of-another-ci' });
  if (!loaded.ok) throw new Error(loaded.issues.map(formatIssue).join('\n'));
  return loaded.snapshot;
}

const entry = (name: string, more = '', base = 'https://a.example.com'): string =>
  `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/${name}, api_base: "${base}"${more} } }\n`;
const file = (entries: string, more = ''): string =>
  `model_list:\n${entries}general_settings: { master_key: sk-master }\n${more}`;
const between = (before: string, after: string): readonly Change[] =>
  changesBetween(snapshot(before), snapshot(after));
const brief = (changes: readonly Change[]): string[] =>
  changes.map(({ about, change, name, what, before, after }) =>
    [about, change, name, what, `${before} -> ${after}`].filter((part) => part !== '').join(' '),
  );

t.test('the same configuration changes nothing, however it is written', async (t) => {
  const text = file(entry('a', ', api_key: sk-key, timeout: 30'));
  t.strictSame(between(text, `# a comment\n${text.replace('timeout: 30', 'timeout: "30"')}`), []);
});

t.test('models: added, removed, served elsewhere', async (t) => {
  t.strictSame(brief(between(file(entry('a') + entry('b')), file(entry('a') + entry('c')))), [
    'model removed b https://a.example.com as b -> null',
    'model added c null -> https://a.example.com as c',
  ]);
  t.strictSame(brief(between(file(entry('a')), file(entry('a', '', 'https://b.example.com')))), [
    'model changed a served by https://a.example.com as a -> https://b.example.com as a',
  ]);
  t.strictSame(brief(between(file(entry('a')), file(entry('a') + entry('a', '', 'https://b.example.com')))), [
    'model changed a served by https://a.example.com as a -> https://a.example.com as a, https://b.example.com as a',
  ]);
  t.match(brief(between(file(entry('"x/*"')), file(entry('"y/*"')))), [
    /^model removed x\/\*/,
    /^model added y\/\*/,
  ]);
});

t.test('what a deployment sends, costs and waits for', async (t) => {
  const cases: readonly (readonly [before: string, after: string, says: string])[] = [
    [', timeout: 30', ', timeout: 60', 'timeout of the first byte 30 s -> 60 s'],
    [', extra_headers: { x-a: "1" }', '', 'header x-a [secret] -> null'],
    [
      ', extra_headers: { x-a: "1" }',
      ', extra_headers: { x-a: "2" }',
      'header x-a [secret] -> another secret',
    ],
    [', api_key: sk-one', ', api_key: sk-two', 'key of the gateway [secret] -> another secret'],
    ['', ', api_key: sk-two', 'key of the gateway null -> [secret]'],
    [', input_cost_per_token: 0.000003', ', input_cost_per_token: 0.000004', '0.000003 USD -> 0.000004 USD'],
    ['', ', max_parallel_requests: 5', 'calls at a time no limit -> 5'],
    ['', ', num_retries: 0', 'retries null -> 0'],
  ];
  for (const [before, after, says] of cases) {
    const lines = brief(between(file(entry('a', before)), file(entry('a', after))));
    t.ok(
      lines.some((line) => line.startsWith('model') && line.includes(says)),
      `${says}\n${lines.join('\n')}`,
    );
    t.notMatch(lines.join(), /sk-one|sk-two/);
  }
});

t.test('keys, teams and settings; what needs a restart says so', async (t) => {
  const keys = (text: string): string => `keys:\n  - ${text}\n`;
  t.match(brief(between(file(entry('a')), file(entry('a'), keys('{ key_alias: ci, key: os.environ/CI }')))), [
    'key added ci null -> present',
  ]);
  const changed = brief(
    between(
      file(entry('a'), keys('{ key_alias: ci, key: os.environ/CI, rpm_limit: 5 }')),
      file(entry('a'), keys('{ key_alias: ci, key: os.environ/CI_NEW, rpm_limit: 6 }')),
    ),
  );
  t.ok(changed.includes('key changed ci rpm 5 -> 6'), changed.join('\n'));
  t.ok(
    changed.some((line) => line.includes('sha256 [hash] -> another hash')),
    changed.join('\n'),
  );
  t.match(brief(between(file(entry('a')), file(entry('a')).replace('sk-master', 'sk-other'))), [
    'setting changed master key [secret] -> another secret',
  ]);
  const settings = between(
    file(entry('a')),
    file(entry('a')).replace(
      'sk-master',
      'sk-master, max_request_size_mb: 5, database_url: "postgresql://n@db.example.com/x"',
    ),
  );
  const names = settings.map(({ name }) => name);
  t.ok(names.includes('limits.requestBytes'));
  t.equal(settings.find(({ name }) => name === 'limits.requestBytes')?.needsRestart, false);
  t.equal(settings.find(({ name }) => name.startsWith('database'))?.needsRestart, true);
});
