// Files of LiteLLM as they are, beside `unknown_keys: warn` and `skip_unsupported_models`: which load, what is passed over
// with its line, and what stops the start all the same. The shapes are those of the examples in its repository, the words our own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig, type Loaded } from '../../config/load.ts';
import { SCHEMA, type SchemaNode } from '../../config/schema.ts';

const ENV = {
  OPENAI_API_KEY: 'sk-of-openai',
  ANTHROPIC_API_KEY: 'sk-of-anthropic',
  GROQ_API_KEY: 'sk-of-groq',
  GEMINI_API_KEY: 'sk-of-gemini',
  OPENROUTER_API_KEY: 'sk-of-openrouter',
  AZURE_API_KEY: 'sk-of-azure',
  RELAY_BASE: 'https://relay.example.com/v1',
  PROXY_MASTER_KEY: 'sk-master',
};
const folder = t.testdir();
const path = join(folder, 'gateway.yaml');

function load(yaml: string, env: Record<string, string> = ENV): Loaded {
  writeFileSync(path, yaml);
  return loadConfig(path, env);
}

const lenient = (general = ''): string =>
  `general_settings: { unknown_keys: warn, skip_unsupported_models: true${general} }\n`;
const linesOf = (loaded: Loaded): string[] =>
  (loaded.ok ? loaded.snapshot.warnings : loaded.issues).map(
    (issue) => `${issue.severity} ${formatIssue(issue).replace(path, 'gateway.yaml')}`,
  );
const entry = (name: string, params: string, more = ''): string =>
  `  - model_name: "${name}"\n    litellm_params: { ${params} }\n${more}`;
const list = (...entries: string[]): string => `model_list:\n${entries.join('')}`;

/** Names that are served, and parts of what is passed over. */
const LOADS: readonly (readonly [
  shape: string,
  yaml: string,
  served: readonly string[],
  said: readonly RegExp[],
])[] = [
  ['a bare name', list(entry('small', 'model: gpt-5-mini')), ['small'], []],
  [
    'ollama under other names',
    list(entry('gpt-4', 'model: ollama/llama2, prompt_id: a')),
    ['gpt-4'],
    [/prompt_id/],
  ],
  [
    'azure with underscores in numbers',
    list(
      entry(
        'a',
        'model: azure/one, api_base: "https://r.openai.azure.com/", api_version: "2023-05-15", tpm: 20_000',
      ),
      entry('b', 'model: azure/two, api_base: "https://r.openai.azure.com/", api_key: k3y'),
    ),
    ['a', 'b'],
    [],
  ],
  [
    'an empty api_key',
    `${list('  - model_name: q\n    litellm_params:\n      model: gpt-4o\n      api_key:\n')}`,
    ['q'],
    [],
  ],
  [
    'an api_base without /v1, and callbacks',
    `${list(entry('f', 'model: openai/fake, api_key: k, api_base: "http://relay:8090/"'))}litellm_settings: { callbacks: [gcs_bucket], cache: true }\n`,
    ['f'],
    [/3:\d+ .*api_base: must include \/v1.*taken as it is/, /gcs_bucket|callbacks/],
  ],
  [
    'limits beside litellm_params, and a provider that nobody knows',
    list(
      entry('g', 'model: gpt-4o', '    tpm: 20000\n'),
      entry('g', 'model: openrouter/some/model'),
      entry('m', 'model: mistralai/seven'),
    ),
    ['g', 'g'],
    [
      /4:\d+ model_list\[0\]\.tpm: unknown key: it has no effect here/,
      /model_list\[2\].*the entry is skipped: 'mistralai'/,
    ],
  ],
  [
    'wildcards of vendors, a batch of Bedrock, settings of files',
    `${list(
      entry('*', 'model: openai/*'),
      entry('anthropic/*', 'model: anthropic/*'),
      entry('groq/*', 'model: groq/*'),
      entry(
        'batch',
        'model: bedrock/some, s3_region_name: us-west-2, s3_secret_access_key: os.environ/NOT_SET',
      ),
    )}files_settings: [{ custom_llm_provider: azure }]\n`,
    ['*', 'anthropic/*', 'groq/*'],
    [
      /states no api_base: every name .* goes to https:\/\/api\.openai\.com\/v1/,
      /the entry is skipped: 'bedrock' is left out: its calls need a signature of AWS/,
    ],
  ],
  [
    'sections that came later',
    `${list(entry('c', 'model: anthropic/claude-x, custom_user_agent: Mine/1'))}sandbox_tools: [{ name: x }]\nmodel_list_with_more: []\n`,
    ['c'],
    [
      /3:\d+ .*custom_user_agent: unknown key/,
      /sandbox_tools: unknown key/,
      /model_list_with_more: unknown key/,
    ],
  ],
  [
    'no api_base, and none is known',
    list(entry('x', 'model: litellm_proxy/a'), entry('y', 'model: openai/fake')),
    [],
    [/\[0\].*skipped: it has no api_base/, /\[1\].*skipped: it has no api_base/],
  ],
  [
    'a reference as api_base',
    list(entry('r', 'model: openai/fake, api_key: k, api_base: os.environ/RELAY_BASE')),
    ['r'],
    [],
  ],
];

for (const [shape, yaml, served, said] of LOADS)
  t.test(`${shape}: loads`, async (t) => {
    const loaded = load(yaml + lenient());
    const lines = linesOf(loaded);
    if (!loaded.ok) return t.fail(lines.join('\n'));
    t.strictSame(
      loaded.snapshot.deployments.map(({ group }) => group),
      served,
    );
    for (const pattern of said)
      t.ok(
        lines.some((line) => pattern.test(line)),
        `${pattern} in ${lines.join('\n')}`,
      );
    t.notMatch(lines.join('\n'), /sk-of-/);
    return undefined;
  });

/** What stops the start whatever the file asks for. */
const STOPS: readonly (readonly [what: string, yaml: string, said: RegExp])[] = [
  ['guardrails', 'guardrails: [{ guardrail_name: g }]\n', /guardrails: would protect nothing/],
  ['policies', 'policies: { a: {} }\n', /policies: would protect nothing/],
  [
    'tag filtering',
    'router_settings: { enable_tag_filtering: true }\n',
    /enable_tag_filtering: would protect nothing/,
  ],
  [
    'a callback that checks',
    'litellm_settings: { callbacks: [presidio] }\n',
    /presidio would protect nothing/,
  ],
  [
    'a validator',
    'litellm_settings: { custom_team_metadata_validate: a.b }\n',
    /by its name protects something/,
  ],
];

t.test('what protects is refused all the same', async (t) => {
  for (const [what, yaml, said] of STOPS) {
    const loaded = load(list(entry('a', 'model: gpt-4o')) + yaml + lenient());
    t.equal(loaded.ok, false, what);
    t.match(linesOf(loaded).join('\n'), said, what);
  }
  const auth = load(list(entry('a', 'model: gpt-4o')) + lenient(', custom_auth: mine.check'));
  t.match(linesOf(auth).join('\n'), /custom_auth: would protect nothing/);
});

t.test('no spelling of a protecting word is passed over', async (t) => {
  for (const key of [
    'max_budgets',
    'MAX_BUDGET',
    'Max-Budget',
    'maxBudget',
    'team.budget',
    'maх_budget', // with a Cyrillic letter
    'allowed_things',
    'deny_list',
    'require_mfa',
    'enableRBAC_check',
    'ip_filter',
    'ssl_mode',
    'guard',
    'input_moderation',
    'mask_output',
  ]) {
    const loaded = load(`${list(entry('a', 'model: gpt-4o'))}${lenient(`, ${JSON.stringify(key)}: 1`)}`);
    t.equal(loaded.ok, false, key);
  }
});

t.test(
  'what protects nothing is passed over, and a key in the place of another section is the key of that section',
  async (t) => {
    const loaded = load(
      `${list(entry('a', 'model: gpt-4o'))}litellm_settings: { retry_policy: { a: 1 }, max_tokens: 32000, enable_loadbalancing_on_context_window_limits: true, allow_requests_on_db_unavailable: true }\n${lenient(', disable_auth: false, allow_requests_from_any_ip: true, enable_redis_auth_cache: true, require_key_mcp_access_defined: true')}`,
    );
    t.equal(loaded.ok, true, linesOf(loaded).join('\n'));
    const wrong = load(
      `${list(entry('a', 'model: gpt-4o'))}router_settings: { custom_auth: a.b }\n${lenient()}`,
    );
    t.match(linesOf(wrong).join('\n'), /custom_auth: unknown key that by its name protects something/);
  },
);

t.test('a misspelt key of this proxy is refused all the same', async (t) => {
  /** Every key that is read or refused, by its section, with one letter left out, doubled, or two swapped. */
  const sections: readonly (readonly [string, SchemaNode | undefined])[] = [
    ['', SCHEMA],
    ['general_settings', SCHEMA.properties?.['general_settings']],
    ['litellm_settings', SCHEMA.properties?.['litellm_settings']],
    ['router_settings', SCHEMA.properties?.['router_settings']],
  ];
  for (const [section, schema] of sections) {
    const keys = Object.entries(schema?.properties ?? {}).filter(
      ([name, inner]) => inner['x-effect'] !== 'none' && name.length > 6,
    );
    const known = new Set(Object.keys(schema?.properties ?? {}));
    const slips = keys.flatMap(([name]) => {
      const at = Math.floor(name.length / 2);
      return [
        name.slice(0, at) + name.slice(at + 1),
        name.slice(0, at) + name.charAt(at) + name.slice(at),
        name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2),
      ].filter((slip) => slip !== name && !known.has(slip));
    });
    const members = slips.map((slip) => `${slip}: 1`).join(', ');
    const wrong = slips.map((slip) => `${slip}: 1\n`).join('');
    const yaml = section === '' ? wrong : `${section}: { ${members} }\n`;
    const general = section === 'general_settings' ? '' : lenient();
    const own =
      section === 'general_settings' ? `general_settings: { unknown_keys: warn, ${members} }\n` : yaml;
    const errors = linesOf(load(list(entry('a', 'model: gpt-4o')) + own + general)).filter((line) =>
      line.startsWith('error'),
    );
    for (const slip of slips)
      t.ok(
        errors.some((line) => line.includes(`${section === '' ? ' ' : '.'}${slip}: `)),
        `${section} ${slip}`,
      );
  }
});

t.test('our own sections, and files that do not ask for it, are as strict as ever', async (t) => {
  const own = `${list(entry('a', 'model: gpt-4o'))}alerts: { sundry_thing: 1 }\nbrake: { sundry_thing: 1 }\nplatform: { sundry_thing: 1 }\n`;
  const lines = linesOf(load(own + lenient(', journal: { sundry_thing: 1 }'))).filter((line) =>
    line.startsWith('error'),
  );
  for (const place of ['alerts', 'brake', 'platform', 'general_settings.journal'])
    t.ok(
      lines.some((line) => line.includes(`${place}.sundry_thing: unknown key`)),
      place,
    );
  const strict = linesOf(load(`${list(entry('a', 'model: gpt-4o'))}sundry_thing: 1\n`));
  t.match(strict.join('\n'), /error gateway\.yaml:4:1 sundry_thing: unknown key/);
});
