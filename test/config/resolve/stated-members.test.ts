// Settings and extra_body of an entry: what is read, what is refused, what is warned about, and that no secret is shown.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import t from 'tap';
import { changesBetween } from '../../../config/diff.ts';
import { formatIssue } from '../../../config/issue.ts';
import { loadConfig } from '../../../config/load.ts';
import type { Deployment, Snapshot } from '../../../config/snapshot.ts';
import { folder } from '../../support/cli.ts';

const path = join(folder(t), 'gateway.yaml');
const SECRET = 'sk-in-a-variable';

function load(params: string): ReturnType<typeof loadConfig> {
  const text = `model_list:
  - model_name: m
    litellm_params: { model: litellm_proxy/m, api_base: "http://127.0.0.1:1", ${params} }
general_settings: { master_key: sk-master }
`;
  writeFileSync(path, text);
  return loadConfig(path, { SECRET, WARM: '0.5' });
}

function loaded(params: string): Snapshot {
  const result = load(params);
  if (!result.ok) throw new Error(result.issues.map(formatIssue).join('\n'));
  return result.snapshot;
}

const only = ({ deployments: [one] }: Snapshot): Deployment => one as Deployment;
const settings = (params: string): unknown => only(loaded(params)).statedMembers?.settings;
const warnings = (params: string): readonly string[] => loaded(params).warnings.map(formatIssue);
const issues = (params: string): string => {
  const result = load(params);
  return result.ok ? '' : result.issues.map(formatIssue).join('\n');
};

t.test('settings, numbers also as text; nothing stated is nothing', async (t) => {
  t.equal(only(loaded('timeout: 3')).statedMembers, null);
  t.equal(only(loaded('temperature: null, extra_body: {}')).statedMembers, null);
  t.strictSame(settings('temperature: os.environ/WARM, max_tokens: "50", stop: END, logprobs: false'), {
    max_tokens: 50,
    stop: 'END',
    temperature: 0.5,
    logprobs: false,
  });
  t.strictSame(settings('reasoning_effort: high'), { reasoning_effort: 'high' });
  t.match(issues('temperature: warm'), /temperature: must be a number, got text 'warm'/);
  t.match(issues('thinking: high'), /thinking: must be a mapping, got text/);
});

t.test('of an effort with more in it the level is sent', async (t) => {
  const effort = 'reasoning_effort: { effort: high, summary: detailed }';
  t.strictSame(settings(effort), { reasoning_effort: 'high' });
  t.match(warnings(effort).join(), /reasoning_effort\.summary: has no effect here - the level is sent/);
});

t.test('extra_body is JSON text, and secrets in it are shown nowhere', async (t) => {
  const params =
    'extra_body: { provider: { ignore: [a] }, b: [1, null, true], route: os.environ/SECRET, api_key: sk-own }';
  const snapshot = loaded(params);
  const { statedMembers, publicParams } = only(snapshot);
  t.strictSame(
    statedMembers?.extra.map(([name, json]) => [name, json.reveal()]),
    [
      ['provider', '{"ignore":["a"]}'],
      ['b', '[1,null,true]'],
      ['route', `"${SECRET}"`],
      ['api_key', '"sk-own"'],
    ],
  );
  t.strictSame(publicParams['extra_body'], {
    provider: { ignore: ['a'] },
    b: [1, null, true],
    route: '[secret]',
    api_key: '[secret]',
  });
  t.notMatch(inspect(snapshot, { depth: 20, showHidden: true }), /sk-in-a|sk-own/);
  const other = loaded(params.replace('sk-own', 'sk-next').replace('timeout', 'x'));
  const changes = changesBetween(snapshot, other);
  t.match(changes, [{ name: 'm', what: 'extra_body api_key' }]);
  t.notMatch(JSON.stringify(changes), /sk-/);
  t.match(changesBetween(snapshot, loaded(`${params}, temperature: 1`)), [
    { name: 'm', what: 'states temperature', before: null, after: '1' },
  ]);
});

t.test('what the proxy goes by is not the operator’s to state', async (t) => {
  for (const name of ['model', 'stream', 'stream_options', 'user', 'n', 'messages', 'previous_response_id'])
    t.match(
      issues(`extra_body: { ${name}: x }`),
      new RegExp(`extra_body\\.${name}: is nothing that an entry may state for every call - `),
    );
  t.equal(
    issues('extra_body: { metadata: { a: 1 }, fallbacks: [b], route: x }'),
    '',
    'what steers the gateway is',
  );
});

t.test('a setting that no protocol of the gateway has is warned about', async (t) => {
  const lost = 'seed: 7, stop: END, supported_endpoints: [/v1/messages]';
  t.strictSame(warnings(lost).length, 1);
  t.match(warnings(lost)[0], /litellm_params\.seed: has no effect here: messages has no such member/);
  t.strictSame(warnings('seed: 7, dimensions: 3, supported_endpoints: [chat, messages]'), []);
  t.strictSame(warnings('seed: 7'), []);
});
