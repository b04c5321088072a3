// What is valid and meant otherwise: references in another tool's spelling, keys pasted into the file.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { looksPasted } from '../../config/hints.ts';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import { folder } from '../support/cli.ts';

const dir = folder(t);

function issuesOf(value: string, more = ''): string[] {
  const path = join(dir, 'gateway.yaml');
  const entry = `model_list:
  - model_name: a
    litellm_params:
      model: litellm_proxy/a
      api_base: https://gateway.example.com
      api_key: ${JSON.stringify(value)}
${more}`;
  writeFileSync(path, entry);
  const loaded = loadConfig(path, { GW_KEY: 'sk-x' });
  return (loaded.ok ? loaded.snapshot.warnings : loaded.issues).map(formatIssue);
}

t.test('a reference in the spelling of another tool is told, with the right one', async (t) => {
  const spellings = [
    '${GW_KEY}',
    '${GW_KEY:-none}',
    '${env:GW_KEY}',
    '$GW_KEY',
    '$env:GW_KEY',
    '%GW_KEY%',
    'os.environ.GW_KEY',
    'os.environ:GW_KEY',
    'os.environ["GW_KEY"]',
    "os.environ.get('GW_KEY')",
    'os.getenv("GW_KEY")',
    'OS.ENVIRON/GW_KEY',
    'os.env/GW_KEY',
    'os.env.GW_KEY',
    'os.environment/GW_KEY',
    'os.enviorn/GW_KEY',
    'os/environ/GW_KEY',
    'os_environ/GW_KEY',
    'OS.ENV/GW_KEY',
    'environ/GW_KEY',
    'environment/GW_KEY',
    'process.env.GW_KEY',
    'env.GW_KEY',
    'env/GW_KEY',
    '{{ env.GW_KEY }}',
    '{{GW_KEY}}'.replace('GW', 'env.GW'),
    '{{ .Values.GW_KEY }}',
  ];
  for (const spelling of spellings) {
    const warning = issuesOf(spelling).find((text) => text.includes('looks like a reference'));
    t.match(
      warning,
      /gateway\.yaml:6:16 model_list\[0\]\.litellm_params\.api_key: is taken literally/,
      spelling,
    );
    t.match(warning, /write os\.environ\/GW_KEY as the whole value$/, spelling);
  }
  for (const fine of [
    'os.environ/GW_KEY',
    'sk-plain',
    '$ecret',
    'a$b',
    '100%',
    'env',
    'os.x/GW_KEY',
    'sk-{x}',
  ])
    t.strictSame(issuesOf(fine), [], fine);
});

t.test('a reference inside of a text is told, one message for all places of a variable', async (t) => {
  const entries = ['b', 'c', 'd', 'e', 'f']
    .map(
      (name) => `  - model_name: ${name}
    litellm_params:
      model: litellm_proxy/${name}
      api_base: https://gateway.example.com
      extra_headers: { authorization: Bearer os.environ/GW_KEY }
`,
    )
    .join('');
  const issues = issuesOf('os.environ/GW_KEY', entries);
  t.equal(issues.length, 1);
  t.match(
    issues[0],
    /inside of a text, where none is replaced \(also line 16, line 21, line 26 and 1 more\)/,
  );
  t.match(issuesOf('Bearer os.env/GW_KEY'), [
    /inside of a text, where none is replaced - write os\.environ\/GW_KEY/,
  ]);
});

t.test('keys that look pasted are one warning, and are not repeated', async (t) => {
  const key = 'sk-ant-api03-Zk3n5vQwErTyUiOpAsDfGhJkLzXcVbNm8642';
  const second = `  - model_name: b
    litellm_params: { model: litellm_proxy/b, api_base: "https://gateway.example.com", api_key: ${key} }
`;
  const issues = issuesOf(key, second);
  t.equal(issues.length, 1);
  t.match(
    issues[0],
    /looks like a key that was pasted into the file \(also line 8\) - put it into an environment variable/,
  );
  t.notMatch(issues[0], /Zk3n5/);
  for (const plain of [
    'sk-1234',
    'sk-your-key-goes-here-please',
    'fake-key',
    'sk-xxxxxxxxxxxxxxxxxxxxxxxx',
    'dummy',
  ])
    t.strictSame(issuesOf(plain), [], plain);
});

t.test('vendor keys are known anywhere, random text only where secrets stand', async (t) => {
  const random = 'q8Zr2mXw7KpL4vTn9YbD3sHf6JgC1aEu';
  t.equal(looksPasted(random, true), true);
  t.equal(looksPasted(random, false), false);
  t.equal(looksPasted(`gsk_${random}`, false), true);
  t.equal(looksPasted(`Bearer gsk_${random}`, true), true);
  t.equal(looksPasted('os.environ/gsk_abcdefghijklmnopqrst12', true), false);
});

t.test('one variable that is not set is one message with its places', async (t) => {
  const path = join(dir, 'many.yaml');
  const entry = (index: number): string => `  - model_name: m${index}
    litellm_params:
      model: litellm_proxy/m${index}
      api_base: os.environ/GW_URL
      api_key: os.environ/GW_SECRET
`;
  writeFileSync(path, `model_list:\n${Array.from({ length: 30 }, (_, index) => entry(index)).join('')}`);
  const loaded = loadConfig(path, { GW_URL: 'https://gateway.example.com' });
  t.equal(loaded.ok, false);
  if (loaded.ok) return;
  t.equal(loaded.issues.length, 1);
  t.match(
    formatIssue(loaded.issues[0] as never),
    /many\.yaml:6:16 .*os\.environ\/GW_SECRET is not set \(also line 11, line 16, line 21 and 26 more\) - set the environment variable GW_SECRET/,
  );
});

t.test(
  'what has no effect here is not to be spelt otherwise, and a key pasted into it is told',
  async (t) => {
    const issues = issuesOf(
      'os.environ/GW_KEY',
      `general_settings:
  unknown_keys: warn
  pass_through_endpoints: [{ path: /x, target: "https://x.example.com", headers: { a: "Bearer os.environ/X" } }]
litellm_settings: { some_thing: "\${X}" }
`,
    );
    t.same(
      issues.filter((text) => text.includes('reference to a variable')),
      [],
    );
    t.match(
      issues.filter((text) => text.includes('no effect')),
      [/pass_through_endpoints/, /some_thing/],
    );
    const pasted = 'sk-proj-a8Xk29dLq03mZpw7YbN5';
    t.match(
      issuesOf(
        'os.environ/GW_KEY',
        `general_settings: { pass_through_endpoints: [{ headers: { a: ${pasted} } }] }\n`,
      ),
      [/has no effect/, /looks like a key that was pasted/],
    );
  },
);
