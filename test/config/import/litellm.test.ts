// Imports as an operator meets them: every field has a finding, the result loads, a second run gives the same bytes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse as parseYaml } from 'yaml';
import { LEVELS, type Level } from '../../../config/import/finding.ts';
import { importLitellm, type Imported } from '../../../config/import/litellm.ts';
import { formatIssue } from '../../../config/issue.ts';
import { loadConfig } from '../../../config/load.ts';
import { folder } from '../../support/cli.ts';

type Files = Readonly<Record<string, string>>;

function imported(text: string, files: Files = {}): Imported {
  const result = importLitellm('litellm.yaml', text, (name) => {
    const found = files[name];
    return found === undefined ? { ok: false, message: 'does not exist' } : { ok: true, name, text: found };
  });
  if (!result.ok) throw new Error(result.issues.map(formatIssue).join('\n'));
  return result.imported;
}

/** Each finding as `level line path: message`. */
const lines = ({ findings }: Imported): string[] =>
  findings.map(
    ({ level, line, path, message }) => `${level} ${line} ${path}${message === '' ? '' : `: ${message}`}`,
  );
const at = (result: Imported, path: string): string =>
  lines(result).find((line) => line.split(' ').some((word) => word === path || word === `${path}:`)) ?? '';
const count = (result: Imported, level: Level): number =>
  result.findings.filter((one) => one.level === level).length;

const FULL = `# our gateway
include:
  - more.yaml
model_list:
  # the main one
  - model_name: claude # for agents
    litellm_params:
      model: litellm_proxy/claude
      api_base: https://gateway.example.com/v1 # with the slash
      api_key: os.environ/GATEWAY_KEY
      rpm: 60
      prompt_id: greeting # not too wild
  - model_name: gpt
    litellm_params: &shared
      model: gpt-4o
      api_key: os.environ/OPENAI_API_KEY
  - model_name: gpt-again
    litellm_params:
      <<: *shared
      timeout: 30
  - model_name: bedrock-model
    litellm_params:
      model: bedrock/anthropic.claude
      aws_region_name: us-east-1
  - model_name: deep
    litellm_params:
      model: deepseek/deepseek-chat

litellm_settings:
  modify_params: true # for all
  num_retries: 2
  guardrails: [{ pii: { callbacks: [presidio] } }]
router_settings:
  routing_strategy: usage-based-routing
general_settings:
  master_key: sk-1234
  custom_auth: my_auth.check
  allow_user_auth: true
  misspelt_thing: 1
`;
const MORE = `# models of the team
model_list:
  - model_name: team-model
    litellm_params:
      model: openai/team-model
      api_base: http://localhost:8000
      api_key: none
general_settings:
  forward_client_headers_to_llm_api: true
`;

t.test('every field gets a finding with its path and line, and nothing is dropped without one', async (t) => {
  const result = imported(FULL, { 'more.yaml': MORE });
  t.strictSame(result.unresolved, []);
  t.match(at(result, 'include[0]'), /^exact 3 /);
  t.match(
    at(result, 'model_list[0].litellm_params.api_base'),
    /^exact 9 .*https:\/\/gateway\.example\.com: the proxy adds the rest/,
  );
  t.match(at(result, 'model_list[0].litellm_params.api_key'), /^exact 10 /);
  t.match(at(result, 'model_list[0].litellm_params.rpm'), /rpm/);
  t.match(at(result, 'model_list[0].litellm_params.prompt_id'), /^unsupported 12 /);
  t.match(at(result, 'model_list[1].litellm_params.model'), /^exact 15 .*openai\/gpt-4o/);
  t.match(at(result, 'model_list[1].litellm_params.api_base'), /^exact 15 .*https:\/\/api\.openai\.com\/v1/);
  t.match(at(result, 'model_list[2].litellm_params.timeout'), /^exact 20 /);
  t.match(at(result, 'model_list[3]'), /^unsupported 21 .*bedrock\/anthropic\.claude.*chain to it/);
  t.match(at(result, 'model_list[4].litellm_params.model'), /^exact 27 /);
  t.match(
    at(result, 'model_list[5].litellm_params.api_base'),
    /^exact 6 .*api_base: has no version, and is taken as it is, as LiteLLM does$/,
  );
  t.match(at(result, 'litellm_settings.modify_params'), /^unsupported 30 .*Change parameters/);
  t.match(at(result, 'litellm_settings.guardrails'), /^unsupported 32 .*it protected something/);
  t.match(at(result, 'router_settings.routing_strategy'), /^approximate 34 /);
  t.match(at(result, 'general_settings.master_key'), /^manual 36 .*a key stands in the file/);
  t.match(at(result, 'general_settings.custom_auth'), /^unsupported 37 /);
  t.match(at(result, 'general_settings.misspelt_thing'), /^unsupported 39 .*nothing here has this name/);
  t.match(at(result, 'general_settings.forward_client_headers_to_llm_api'), /^approximate 9 /);
  const paths = result.findings.map(({ file, path, line }) => `${file} ${line} ${path}`);
  t.equal(new Set(paths).size, paths.length, 'each field has one');
  t.strictSame(result.variables, ['DEEPSEEK_API_KEY', 'GATEWAY_KEY', 'OPENAI_API_KEY']);
  t.equal(
    LEVELS.reduce((sum, level) => sum + count(result, level), 0),
    result.findings.length,
  );
});

t.test('comments and the order of keys stay; comments of what is left out are in the report', async (t) => {
  const result = imported(FULL, { 'more.yaml': MORE });
  for (const comment of [
    '# our gateway',
    '# the main one',
    '# for agents',
    '# with the slash',
    '# models of the team',
  ])
    t.ok(
      result.text.includes(comment) || result.lostComments.some(({ text }) => `# ${text}` === comment),
      comment,
    );
  t.ok(result.text.includes('# the main one\n  - model_name: claude # for agents'));
  t.strictSame(
    result.lostComments.map(({ text }) => text).filter((text) => /wild|for all/.test(text)),
    ['not too wild', 'for all'],
  );
  t.match(result.text, /# not imported: bedrock-model \(bedrock\/anthropic\.claude\)/);
  t.match(result.text, /# not imported: custom_auth/);
  t.ok(result.text.indexOf('model_list') < result.text.indexOf('litellm_settings'));
  t.notMatch(result.text, /&shared|\*shared|<<|include/);
  t.match(parseYaml(result.text), {
    model_list: [
      { model_name: 'claude', litellm_params: { api_base: 'https://gateway.example.com' } },
      { litellm_params: { model: 'openai/gpt-4o', api_key: 'os.environ/OPENAI_API_KEY' } },
      { litellm_params: { model: 'openai/gpt-4o', timeout: 30 } },
      { litellm_params: { model: 'deepseek/deepseek-chat', api_key: 'os.environ/DEEPSEEK_API_KEY' } },
      { litellm_params: { model: 'openai/team-model', api_base: 'http://localhost:8000' } },
    ],
    general_settings: {
      master_key: 'sk-1234',
      unknown_keys: 'warn',
      forward_client_headers_to_llm_api: true,
    },
  });
});

t.test(
  'a second run, and a run on the result, give the same bytes; the loader takes the result',
  async (t) => {
    const dir = folder(t);
    const cases: readonly (readonly [string, Files])[] = [
      [FULL, { 'more.yaml': MORE }],
      [
        '# top\nmodel_list: # a comment\n  # first\n  - model_name: a\n    litellm_params: {model: ollama/llama2}\n# end\n',
        {},
      ],
      [
        'model_list:\n- model_name: a\n  litellm_params: {model: azure/x}\n  # tail\ngeneral_settings:\n  enable_jwt_auth: true\n',
        {},
      ],
      ['{"model_list": [{"model_name": "a", "litellm_params": {"model": "gpt-4o"}}]}', {}],
      ['model_list: []\nlitellm_settings:\n  success_callback: ["langfuse"] # logs\n', {}],
      ['model_list:\r\n  - model_name: a\r\n    litellm_params:\r\n      model: gpt-4o\r\n', {}],
    ];
    for (const [text, files] of cases) {
      const first = imported(text, files);
      t.equal(imported(text, files).text, first.text);
      t.equal(imported(first.text).text, first.text, text);
      const path = join(dir, 'gateway.yaml');
      writeFileSync(path, first.text);
      const env = Object.fromEntries(first.variables.map((name) => [name, 'https://gateway.example.com']));
      const loaded = loadConfig(path, env);
      t.ok(loaded.ok, loaded.ok ? '' : loaded.issues.map(formatIssue).join('\n'));
    }
  },
);

t.test('values of the chart: the configuration is taken out, and every other value is told', async (t) => {
  const VALUES = `# platform
litellm: { url: "", teamId: openhands }
litellm-helm:
  enabled: true
  image: { tag: "1.94.1" } # pinned
  masterkeySecretName: lite-llm-api-key
  environmentSecrets: [litellm-env-secrets]
  migrationJob: { enabled: false }
  db: { useExisting: true, endpoint: oh-main-postgresql }
  proxy_config:
    environment_variables: { OR_APP_NAME: OpenHands }
    model_list:
      # the external gateway
      - model_name: claude-via-gateway
        litellm_params:
          model: litellm_proxy/claude
          api_base: http://litellm.internal:4000
          api_key: os.environ/EXTERNAL_GATEWAY_KEY
          extra_headers: { Ocp-Apim-Subscription-Key: abc123, X-Tenant-Id: prod }
    general_settings:
      forward_client_headers_to_llm_api: false
    litellm_settings: { num_retries: 3, request_timeout: 600, context_window_fallbacks: [], allowed_fails: 3 }
`;
  const result = imported(VALUES);
  t.equal(result.source, 'helm-values');
  t.strictSame(result.unresolved, []);
  t.match(result.text, /^environment_variables:/);
  t.match(result.text, / {2}# the external gateway\n {2}- model_name/);
  t.match(at(result, 'litellm'), /^no effect here 2 /);
  t.match(at(result, 'litellm-helm.image'), /^no effect here 5 /);
  t.match(at(result, 'litellm-helm.masterkeySecretName'), /^manual 6 .*PROXY_MASTER_KEY/);
  t.match(at(result, 'litellm-helm.migrationJob'), /^no effect here 8 .*no job is needed/);
  t.match(
    at(
      result,
      'litellm-helm.proxy_config.model_list[0].litellm_params.extra_headers.Ocp-Apim-Subscription-Key',
    ),
    /^manual 19 .*a key stands in the file/,
  );
  t.match(at(result, 'litellm-helm.proxy_config.litellm_settings.request_timeout'), /^exact 22 /);
  t.ok(result.lostComments.some(({ text }) => text === 'pinned'));
  t.equal(imported('proxy_config:\n  model_list: []\nreplicaCount: 1\n').source, 'helm-values');
});

t.test(
  'what the loader refuses is taken out of models and routing, and left for a person elsewhere',
  async (t) => {
    const result = imported(`model_list:
  - model_name: a
    litellm_params: { model: litellm_proxy/a, api_base: "https://gateway.example.com", timeout: 30s }
  - litellm_params: { model: litellm_proxy/b, api_base: "https://gateway.example.com" }
  - model_name: c
    litellm_params: { model: litellm_proxy/c, api_base: not a url }
router_settings: { num_retries: 2.5 }
general_settings: { max_parallel_requests: many, master_key: "two words" }
`);
    t.match(
      at(result, 'model_list[0].litellm_params.timeout'),
      /^unsupported 3 .*must be a number of seconds/,
    );
    t.match(at(result, 'model_list[1]'), /^unsupported 4 .*is missing/);
    t.match(at(result, 'model_list[2]'), /^unsupported 5 .*api_base must be a URL/);
    t.match(at(result, 'router_settings.num_retries'), /^unsupported 7 /);
    t.match(at(result, 'general_settings.max_parallel_requests'), /^manual 8 /);
    t.match(
      result.unresolved.map(({ path }) => path),
      ['general_settings.max_parallel_requests'],
    );
    t.match(result.text, /max_parallel_requests: many/);
  },
);

t.test('a text that cannot be read is refused as check refuses it', async (t) => {
  const refused = (text: string, files: Files = {}): string => {
    const result = importLitellm('x.yaml', text, (name) => {
      const found = files[name];
      return found === undefined ? { ok: false, message: 'does not exist' } : { ok: true, name, text: found };
    });
    return result.ok ? '' : result.issues.map(formatIssue).join('\n');
  };
  t.match(refused(''), /the file is empty/);
  t.match(refused('model_list: ['), /x\.yaml:1:13 the \[ that is opened here is never closed/);
  t.match(refused('include: [nowhere.yaml]'), /x\.yaml:1:1 include: 'nowhere\.yaml' does not exist/);
  t.match(refused('include: [a.yaml]', { 'a.yaml': '\t- x' }), /a\.yaml:1/);
  t.match(refused('include: [a.yaml]', { 'a.yaml': 'include: [a.yaml]' }), /included twice/);
  t.match(refused('- a\n'), /not a mapping/);
  t.match(refused(`proxy_config: text\n`), /proxy_config is no mapping/);
  const bomb = Array.from(
    { length: 9 },
    (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]`,
  );
  t.match(refused(`a0: &a0 [x]\n${bomb.join('\n')}\n`), /aliases expand to more than/);
});

const GATEWAY = 'api_base: https://gw.example.com/v1, api_key: os.environ/K';

t.test('an entry that cannot be served takes no other one with it', async (t) => {
  const result = imported(`model_list:
  -
  - {model_name: b, litellm_params: {model: openai/b, ${GATEWAY}}}
  - {model_name: 12, litellm_params: {model: openai/c, ${GATEWAY}, rpm: x, timeout: x}}
  -
  - {litellm_params: {model: openai/d, ${GATEWAY}}}
  - {model_name: e, litellm_params: {model: openai/e, ${GATEWAY}, rpm: x, timeout: 7}}
  - {model_name: f, litellm_params: {model: openai/f, ${GATEWAY}, rpm: 5, timeout: x}}
`);
  t.same(
    parseYaml(result.text).model_list.map(
      (entry: { model_name: string; litellm_params: Record<string, unknown> }) => [
        entry.model_name,
        entry.litellm_params['rpm'],
        entry.litellm_params['timeout'],
      ],
    ),
    [
      ['b', undefined, undefined],
      ['e', undefined, 7],
      ['f', 5, undefined],
    ],
  );
  t.same(
    result.findings.filter(({ level }) => level === 'unsupported').map(({ line, path }) => `${line} ${path}`),
    [
      '2 model_list[0]',
      '4 model_list[2]',
      '5 model_list[3]',
      '6 model_list[4]',
      '7 model_list[5].litellm_params.rpm',
      '8 model_list[6].litellm_params.timeout',
    ],
  );
});

t.test('what an address holds beside the path is never dropped without a word', async (t) => {
  for (const [before, base] of [
    ['openai', 'https://name:word@gw.example.com/v1'],
    ['openai', 'https://gw.example.com/v1?api-version=1'],
    ['openai', 'https://gw.example.com?api-version=1'],
    ['litellm_proxy', 'https://name:word@gw.example.com/v1'],
    ['litellm_proxy', 'https://gw.example.com/v1/?team=a'],
    ['groq', 'https://gw.example.com/v1#part'],
  ]) {
    const result = imported(
      `model_list:\n  - {model_name: a, litellm_params: {model: ${before}/a, api_base: '${base}', api_key: os.environ/K}}\n`,
    );
    const said = result.findings.filter(({ level }) => level === 'unsupported' || level === 'manual');
    t.equal(said.length, 1, `${before} ${base}: ${JSON.stringify(lines(result))}`);
    t.notMatch(JSON.stringify(result), /word@/, 'the report names no password');
  }
});

t.test('a reference that is no name of a variable keeps the result from being served', async (t) => {
  const result = imported(
    `model_list:\n  - {model_name: a, litellm_params: {model: openai/a, api_base: https://x.example.com/v1, api_key: "os.environ/A B"}}\n`,
  );
  t.match(at(result, 'model_list[0].litellm_params.api_key'), /manual 2 .*no name of a variable/);
});

t.test('the name of an inference key is no key, and its key is one', async (t) => {
  const result = imported(`model_list:
  - {model_name: a, litellm_params: {model: openai/a, ${GATEWAY}}}
general_settings:
  master_key: os.environ/MASTER
  inference_keys:
    - {key: os.environ/AGENTS, name: agents}
    - {key: plain-text, name: tests}
    - plain-text-too
`);
  t.same(
    result.findings.filter(({ level }) => level === 'manual').map(({ line, path }) => `${line} ${path}`),
    ['7 general_settings.inference_keys[1].key', '8 general_settings.inference_keys[2]'],
  );
});

t.test('settings of alerts that have another place here say which', async (t) => {
  const result = imported(`model_list:
  - {model_name: a, litellm_params: {model: openai/a, ${GATEWAY}}}
general_settings:
  alerting: [slack]
  alert_to_webhook_url: {budget_alerts: "https://hooks.example.com/1"}
  alert_webhook_url: https://hooks.example.com/2
`);
  for (const key of ['alert_to_webhook_url', 'alert_webhook_url'])
    t.match(
      at(result, `general_settings.${key}`),
      /^unsupported \d .*: has another place here: name the receivers in alerts\.webhooks \(docs\/alerts\.md\)$/,
    );
});

t.test(
  'an empty database_url is none, as in LiteLLM, and does not keep the result from being served',
  async (t) => {
    for (const empty of ['', '""']) {
      const result = imported(`model_list:
  - {model_name: a, litellm_params: {model: openai/a, ${GATEWAY}}}
general_settings:
  master_key: os.environ/MASTER
  database_url: ${empty}
`);
      t.match(at(result, 'general_settings.database_url'), /^no effect here 5 .*DATABASE_URL/);
      t.notMatch(result.text, /database_url/);
      t.strictSame(result.unresolved, []);
    }
  },
);

t.test('a file that says %YAML 1.1 gives a result that says no version, with the same values', async (t) => {
  const { text, unresolved } = imported(`%YAML 1.1
---
model_list:
  - {model_name: a, litellm_params: &d {model: azure/x, api_base: "https://r.example.com", api_version: 2024-10-21, api_key: os.environ/K}}
  - {model_name: b, litellm_params: {<<: *d, timeout: 1_0}}
litellm_settings: {drop_params: yes}
`);
  t.strictSame(unresolved, []);
  t.notMatch(text, /%YAML/);
  t.match(parseYaml(text), {
    model_list: [{}, { litellm_params: { model: 'azure/x', api_version: '2024-10-21', timeout: 10 } }],
    litellm_settings: { drop_params: true },
  });
});

t.test('what an entry states of requests stays', async (t) => {
  const result = imported(`model_list:
  - model_name: own
    litellm_params:
      model: openai/own
      api_base: https://gateway.example.com/v1
      api_key: os.environ/KEY
      temperature: 0.2
      stop: [END]
      thinking: {type: enabled, budget_tokens: 2000}
      extra_body: {provider: {data_collection: deny}}
`);
  t.match(at(result, 'model_list[0].litellm_params.temperature'), /^exact 7 /);
  t.match(
    at(result, 'model_list[0].litellm_params.extra_body'),
    /^approximate 10 .*over whatever a client states/,
  );
  t.match(parseYaml(result.text), {
    model_list: [
      {
        litellm_params: {
          temperature: 0.2,
          stop: ['END'],
          thinking: { budget_tokens: 2000 },
          extra_body: { provider: { data_collection: 'deny' } },
        },
      },
    ],
  });
});

t.test('the team of a deployment keeps nobody out here, which is said', async (t) => {
  const result = imported(`model_list:
  - model_name: own
    litellm_params: {model: openai/own, api_base: https://gateway.example.com/v1, api_key: os.environ/KEY}
    model_info: {team_id: research}
`);
  t.match(at(result, 'model_list[0].model_info.team_id'), /^approximate 4 .*master key/);
});

t.test('callbacks: what traces is told apart from what has no effect', async (t) => {
  const noted = (list: string): string =>
    at(
      imported(`model_list: []\nlitellm_settings: { callbacks: ${list} }\n`, {}),
      'litellm_settings.callbacks',
    );
  t.match(noted('[otel]'), /^approximate 2 \S+ otel traces calls, as it does in LiteLLM$/);
  t.match(
    noted('[websearch_interception]'),
    /^approximate 2 \S+ without effect here: websearch_interception$/,
  );
  t.match(noted('[otel, a_b]'), /^approximate 2 \S+ otel traces calls, .*; without effect here: a_b$/);
  t.match(noted('[max_budget_limiter]'), /^exact 2/);
});

t.test('switches: of traces, of budgets that are always counted, and what is off', async (t) => {
  const verdict = (section: string, key: string, value: string): string =>
    at(imported(`model_list: []\n${section}: { ${key}: ${value} }\n`), `${section}.${key}`);
  t.match(
    verdict('general_settings', 'otel', 'true'),
    /^unsupported 2 .*has another place here: write litellm_settings\.callbacks/,
  );
  t.match(verdict('general_settings', 'otel', 'false'), /^no effect here 2 .*it is off/);
  const checks = (name: string): string =>
    verdict('router_settings', 'optional_pre_call_checks', `[${name}]`);
  t.match(checks('router_budget_limiting'), /^no effect here 2 .*nothing here needs it/);
  t.match(checks('enforce_model_rate_limits'), /^unsupported 2 .*max_parallel_requests/);
  t.match(verdict('general_settings', 'max_response_size_mb', '0'), /^no effect here 2 .*it is off/);
});

t.test('an import and a check agree on what protects by its name', async (t) => {
  const result = imported(
    `model_list:\n  - model_name: a\n    litellm_params: { model: gpt-4o, api_key: os.environ/K, rpm_limit: 5 }\ngeneral_settings: { max_internal_user_budget: 10, disable_auth: true, require_key_mcp_access_defined: true }\n`,
  );
  t.strictSame(
    result.findings.filter((one) => one.protected).map(({ path }) => path),
    ['model_list[0].litellm_params.rpm_limit', 'general_settings.max_internal_user_budget'],
  );
  t.match(at(result, 'general_settings.max_internal_user_budget'), /by its name it protected something/);
});
