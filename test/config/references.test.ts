import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';

function issuesOf(t: Test, yaml: string): string[] {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(path, `model_list: [{model_name: a, litellm_params: {model: gpt-4o, api_key: k}}]\n${yaml}`);
  const loaded = loadConfig(path, { PROXY_MASTER_KEY: 'sk-master' });
  const issues = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
  return issues.map((issue) => `${issue.severity} ${issue.path}: ${formatIssue(issue)}`);
}

t.test('a variable below a key that nothing here knows need not be set', async (t) => {
  const yaml = (mode: string): string => `general_settings: {unknown_keys: ${mode}}
litellm_settings:
  some_thing: os.environ/NOPE
  some_list: [os.environ/NOPE, {deep: os.environ/NOPE}]
`;
  t.match(issuesOf(t, yaml('warn')), [
    /^warning litellm_settings\.some_thing: .*unknown key: it has no effect here/,
    /^warning litellm_settings\.some_list: .*unknown key: it has no effect here/,
  ]);
  t.match(issuesOf(t, yaml('refuse')), [
    /^error litellm_settings\.some_thing: .*unknown key -/,
    /^error litellm_settings\.some_list: .*unknown key -/,
  ]);
});

t.test('one where any key may stand is replaced as before', async (t) => {
  t.match(
    issuesOf(t, 'router_settings: {default_litellm_params: {extra_headers: {x-a: os.environ/NOPE}}}\n'),
    [/^error .*x-a: .*os\.environ\/NOPE is not set/],
  );
});
