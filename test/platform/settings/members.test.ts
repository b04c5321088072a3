// Every member of the settings, walked: what is handed over arrives at the runtime in its form, what cannot be honoured is
// refused when it is set, and docs/platform-settings.md says the same.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { description } from '../../../platform/api/description.ts';
import { SETTINGS_MEMBERS } from '../../../platform/settings/members.ts';
import { markedProcesses } from '../../../platform/sandboxes/process-table.ts';
import agentSchemas from '../../../schemas/agent/settings.json' with { type: 'json' };
import { at, ended, specs, startPlatform, until, type PlatformRig } from '../fixture/rig.ts';

type Tree = Readonly<Record<string, unknown>>;

const V0 = '/api/settings';
const V1 = '/api/v1/settings';
const START = '/api/v1/app-conversations';
const TAVILY = 'https://mcp.tavily.com/mcp/?tavilyApiKey=tvly-1';
const ASKS_ALWAYS = { confirmation_policy: { kind: 'AlwaysConfirm' }, security_analyzer: null };
const ASKS_IF_RISKY = {
  confirmation_policy: { kind: 'ConfirmRisky' },
  security_analyzer: { kind: 'LLMSecurityAnalyzer' },
};

/** What a member becomes in the request to the runtime; `null` = another test shows it. */
const HANDED: Readonly<Record<string, readonly (readonly [set: Tree, sent: Tree | null])[]>> = {
  'V0 agent': [[{ agent: 'CodeActAgent' }, { agent_settings: { agent: 'CodeActAgent' } }]],
  'V0 max_iterations': [[{ max_iterations: 12 }, { max_iterations: 12 }]],
  'V0 confirmation_mode': [
    [{ confirmation_mode: true }, ASKS_ALWAYS],
    [{ confirmation_mode: true, security_analyzer: 'llm' }, ASKS_IF_RISKY],
    [{ confirmation_mode: false }, { confirmation_policy: { kind: 'NeverConfirm' } }],
    [
      {},
      { confirmation_policy: { kind: 'NeverConfirm' }, security_analyzer: { kind: 'LLMSecurityAnalyzer' } },
    ],
  ],
  'V0 security_analyzer': [
    [{ security_analyzer: 'none' }, { security_analyzer: null }],
    [{ security_analyzer: 'llm' }, { security_analyzer: { kind: 'LLMSecurityAnalyzer' } }],
  ],
  'V0 llm_model': [[{ llm_model: 'compat' }, { agent_settings: { llm: { model: /compat$/ } } }]],
  'V0 secrets_store': [
    [
      { secrets_store: { provider_tokens: { github: 'ghp-1' }, custom_secrets: { NPM_TOKEN: 'npm-1' } } },
      {
        secrets: {
          GITHUB_TOKEN: { kind: 'StaticSecret', value: 'ghp-1' },
          NPM_TOKEN: { kind: 'StaticSecret', value: 'npm-1' },
        },
      },
    ],
  ],
  'V0 enable_default_condenser': [
    [{ enable_default_condenser: false }, { agent_settings: { condenser: { enabled: false } } }],
    [{ enable_default_condenser: true }, { agent_settings: { condenser: undefined } }],
  ],
  'V0 mcp_config': [
    [
      {
        mcp_config: {
          stdio_servers: [{ name: 'files', command: 'uvx', args: ['mcp-files'], env: { TOKEN: 't-1' } }],
          sse_servers: [{ url: 'https://a.example/sse', api_key: 'k-1' }],
          shttp_servers: [{ url: 'https://b.example/mcp' }, { url: 'https://c.example/mcp', api_key: 'k-2' }],
        },
      },
      {
        agent_settings: {
          mcp_config: {
            files: { transport: 'stdio', command: 'uvx', args: ['mcp-files'], env: { TOKEN: 't-1' } },
            sse: {
              transport: 'sse',
              url: 'https://a.example/sse',
              auth: { strategy: 'bearer', value: 'k-1' },
            },
            shttp: { transport: 'http', url: 'https://b.example/mcp', auth: undefined },
            shttp_1: { transport: 'http', url: 'https://c.example/mcp', auth: { value: 'k-2' } },
          },
        },
      },
    ],
  ],
  'V0 search_api_key': [
    [
      { search_api_key: 'tvly-1' },
      { agent_settings: { mcp_config: { tavily: { transport: 'http', url: TAVILY } } } },
    ],
  ],
  'V0 max_budget_per_task': [[{ max_budget_per_task: 2.5 }, null]],
  'V0 git_user_name': [[{ git_user_name: 'Ada' }, null]],
  'V0 git_user_email': [[{ git_user_email: 'ada@example.com' }, null]],
  'V0 sandbox_base_container_image': [[{}, null]],
  'V0 sandbox_runtime_container_image': [[{}, null]],
  'V1 search_api_key': [
    [{ search_api_key: 'tvly-1' }, { agent_settings: { mcp_config: { tavily: { url: TAVILY } } } }],
  ],
  'V1 max_budget_per_task': [[{ max_budget_per_task: 3 }, null]],
  'V1 git_user_name': [[{ git_user_name: 'Ada' }, null]],
  'V1 git_user_email': [[{ git_user_email: 'ada@example.com' }, null]],
  'V1 sandbox_base_container_image': [[{}, null]],
  'V1 sandbox_runtime_container_image': [[{}, null]],
  'V1 default_sandbox_spec_id': [[{}, null]],
  'V1 disabled_skills': [
    [{ disabled_skills: ['docker'] }, { agent_settings: { agent_context: { disabled_skills: ['docker'] } } }],
  ],
  'V1 registered_marketplaces': [
    [
      { registered_marketplaces: [{ name: 'm', source: 'github:a/b', scope: 'personal' }] },
      {
        agent_settings: {
          agent_context: { registered_marketplaces: [{ name: 'm', source: 'github:a/b', scope: undefined }] },
        },
      },
    ],
  ],
  'V1 agent_settings': [
    [
      {
        agent_settings_diff: {
          condenser: { max_size: 80, keep_first: 4 },
          verification: { critic_enabled: false },
          tool_concurrency_limit: 2,
          agent_context: { system_message_suffix: 'Be brief.' },
          llm: { temperature: 0.5 },
        },
      },
      {
        agent_settings: {
          agent_kind: 'openhands',
          condenser: { max_size: 80, keep_first: 4 },
          verification: { critic_enabled: false },
          tool_concurrency_limit: 2,
          agent_context: { system_message_suffix: 'Be brief.' },
          llm: { temperature: 0.5 },
        },
      },
    ],
  ],
  'V1 conversation_settings.max_iterations': [[conversation({ max_iterations: 9 }), { max_iterations: 9 }]],
  'V1 conversation_settings.confirmation_mode': [
    [conversation({ confirmation_mode: true }), ASKS_IF_RISKY],
    [conversation({ confirmation_mode: true, security_analyzer: null }), ASKS_ALWAYS],
  ],
  'V1 conversation_settings.security_analyzer': [
    [conversation({ confirmation_mode: true, security_analyzer: 'none' }), ASKS_ALWAYS],
  ],
  'V1 conversation_settings.default_runtime': [
    [conversation({ default_runtime: 'worktree' }), { worktree: true, worktree_options: undefined }],
    [conversation({ default_runtime: 'docker' }), { conversation_runtime: 'docker', container: undefined }],
    [conversation({ default_runtime: 'local' }), { conversation_runtime: undefined, worktree: undefined }],
  ],
  ...together(
    ['worktree_base', 'worktree_base_ref', 'worktree_branch_prefix'],
    {
      default_runtime: 'worktree',
      worktree_base: 'ref',
      worktree_base_ref: 'develop',
      worktree_branch_prefix: 'me/',
    },
    { worktree_options: { base: 'ref', ref: 'develop', branch_prefix: 'me/' } },
  ),
  ...together(
    ['container_memory', 'container_cpus', 'container_browser'],
    { default_runtime: 'docker', container_memory: '4g', container_cpus: 2, container_browser: false },
    { container: { memory: '4g', cpus: 2, browser: false } },
  ),
};

/** Values that no runtime of this server could honour. */
const REFUSED: Readonly<Record<string, unknown>> = {
  agent: 'BrowsingAgent',
  max_iterations: 0,
  security_analyzer: 'invariant',
  mcp_config: { shttp_servers: [{ url: 'wss://mcp.example.com' }] },
  max_budget_per_task: 0,
  git_user_name: 'Ada\nEve',
  git_user_email: 'a\u0001b',
  sandbox_base_container_image: 'agent:9',
  sandbox_runtime_container_image: 'agent:9',
  sandbox_api_key: 'sk-1',
  remote_runtime_resource_factor: 4,
  default_sandbox_spec_id: 'nowhere',
  sandbox_grouping_strategy: 'ADD_TO_ANY',
  title_llm_profile: 'fast',
  agent_settings: { agent_kind: 'acp', acp_server: 'codex' },
};

function conversation(diff: Tree): Tree {
  return { conversation_settings_diff: diff };
}

function together(names: readonly string[], set: Tree, sent: Tree): typeof HANDED {
  return Object.fromEntries(
    names.map((name) => [`V1 conversation_settings.${name}`, [[conversation(set), sent] as const]]),
  );
}

interface Running {
  readonly rig: PlatformRig;
  readonly sandboxId: string;
  ask(path: string, body?: unknown): Promise<unknown>;
}

async function withSandbox(t: Test): Promise<Running> {
  const rig = await startPlatform(t, {
    platform: specs('      conversations_path: /api/conversations\n', 'none'),
  });
  t.teardown(async () => {
    for (const { pid } of await markedProcesses(join(rig.folder, 'data'))) process.kill(pid, 'SIGKILL');
  });
  const started = await rig.api('POST', '/api/v1/sandboxes');
  const sandboxId = String(at(started, 'id'));
  const sandbox = await until(rig, sandboxId, 'RUNNING');
  return { rig, sandboxId, ask: (path, body) => askOf(sandbox, path, body) };
}

async function askOf(sandbox: Tree, path: string, body?: unknown): Promise<unknown> {
  const [{ url }] = sandbox['exposed_urls'] as [{ readonly url: string }];
  const headers = { 'x-session-api-key': String(sandbox['session_api_key']) };
  const request = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  return (await fetch(`${url}${path}`, request)).json();
}

/** What the runtime got for a conversation that begins now. */
async function handed({ rig, sandboxId, ask }: Running): Promise<Tree> {
  const begun = await rig.api('POST', START, { sandbox_id: sandboxId });
  if (begun.status !== 200) throw new Error(begun.text);
  const task = await ended(rig, String(at(begun, 'id')));
  if (task['status'] !== 'READY') throw new Error(JSON.stringify(task));
  return ((await ask('/conversations')) as Tree[]).at(-1) ?? {};
}

/** Sets a member back to nothing. */
async function unset(rig: PlatformRig, set: Tree): Promise<void> {
  const names = Object.keys(set);
  const nothing = (name: string): unknown => {
    if (name.endsWith('_diff'))
      return Object.fromEntries(Object.keys(set[name] as object).map((one) => [one, null]));
    return name === 'registered_marketplaces' ? [] : null;
  };
  const response = await rig.api('POST', V1, Object.fromEntries(names.map((name) => [name, nothing(name)])));
  if (response.status !== 200) throw new Error(response.text);
}

t.test('the table names every member of both versions, and the documentation shows it', async (t) => {
  const { schemas } = description().components;
  const of = (version: string): Set<string> =>
    new Set(
      SETTINGS_MEMBERS.filter(({ versions }) => versions.some((one) => one === version)).map(
        ({ name }) => name,
      ),
    );
  t.same([...of('V0')].sort(), Object.keys(schemas['Settings']?.properties ?? {}).sort());
  const diffs = ['agent_settings_diff', 'conversation_settings_diff'];
  const plain = Object.keys(schemas['SettingsUpdate']?.properties ?? {}).filter(
    (name) => !diffs.includes(name),
  );
  const inner = Object.keys(agentSchemas.$defs.ConversationSettings.properties);
  t.same(
    [...of('V1')].sort(),
    [...plain, 'agent_settings', ...inner.map((name) => `conversation_settings.${name}`)].sort(),
  );
  const page = readFileSync(join(import.meta.dirname, '../../../docs/platform-settings.md'), 'utf8');
  const rows = page.split('\n').map((line) => line.replaceAll(/\s*\|\s*/g, '|'));
  for (const { name, versions, way, to, rule } of SETTINGS_MEMBERS) {
    const row = `|\`${name}\`|${versions.join(', ')}|${way}|${to}|${rule?.sentence ?? ''}|`;
    t.ok(rows.includes(row), row);
  }
});

t.test('what is handed over arrives at the runtime, V0 and V1', async (t) => {
  const running = await withSandbox(t);
  const { rig } = running;
  const walked = SETTINGS_MEMBERS.filter(({ way }) => way === 'handed over').flatMap(({ name, versions }) =>
    versions.map((version) => `${version} ${name}`),
  );
  t.same(Object.keys(HANDED).sort(), walked.sort(), 'no member is left out');
  for (const [member, cases] of Object.entries(HANDED))
    for (const [set, sent] of cases) {
      if (sent === null) continue;
      const version = member.startsWith('V0') ? V0 : V1;
      const stored = await rig.api('POST', version, set);
      t.equal(stored.status, 200, `${member} ${stored.text}`);
      t.match(await handed(running), sent, member);
      if (version === V1) await unset(rig, set);
      else await rig.api('POST', V0, { llm_model: 'demo', search_api_key: '', secrets_store: {} });
    }
});

t.test('V1 goes before V0, member by member', async (t) => {
  const running = await withSandbox(t);
  const { rig } = running;
  await rig.api('POST', V0, {
    confirmation_mode: true,
    max_iterations: 12,
    mcp_config: { stdio_servers: [{ name: 'old', command: 'old' }] },
  });
  await rig.api('POST', V1, conversation({ max_iterations: 7 }));
  t.match(await handed(running), {
    ...ASKS_ALWAYS,
    max_iterations: 7,
    agent_settings: { mcp_config: { old: { command: 'old' } } },
  });
  await rig.api('POST', V1, {
    ...conversation({ confirmation_mode: false }),
    agent_settings_diff: { mcp_config: { mcpServers: {} } },
  });
  t.match(await handed(running), {
    confirmation_policy: { kind: 'NeverConfirm' },
    agent_settings: { mcp_config: undefined },
  });
});

t.test('what cannot be honoured is refused when it is set, where sandboxes run', async (t) => {
  const rig = await startPlatform(t, { platform: specs('', 'none') });
  const rules = SETTINGS_MEMBERS.filter(({ rule }) => rule !== undefined);
  t.same(Object.keys(REFUSED).sort(), rules.map(({ name }) => name).sort(), 'no rule is left out');
  for (const { name, versions, rule } of rules)
    for (const version of versions) {
      const place = name === 'agent_settings' ? 'agent_settings_diff' : name;
      const response = await rig.api('POST', version === 'V0' ? V0 : V1, { [place]: REFUSED[name] });
      t.equal(response.status, 422, `${version} ${name}`);
      t.match(at(response, 'detail.0'), { loc: ['body', place], type: 'value_error' });
      t.ok(String(at(response, 'detail.0.msg')).includes(rule?.sentence ?? '?'), name);
    }
  for (const path of [V0, V1]) t.equal((await rig.api('GET', path)).status, 404, 'nothing was stored');
});

t.test('where no sandbox runs, all of it is kept for who runs the agent', async (t) => {
  const rig = await startPlatform(t);
  for (const { name, versions, rule } of SETTINGS_MEMBERS) {
    if (rule === undefined) continue;
    for (const version of versions) {
      const place = name === 'agent_settings' ? 'agent_settings_diff' : name;
      const response = await rig.api('POST', version === 'V0' ? V0 : V1, { [place]: REFUSED[name] });
      t.equal(response.status, 200, `${version} ${name} ${response.text}`);
    }
  }
  t.match((await rig.api('GET', V0)).json, { remote_runtime_resource_factor: 4 });
});

t.test('a setting of the time before the sandboxes is told at the start', async (t) => {
  const before = await startPlatform(t);
  await before.api('POST', V0, { security_analyzer: 'invariant' });
  await before.stop();
  const rig = await startPlatform(t, { folder: before.folder, platform: specs('', 'none') });
  const response = await rig.api('POST', START, {});
  t.same(
    [response.status, response.json],
    [
      409,
      {
        detail:
          'The setting security_analyzer cannot be honoured: ' +
          'the agent server has the analyzer `llm`; name that one, `none`, or leave it out',
      },
    ],
  );
});

t.test(
  "the name for commits is in the sandbox's environment, the budget in the conversation's metrics",
  async (t) => {
    const { rig } = await withSandbox(t);
    await rig.api('POST', V0, {
      git_user_name: 'Ada',
      git_user_email: 'old@example.com',
      max_budget_per_task: 2.5,
    });
    await rig.api('POST', V1, { git_user_email: 'ada@example.com' });
    const begun = await rig.api('POST', START, {});
    const task = await ended(rig, String(at(begun, 'id')));
    const sandbox = await until(rig, String(task['sandbox_id']), 'RUNNING');
    t.match(await askOf(sandbox, '/environment'), {
      GIT_AUTHOR_NAME: 'Ada',
      GIT_COMMITTER_NAME: 'Ada',
      GIT_AUTHOR_EMAIL: 'ada@example.com',
      GIT_COMMITTER_EMAIL: 'ada@example.com',
    });
    const id = String(task['app_conversation_id']);
    t.match((await rig.api('GET', `${START}?ids=${id}`)).json, [
      { metrics: { max_budget_per_task: 2.5, accumulated_cost: 0 } },
    ]);
    await rig.api('POST', V1, { max_budget_per_task: 3 });
    const second = await rig.api('POST', START, { sandbox_id: sandbox['id'] });
    const next = await ended(rig, String(at(second, 'id')));
    t.match((await rig.api('GET', `${START}?ids=${String(next['app_conversation_id'])}&ids=${id}`)).json, [
      { metrics: { max_budget_per_task: 3 } },
      { metrics: { max_budget_per_task: 2.5 } },
    ]);
  },
);

t.test('why a runtime refuses is told, without what was sent', async (t) => {
  const { rig, sandboxId, ask } = await withSandbox(t);
  await rig.api('POST', V0, { search_api_key: 'tvly-secret' });
  await rig.api('POST', V1, {
    agent_settings_diff: { mcp_config: { a: { command: 'a', env: { T: 'env-secret' } } } },
  });
  const detailOf = async (body: unknown): Promise<unknown> => {
    await ask('/refuse', { status: 422, body });
    const begun = await rig.api('POST', START, { sandbox_id: sandboxId, secrets: { A: 'start-secret' } });
    const task = await ended(rig, String(at(begun, 'id')));
    t.equal(task['status'], 'ERROR');
    return task['detail'];
  };
  const prefix = 'the runtime refused the conversation with 422';
  t.equal(
    await detailOf({
      detail: [
        {
          loc: ['body', 'agent_settings', 'mcp_config'],
          msg: 'Extra inputs are not permitted',
          input: 'env-secret',
        },
        { loc: ['body', 'tags'], msg: 'bad' },
      ],
    }),
    `${prefix}: agent_settings.mcp_config: Extra inputs are not permitted; tags: bad`,
  );
  t.equal(
    await detailOf({ detail: 'No such\ntool: env-secret start-secret' }),
    `${prefix}: No such tool: [secret] [secret]`,
  );
  t.equal(
    await detailOf({ detail: "url [type=url_parsing, input_value='https://x?k=tvly-s...', input_type=str]" }),
    `${prefix}: url [type=url_parsing, input_type=str]`,
  );
  t.equal(await detailOf({ detail: 'at tavilyApiKey=tvly-secret' }), `${prefix}: at tavilyApiKey=[secret]`);
  t.equal(await detailOf({}), prefix);
  t.match(await detailOf({ detail: 'x'.repeat(10_000) }), /^.{1,600}$/);
});
